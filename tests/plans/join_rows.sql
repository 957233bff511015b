-- Joined rows: one plan. Windows that slide, windows that tumble, and no equality at all.
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');
CREATE STREAM auction (id BIGINT, seller BIGINT, category STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/auction', time = 'at', watermark = '5 seconds');
CREATE TABLE person (id BIGINT, name STRING, state STRING) WITH (format = 'csv', path = 'data/person.csv');

CREATE QUERY sliding AS
  SELECT b.price, a.category FROM bid AS b [RANGE 1 HOUR], auction AS a [RANGE 10 MINUTES]
  WHERE a.id = b.auction AND b.price > a.seller;
CREATE QUERY tumbling AS
  SELECT b.price, a.category FROM bid AS b [TUMBLE 10 MINUTES] JOIN auction AS a [TUMBLE 10 MINUTES] ON a.id = b.auction;
CREATE QUERY above AS
  SELECT b.price, a.id FROM bid AS b [RANGE 10 SECONDS], auction AS a [RANGE 10 SECONDS] WHERE b.price > a.seller;
CREATE QUERY named AS
  SELECT b.price, p.name FROM bid AS b [RANGE 10 SECONDS], person AS p WHERE b.bidder = p.id;
