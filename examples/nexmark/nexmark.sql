-- Queries of the Nexmark benchmark over generated data. First:
--   thalweg generate nexmark --events 300000 --rate 1 --out data/nexmark
-- (one event a second, so that there are days to count by), then:
--   thalweg run examples/nexmark/nexmark.sql --available-now
-- docs/sql.md has a table of which of them run as Flink's Nexmark has them, and what of others is another here.

CREATE STREAM person_events (id BIGINT, name STRING, email STRING, credit_card STRING, city STRING, state STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/nexmark/person', time = 'at', files_per_batch = 4);
CREATE STREAM auction_events
  (id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, expires TIMESTAMP, seller BIGINT, category BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/nexmark/auction', time = 'at', files_per_batch = 4);
CREATE STREAM bid_events (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/nexmark/bid', time = 'at', files_per_batch = 4);
-- The same bids, whose time is that at which they are read.
CREATE STREAM bids_as_read (auction BIGINT, bidder BIGINT, price BIGINT, p_time AS PROCTIME())
  WITH (format = 'parquet', path = 'data/nexmark/bid', time = 'p_time', files_per_batch = 4);

-- The names that the benchmark gives the columns; it fills `extra` with anything.
CREATE VIEW person AS
  SELECT id, name, email AS emailAddress, credit_card AS creditCard, city, state, at AS dateTime, MD5(name) AS extra FROM person_events;
CREATE VIEW auction AS
  SELECT id, item_name AS itemName, description, initial_bid AS initialBid, reserve, at AS dateTime, expires, seller, category,
    MD5(description) AS extra FROM auction_events;
CREATE VIEW bid AS SELECT auction, bidder, price, channel, url, at AS dateTime, MD5(url) AS extra FROM bid_events;

-- Rows of one stream, word for word.
CREATE QUERY q0 AS SELECT auction, bidder, price, dateTime, extra FROM bid;
CREATE QUERY q1 AS SELECT auction, bidder, 0.908 * price as price, dateTime, extra FROM bid;
CREATE QUERY q2 AS SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;
CREATE QUERY q10 AS
  SELECT auction, bidder, price, dateTime, extra, DATE_FORMAT(dateTime, 'yyyy-MM-dd'), DATE_FORMAT(dateTime, 'HH:mm') FROM bid;
CREATE QUERY q21 AS
  SELECT auction, bidder, price, channel,
    CASE LOWER(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
      ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
  FROM bid
  WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu');
CREATE QUERY q22 AS
  SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1, SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3
  FROM bid;

-- Joins without an end: each stream says so.
CREATE QUERY q3 AS
  SELECT p.name, p.city, p.state, a.id FROM auction AS a [UNBOUNDED] INNER JOIN person AS p [UNBOUNDED] ON a.seller = p.id
  WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
CREATE QUERY q20 AS
  SELECT b.auction, b.bidder, b.price, b.channel, b.dateTime, a.itemName, a.expires, a.seller
  FROM bid AS b [UNBOUNDED] INNER JOIN auction AS a [UNBOUNDED] ON b.auction = a.id WHERE a.category = 10;

-- People who open an auction in the window in which they came: a join of windows, grouped so that each is there once.
-- (The benchmark shows the start of the window, which is ten seconds before its end.)
CREATE QUERY q8 AS
  SELECT p.id, p.name, window_end
  FROM person AS p [TUMBLE 10 SECONDS] JOIN auction AS a [TUMBLE 10 SECONDS] ON p.id = a.seller GROUP BY p.id, p.name;

-- A function of the user's is written out.
CREATE QUERY q14 AS
  SELECT auction, bidder, 0.908 * price AS price,
    CASE WHEN HOUR(dateTime) BETWEEN 8 AND 18 THEN 'dayTime' WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime'
      ELSE 'otherTime' END AS bidTimeType,
    dateTime, LENGTH(extra) - LENGTH(REPLACE(extra, 'c', '')) AS c_counts
  FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;

-- Counts by day without a window, word for word: what changes is told each minute.
CREATE QUERY q15 AS
  SELECT
    DATE_FORMAT(dateTime, 'yyyy-MM-dd') as `day`,
    count(*) AS total_bids,
    count(*) filter (where price < 10000) AS rank1_bids,
    count(*) filter (where price >= 10000 and price < 1000000) AS rank2_bids,
    count(*) filter (where price >= 1000000) AS rank3_bids,
    count(distinct bidder) AS total_bidders,
    count(distinct bidder) filter (where price < 10000) AS rank1_bidders,
    count(distinct bidder) filter (where price >= 10000 and price < 1000000) AS rank2_bidders,
    count(distinct bidder) filter (where price >= 1000000) AS rank3_bidders,
    count(distinct auction) AS total_auctions,
    count(distinct auction) filter (where price < 10000) AS rank1_auctions,
    count(distinct auction) filter (where price >= 10000 and price < 1000000) AS rank2_auctions,
    count(distinct auction) filter (where price >= 1000000) AS rank3_auctions
  FROM bid GROUP BY DATE_FORMAT(dateTime, 'yyyy-MM-dd');
CREATE QUERY q16 AS
  SELECT
    channel,
    DATE_FORMAT(dateTime, 'yyyy-MM-dd') as `day`,
    max(DATE_FORMAT(dateTime, 'HH:mm')) as `minute`,
    count(*) AS total_bids,
    count(*) filter (where price < 10000) AS rank1_bids,
    count(*) filter (where price >= 10000 and price < 1000000) AS rank2_bids,
    count(*) filter (where price >= 1000000) AS rank3_bids,
    count(distinct bidder) AS total_bidders,
    count(distinct bidder) filter (where price < 10000) AS rank1_bidders,
    count(distinct bidder) filter (where price >= 10000 and price < 1000000) AS rank2_bidders,
    count(distinct bidder) filter (where price >= 1000000) AS rank3_bidders,
    count(distinct auction) AS total_auctions,
    count(distinct auction) filter (where price < 10000) AS rank1_auctions,
    count(distinct auction) filter (where price >= 10000 and price < 1000000) AS rank2_auctions,
    count(distinct auction) filter (where price >= 1000000) AS rank3_auctions
  FROM bid GROUP BY channel, DATE_FORMAT(dateTime, 'yyyy-MM-dd');
CREATE QUERY q17 AS
  SELECT
    auction,
    DATE_FORMAT(dateTime, 'yyyy-MM-dd') as `day`,
    count(*) AS total_bids,
    count(*) filter (where price < 10000) AS rank1_bids,
    count(*) filter (where price >= 10000 and price < 1000000) AS rank2_bids,
    count(*) filter (where price >= 1000000) AS rank3_bids,
    min(price) AS min_price,
    max(price) AS max_price,
    avg(price) AS avg_price,
    sum(price) AS sum_price
  FROM bid GROUP BY auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd');

-- Sessions of each bidder, word for word.
CREATE QUERY q11 AS
  SELECT
    B.bidder,
    count(*) as bid_count,
    SESSION_START(B.dateTime, INTERVAL '10' SECOND) as starttime,
    SESSION_END(B.dateTime, INTERVAL '10' SECOND) as endtime
  FROM bid B
  GROUP BY B.bidder, SESSION(B.dateTime, INTERVAL '10' SECOND);

-- Windows of processing time: word for word, but for the view, as a stream declares that time. What is read later ends a window.
CREATE VIEW B AS SELECT * FROM bids_as_read;
CREATE QUERY q12 AS
  SELECT bidder, count(*) as bid_count, window_start AS starttime, window_end AS endtime
  FROM TABLE(TUMBLE(TABLE B, DESCRIPTOR(p_time), INTERVAL '10' SECOND))
  GROUP BY bidder, window_start, window_end;

-- Queries over queries. q5 is word for word: the auctions with the most bids in a window that hops.
CREATE QUERY q5 AS
  SELECT AuctionBids.auction, AuctionBids.num
  FROM (
    SELECT auction, count(*) AS num, window_start AS starttime, window_end AS endtime
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
  ) AS AuctionBids
  JOIN (
    SELECT max(CountBids.num) AS maxn, CountBids.starttime, CountBids.endtime
    FROM (
      SELECT count(*) AS num, window_start AS starttime, window_end AS endtime
      FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
      GROUP BY auction, window_start, window_end
    ) AS CountBids
    GROUP BY CountBids.starttime, CountBids.endtime
  ) AS MaxBids
  ON AuctionBids.starttime = MaxBids.starttime AND AuctionBids.endtime = MaxBids.endtime AND AuctionBids.num >= MaxBids.maxn;

-- The highest bids of a window: bids wait ten seconds for the end of theirs, and it for them.
CREATE QUERY q7 AS
  SELECT B.auction, B.price, B.bidder, B.dateTime, B.extra
  FROM bid B [RANGE 10 SECONDS]
  JOIN (
    SELECT MAX(price) AS maxprice, window_end as dateTime
    FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
    GROUP BY window_start, window_end
  ) B1 [RANGE 10 SECONDS]
  ON B.price = B1.maxprice
  WHERE B.dateTime BETWEEN B1.dateTime - INTERVAL '10' SECOND AND B1.dateTime;

-- The mean of the highest bids of a category's auctions, as it stands at the end of each day.
CREATE QUERY q4 AS
  SELECT Q.category, AVG(Q.final) AS mean, Q.window_end
  FROM (
    SELECT MAX(B.price) AS final, A.category
    FROM auction A [UNBOUNDED], bid B [UNBOUNDED]
    WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
    GROUP BY A.id, A.category EVERY 1 DAY
  ) Q
  GROUP BY Q.category, Q.window_end;

-- The mean of the last prices by seller. Printed with changes as its input, it is of auctions that are over here, each once: with the instant
-- that follows its end.
CREATE QUERY q6 AS
  SELECT
    Q.seller,
    AVG(Q.final) OVER
      (PARTITION BY Q.seller ORDER BY Q.window_end, Q.expires ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS mean
  FROM (
    SELECT MAX(B.price) AS final, A.seller, A.expires, window_end
    FROM auction AS A [UNBOUNDED], bid AS B [UNBOUNDED]
    WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
    GROUP BY A.id, A.seller, A.expires
    HAVING A.expires < window_end AND A.expires >= window_end - INTERVAL 1 DAY EVERY 1 DAY
  ) AS Q;

-- The first rows of groups, word for word but for the windows of q9: a row that is no longer among them comes again with `deleted`.
CREATE QUERY q18 AS
  SELECT auction, bidder, price, channel, url, dateTime, extra
  FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS rank_number FROM bid)
  WHERE rank_number <= 1;
CREATE QUERY q19 AS
  SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid)
  WHERE rank_number <= 10;
CREATE QUERY q9 AS
  SELECT id, itemName, description, initialBid, reserve, dateTime, expires, seller, category, extra,
    auction, bidder, price, bid_dateTime, bid_extra
  FROM (
    SELECT A.*, B.auction, B.bidder, B.price, B.dateTime AS bid_dateTime, B.extra AS bid_extra,
      ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.dateTime ASC) AS rownum
    FROM auction A [UNBOUNDED], bid B [UNBOUNDED]
    WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
  )
  WHERE rownum <= 1 EMIT CHANGES;
