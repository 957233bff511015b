-- Three inputs, of which one is a table and one never ends; changes only. MAX has no delta.
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');
CREATE STREAM auction (id BIGINT, seller BIGINT, category STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/auction', time = 'at', watermark = '5 seconds');
CREATE TABLE person (id BIGINT, name STRING, state STRING) WITH (format = 'csv', path = 'data/person.csv');

CREATE QUERY in_vermont AS
  SELECT a.id, MAX(b.price) AS top
  FROM bid AS b [RANGE 1 HOUR], auction AS a [UNBOUNDED], person AS p
  WHERE a.id = b.auction AND a.seller = p.id AND p.state = 'VT' GROUP BY a.id EVERY 1 MINUTE EMIT CHANGES;
