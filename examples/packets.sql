-- How many packets of each terminal in customer networks passed the backbone in the past hour: example 1 of the
-- early-aggregation paper, as printed there. First:
--   .venv/bin/python examples/make_data.py packets
-- then:
--   thalweg run examples/packets.sql --available-now

CREATE STREAM ClinkPacket (id BIGINT, source STRING, destination STRING, length INT, time TIMESTAMP)
  WITH (format = 'parquet', path = 'data/packets/ClinkPacket', time = 'time', watermark = '5 seconds', files_per_batch = 2);

CREATE STREAM BlinkPacket (id BIGINT, source STRING, destination STRING, length INT, time TIMESTAMP)
  WITH (format = 'parquet', path = 'data/packets/BlinkPacket', time = 'time', watermark = '5 seconds', files_per_batch = 2);

-- [WINDOW 1 HOUR] is [RANGE 1 HOUR]; without EVERY there is a result every minute, a sixtieth of the windows.
CREATE QUERY packets AS
  SELECT c.source, COUNT(*)
  FROM ClinkPacket AS c [WINDOW 1 HOUR],
       BlinkPacket AS b [WINDOW 1 HOUR]
  WHERE c.source = b.source
    AND c.destination = b.destination
    AND c.id = b.id
  GROUP BY c.source;

SHOW QUERIES;
