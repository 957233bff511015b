-- Queries of the Nexmark benchmark over generated data. First:
--   thalweg generate nexmark --events 300000 --rate 1 --out data/nexmark
-- (one event a second, so that there are days to count by), then:
--   python examples/make_data.py side_input --out data/nexmark
--   thalweg run examples/nexmark/nexmark.sql --functions examples/nexmark/count_char.py --available-now
-- They are as Flink's Nexmark prints them, but for q6 and q12: docs/sql.md says what differs.

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

-- What q13 looks up.
CREATE TABLE side_input (key BIGINT, `value` STRING) WITH (format = 'csv', path = 'data/nexmark/side_input.csv');

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

-- Joins that never end, as no stream has a window: their rows are kept for ever, as `thalweg explain` says.
CREATE QUERY q3 AS
  SELECT P.name, P.city, P.state, A.id
  FROM auction AS A INNER JOIN person AS P on A.seller = P.id
  WHERE A.category = 10 and (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA');
CREATE QUERY q20 AS                                              -- of two columns of one name the second is A_dateTime, A_extra
  SELECT auction, bidder, price, channel, url, B.dateTime, B.extra,
    itemName, description, initialBid, reserve, A.dateTime, expires, seller, category, A.extra
  FROM bid AS B INNER JOIN auction AS A on B.auction = A.id
  WHERE A.category = 10;

-- People who open an auction in the window in which they came.
CREATE QUERY q8 AS
  SELECT P.id, P.name, P.starttime
  FROM (
    SELECT id, name, window_start AS starttime, window_end AS endtime
    FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
    GROUP BY id, name, window_start, window_end
  ) P
  JOIN (
    SELECT seller, window_start AS starttime, window_end AS endtime
    FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
    GROUP BY seller, window_start, window_end
  ) A
  ON P.id = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime;

-- A table: what it has of each row.
CREATE QUERY q13 AS
  SELECT B.auction, B.bidder, B.price, B.dateTime, S.`value`
  FROM (SELECT *, PROCTIME() as p_time FROM bid) B
  JOIN side_input FOR SYSTEM_TIME AS OF B.p_time AS S
  ON mod(B.auction, 10000) = S.key;

-- A function of the user's, in count_char.py.
CREATE QUERY q14 AS
  SELECT
    auction,
    bidder,
    0.908 * price as price,
    CASE
      WHEN HOUR(dateTime) >= 8 AND HOUR(dateTime) <= 18 THEN 'dayTime'
      WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime'
      ELSE 'otherTime'
    END AS bidTimeType,
    dateTime,
    extra,
    count_char(extra, 'c') AS c_counts
  FROM bid
  WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;

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

-- The highest bids of a window: bids wait for the end of theirs, as the condition on times says.
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

-- The mean of the highest bids of a category's auctions, as it changes with each of them: a query over changes.
CREATE QUERY q4 AS
  SELECT
    Q.category,
    AVG(Q.final)
  FROM (
    SELECT MAX(B.price) AS final, A.category
    FROM auction A, bid B
    WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
    GROUP BY A.id, A.category
  ) Q
  GROUP BY Q.category;

-- The mean of the last prices by seller. What is printed runs nowhere (it has OVER over changes); this is of auctions that are over, each once:
-- with the instant that follows its end.
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

-- The first rows of groups: a row that is no longer among them comes again with `deleted`.
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
    FROM auction A, bid B
    WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
  )
  WHERE rownum <= 1;
