-- The paper's examples 7 and 8: 360 events become 246, and with the factor window (10, 10) 150.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

CREATE QUERY low AS
  SELECT auction, window_id, window_end, MIN(price) AS low FROM bid
  GROUP BY auction, WINDOWS(TUMBLE '20 seconds', TUMBLE '30 seconds', TUMBLE '40 seconds');
