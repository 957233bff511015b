-- Aggregates of three kinds in one query: what may overlap, what may not, and what keeps values.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

CREATE QUERY all_kinds AS
  SELECT auction, window_id, window_end, MIN(price) AS low, AVG(price) AS mean, MEDIAN(price) AS middle FROM bid
  GROUP BY auction, WINDOWS(HOP '1 minute' BY '10 seconds', HOP '2 minutes' BY '10 seconds', TUMBLE '5 minutes');
