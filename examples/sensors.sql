-- Temperatures of a hundred devices, as JSON lines. First:
--   thalweg generate sensors --events 500000 --rate 200 --format json --out data/sensors
-- then:
--   thalweg run examples/sensors.sql --available-now

CREATE STREAM reading (k BIGINT, at TIMESTAMP, v DOUBLE, status STRING)
  WITH (format = 'json', path = 'data/sensors/reading', time = 'at', watermark = '0 seconds', on_bad_file = 'skip');

-- Averages over three lengths of window at once.
CREATE QUERY temperature AS
  SELECT k AS device, window_id, window_start, AVG(v) AS average, STDDEV_POP(v) AS spread, MIN(v) AS low, MAX(v) AS high
  FROM reading GROUP BY k, WINDOWS(TUMBLE '1 minute', TUMBLE '10 minutes', HOP '30 minutes' BY '10 minutes');

-- The middle of all readings, and the range that nine in ten lie within.
CREATE QUERY quantiles INTO 'console' AS
  SELECT window_start, MEDIAN(v) AS middle, PERCENTILE(v, 0.05) AS low, PERCENTILE(v, 0.95) AS high
  FROM reading GROUP BY TUMBLE '10 minutes';

-- Devices that need a visit: no value, or a battery that runs low.
CREATE QUERY troubled AS
  SELECT k AS device, window_end, COUNT(*) - COUNT(v) AS faults, BOOL_OR(status = 'low battery') AS low_battery, LAST(status) AS status
  FROM reading GROUP BY k, TUMBLE '10 minutes'
  HAVING COUNT(*) - COUNT(v) > 3;

SHOW QUERIES;
