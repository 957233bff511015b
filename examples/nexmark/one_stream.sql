-- The schema that Flink's Nexmark has: one stream of events, of which three views are read.
-- The generator makes three streams; `benchmarks/nexmark_events.py` puts them together:
--   thalweg generate nexmark --events 300000 --rate 1 --out data/nexmark
--   python -m benchmarks.nexmark_events data/nexmark data/nexmark/events
--   thalweg run examples/nexmark/one_stream.sql --available-now

CREATE STREAM nexmark (
    event_type INT,
    person STRUCT<id: BIGINT, name: STRING, emailAddress: STRING, creditCard: STRING, city: STRING, state: STRING, dateTime: TIMESTAMP, extra: STRING>,
    auction STRUCT<
      id: BIGINT, itemName: STRING, description: STRING, initialBid: BIGINT, reserve: BIGINT, dateTime: TIMESTAMP, expires: TIMESTAMP,
      seller: BIGINT, category: BIGINT, extra: STRING>,
    bid STRUCT<auction: BIGINT, bidder: BIGINT, price: BIGINT, channel: STRING, url: STRING, dateTime: TIMESTAMP, extra: STRING>,
    dateTime AS CASE WHEN event_type = 0 THEN person.dateTime WHEN event_type = 1 THEN auction.dateTime ELSE bid.dateTime END)
  WITH (format = 'parquet', path = 'data/nexmark/events', time = 'dateTime', watermark = '4 seconds');
CREATE VIEW person AS
  SELECT person.id, person.name, person.emailAddress, person.creditCard, person.city, person.state, dateTime, person.extra
  FROM nexmark WHERE event_type = 0;
CREATE VIEW auction AS
  SELECT auction.id, auction.itemName, auction.description, auction.initialBid, auction.reserve, dateTime, auction.expires, auction.seller,
    auction.category, auction.extra
  FROM nexmark WHERE event_type = 1;
CREATE VIEW bid AS
  SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, dateTime, bid.extra FROM nexmark WHERE event_type = 2;

-- All queries of nexmark.sql run over these views; some of them:
CREATE QUERY q0 AS SELECT auction, bidder, price, dateTime, extra FROM bid;
CREATE QUERY q2 AS SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
CREATE QUERY q3 AS
  SELECT p.name, p.city, p.state, a.id FROM auction AS a [UNBOUNDED] INNER JOIN person AS p [UNBOUNDED] ON a.seller = p.id
  WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
CREATE QUERY q8 AS
  SELECT p.id, p.name, window_end
  FROM person AS p [TUMBLE 10 SECONDS] JOIN auction AS a [TUMBLE 10 SECONDS] ON p.id = a.seller GROUP BY p.id, p.name;
CREATE QUERY q17 AS
  SELECT auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd') as `day`, count(*) AS total_bids, min(price) AS min_price, max(price) AS max_price
  FROM bid GROUP BY auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd');
CREATE QUERY q20 AS
  SELECT b.auction, b.bidder, b.price, b.channel, b.dateTime, a.itemName, a.expires, a.seller
  FROM bid AS b [UNBOUNDED] INNER JOIN auction AS a [UNBOUNDED] ON b.auction = a.id WHERE a.category = 10;
