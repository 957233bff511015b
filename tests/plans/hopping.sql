-- Ten hopping windows, some with ranges that are no multiples of their slides, one with an offset.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

CREATE QUERY low AS
  SELECT auction, window_id, window_end, MIN(price) AS low FROM bid
  GROUP BY auction, WINDOWS(
    HOP '20 seconds' BY '10 seconds', HOP '1 minute' BY '20 seconds', HOP '50 seconds' BY '20 seconds',
    HOP '2 minutes' BY '1 minute', HOP '5 minutes' BY '1 minute', HOP '10 minutes' BY '5 minutes',
    HOP '15 minutes' BY '10 minutes', HOP '1 hour' BY '10 minutes', HOP '1 hour' BY '10 minutes' OFFSET '5 minutes',
    HOP '1 day' BY '1 hour');
