-- Three ways to write the same windows; all give one plan. Look at it with:
--   thalweg explain examples/notations.sql

CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/auctions/bid', time = 'at', watermark = '2 seconds');

CREATE QUERY thalwegs_own AS
  SELECT channel, window_id, window_end, MAX(price) AS high
  FROM bid GROUP BY channel, WINDOWS(TUMBLE '10 minutes', HOP '20 minutes' BY '10 minutes');

CREATE QUERY sparks AS
  SELECT channel, window.end AS window_end, MAX(price) AS high
  FROM bid GROUP BY channel, window(at, '20 minutes', '10 minutes');

CREATE QUERY azures AS
  SELECT channel, System.Window().Id AS window_id, MAX(price) AS high
  FROM bid GROUP BY channel, Windows(Window('ten', TumblingWindow(minute, 10)), Window('twenty', HoppingWindow(minute, 20, 10)));
