-- The paper's example 6: 480 events become 150.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

CREATE QUERY low AS
  SELECT auction, window_id, window_end, MIN(price) AS low FROM bid
  GROUP BY auction, WINDOWS(TUMBLE '10 seconds', TUMBLE '20 seconds', TUMBLE '30 seconds', TUMBLE '40 seconds');
