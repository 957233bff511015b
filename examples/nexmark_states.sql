-- Bids of the last minute by category of the auction and state of its seller, every 5 seconds: three streams, two keys. First:
--   thalweg generate nexmark --events 300000 --rate 1000 --out data/states
-- then:
--   thalweg run examples/nexmark_states.sql --available-now

CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/states/bid', time = 'at', files_per_batch = 1);

CREATE STREAM auction (id BIGINT, seller BIGINT, category BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/states/auction', time = 'at', files_per_batch = 1);

CREATE STREAM person (id BIGINT, state STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/states/person', time = 'at', files_per_batch = 1);

CREATE QUERY states AS
  SELECT a.category, p.state, COUNT(*) AS bids, MAX(b.price) AS highest
  FROM bid AS b [RANGE 1 MINUTE] JOIN auction AS a [RANGE 1 HOUR] ON b.auction = a.id JOIN person AS p [UNBOUNDED] ON a.seller = p.id
  GROUP BY a.category, p.state EVERY 5 SECONDS;

-- Only what changed: states whose auctions become hot, and a mark when they no longer are.
CREATE QUERY hot_states INTO 'console' AS
  SELECT p.state, COUNT(*) >= 20000 AS very_hot
  FROM bid AS b [RANGE 1 MINUTE] JOIN auction AS a [RANGE 1 HOUR] ON b.auction = a.id JOIN person AS p [UNBOUNDED] ON a.seller = p.id
  GROUP BY p.state HAVING COUNT(*) >= 12000 EVERY 5 SECONDS EMIT CHANGES;

SHOW QUERIES;
