-- An hour by seconds: a chain of factor windows, each made of few instances of the last.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

CREATE QUERY low AS
  SELECT auction, window_end, MIN(price) AS low FROM bid GROUP BY auction, HOP '1 hour' BY '1 second';
