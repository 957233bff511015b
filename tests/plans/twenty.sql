-- Twenty tumbling windows, as the paper's SequentialGen makes them.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

CREATE QUERY low AS
  SELECT auction, window_id, window_end, MIN(price) AS low FROM bid
  GROUP BY auction, WINDOWS(
    TUMBLE '10 seconds', TUMBLE '15 seconds', TUMBLE '20 seconds', TUMBLE '25 seconds', TUMBLE '30 seconds',
    TUMBLE '35 seconds', TUMBLE '40 seconds', TUMBLE '45 seconds', TUMBLE '50 seconds', TUMBLE '55 seconds',
    TUMBLE '60 seconds', TUMBLE '65 seconds', TUMBLE '70 seconds', TUMBLE '75 seconds', TUMBLE '80 seconds',
    TUMBLE '85 seconds', TUMBLE '90 seconds', TUMBLE '95 seconds', TUMBLE '100 seconds', TUMBLE '105 seconds');
