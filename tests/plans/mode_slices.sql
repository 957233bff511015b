-- The mode slices by name: the edges of 20, 30 and 40 seconds and of a hopping window.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

SET plan.windows = 'slices';
CREATE QUERY low AS
  SELECT auction, window_id, window_end, MIN(price) AS low FROM bid
  GROUP BY auction, WINDOWS(TUMBLE '20 seconds', TUMBLE '30 seconds', HOP '90 seconds' BY '40 seconds');
