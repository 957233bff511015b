-- An auction site. First:
--   thalweg generate nexmark --events 1000000 --rate 1000 --disorder 2 --late 0.001 --out data/auctions
-- then:
--   thalweg run examples/auctions.sql --available-now

CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/auctions/bid', time = 'at', watermark = '2 seconds', files_per_batch = 4,
        late_rows = 'data/auctions/late bids');

CREATE STREAM person (id BIGINT, name STRING, city STRING, state STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/auctions/person', time = 'at', watermark = '2 seconds', files_per_batch = 4);

-- The highest bid of every minute, and whose it was (Nexmark's query 7).
CREATE QUERY highest_bid INTO 'console' AS
  SELECT window_end, MAX(price) AS price, MAX_BY(bidder, price) AS bidder, MAX_BY(auction, price) AS auction
  FROM bid GROUP BY TUMBLE '1 minute';

-- Auctions with the most bids in the last minute, looked at every ten seconds (after Nexmark's query 5).
CREATE QUERY hot_auctions AS
  SELECT auction, window_end, COUNT(*) AS bids FROM bid
  GROUP BY auction, HOP '1 minute' BY '10 seconds' HAVING COUNT(*) > 800;

-- Traffic by channel in windows of four lengths, computed from shared slots (after Nexmark's queries 15 and 16).
CREATE QUERY channels AS
  SELECT channel, window_id, window_start, COUNT(*) AS bids, COUNT(DISTINCT bidder) AS bidders,
         COUNT(*) FILTER (WHERE price >= 1000000) AS large_bids, AVG(price) AS average_price
  FROM bid WHERE channel IN ('Apple', 'Google', 'Facebook', 'Baidu')
  GROUP BY channel, WINDOWS(TUMBLE '10 seconds', TUMBLE '1 minute', TUMBLE '5 minutes', HOP '10 minutes' BY '1 minute');

-- New people by state.
CREATE QUERY arrivals AS
  SELECT state, window_start, COUNT(*) AS people, COUNT(DISTINCT city) AS cities, MIN(name) AS first_by_name
  FROM person GROUP BY state, TUMBLE '5 minutes';

SHOW QUERIES;
