-- Queries over one stream: two share windows, one has other rows, one other keys.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

CREATE QUERY low AS
  SELECT auction, window_id, window_end, MIN(price) AS low FROM bid
  GROUP BY auction, WINDOWS(TUMBLE '10 seconds', TUMBLE '1 minute');
CREATE QUERY high AS
  SELECT auction, window_id, window_end, MAX(price) AS high FROM bid
  GROUP BY auction, WINDOWS(TUMBLE '1 minute', TUMBLE '5 minutes', HOP '1 hour' BY '5 minutes');
CREATE QUERY high_on_the_web AS
  SELECT auction, window_id, window_end, MAX(price) AS high FROM bid WHERE channel = 'web'
  GROUP BY auction, WINDOWS(TUMBLE '1 minute', TUMBLE '5 minutes');
CREATE QUERY everywhere AS
  SELECT window_end, COUNT(*) AS bids FROM bid GROUP BY TUMBLE '1 minute';
