-- Rows as they come: filtered and projected, with what a table has of them; and joined rows of windows without end.
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');
CREATE STREAM auction (id BIGINT, seller BIGINT, category STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/auction', time = 'at', watermark = '5 seconds');
CREATE TABLE person (id BIGINT, name STRING, state STRING) WITH (format = 'csv', path = 'data/person.csv');

CREATE QUERY large AS SELECT auction, price * 2 AS twice, at FROM bid WHERE price > 1000;
CREATE QUERY named AS SELECT b.price, p.name FROM bid AS b JOIN person AS p ON b.bidder = p.id WHERE p.state = 'VT';
CREATE QUERY ever AS
  SELECT b.price, a.category FROM bid AS b [UNBOUNDED], auction AS a [UNBOUNDED] WHERE b.auction = a.id;
