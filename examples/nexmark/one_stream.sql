-- The schema that Flink's Nexmark has: one stream of events, of which three views are read.
-- The generator makes three streams; `benchmarks/nexmark_events.py` puts them together:
--   thalweg generate nexmark --events 300000 --rate 1 --out data/nexmark
--   python -m benchmarks.nexmark_events data/nexmark data/nexmark/events
--   python examples/make_data.py side_input --out data/nexmark
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
CREATE TABLE side_input (key BIGINT, `value` STRING) WITH (format = 'csv', path = 'data/nexmark/side_input.csv');
CREATE VIEW person AS
  SELECT person.id, person.name, person.emailAddress, person.creditCard, person.city, person.state, dateTime, person.extra
  FROM nexmark WHERE event_type = 0;
CREATE VIEW auction AS
  SELECT auction.id, auction.itemName, auction.description, auction.initialBid, auction.reserve, dateTime, auction.expires, auction.seller,
    auction.category, auction.extra
  FROM nexmark WHERE event_type = 1;
CREATE VIEW bid AS
  SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, dateTime, bid.extra FROM nexmark WHERE event_type = 2;

-- All queries of nexmark.sql run over these views (q12 over a stream that declares the time at which it is read); some of them:
CREATE QUERY q0 AS SELECT auction, bidder, price, dateTime, extra FROM bid;
CREATE QUERY q2 AS SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
CREATE QUERY q3 AS
  SELECT P.name, P.city, P.state, A.id
  FROM auction AS A INNER JOIN person AS P on A.seller = P.id
  WHERE A.category = 10 and (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA');
CREATE QUERY q7 AS
  SELECT B.auction, B.bidder, B.price, B.dateTime, B.extra
  from bid B
  JOIN (
    SELECT MAX(price) AS maxprice, window_end as dateTime
    FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
    GROUP BY window_start, window_end
  ) B1
  ON B.price = B1.maxprice
  WHERE B.dateTime BETWEEN B1.dateTime  - INTERVAL '10' SECOND AND B1.dateTime;
CREATE QUERY q17 AS
  SELECT auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd') as `day`, count(*) AS total_bids, min(price) AS min_price, max(price) AS max_price
  FROM bid GROUP BY auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd');
CREATE QUERY q20 AS
  SELECT auction, bidder, price, channel, url, B.dateTime, B.extra,
    itemName, description, initialBid, reserve, A.dateTime, expires, seller, category, A.extra
  FROM bid AS B INNER JOIN auction AS A on B.auction = A.id
  WHERE A.category = 10;
