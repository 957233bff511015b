-- An hour by seconds for a sum: the difference of two running totals.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

CREATE QUERY total AS
  SELECT auction, window_end, SUM(price) AS total FROM bid GROUP BY auction, HOP '1 hour' BY '1 second';
