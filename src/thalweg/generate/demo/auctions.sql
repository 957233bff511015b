-- An auction site: what its visitors bid, and what they offer.
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = {bid}, time = 'at', watermark = '2 seconds', files_per_batch = 6);

CREATE STREAM auction (id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT,
                       expires TIMESTAMP, seller BIGINT, category BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = {auction}, time = 'at', watermark = '2 seconds', files_per_batch = 6);

-- The site's pulse: how much is going on, and how many people take part.
CREATE QUERY pulse AS
  SELECT window_start, COUNT(*) AS bids, COUNT(DISTINCT bidder) AS bidders, AVG(price) / 100 AS average_price
  FROM bid GROUP BY TUMBLE '1 minute';

-- Many windows of one query: each result row says which of them it belongs to.
CREATE QUERY price_range AS
  SELECT channel, window_id, window_start, MIN(price) / 100 AS low, MAX(price) / 100 AS high
  FROM bid WHERE channel IN ('Apple', 'Google', 'Facebook', 'Baidu')
  GROUP BY channel, WINDOWS(TUMBLE '10 seconds', TUMBLE '30 seconds', TUMBLE '1 minute', TUMBLE '5 minutes' AS 'five minutes',
                            HOP '15 minutes' BY '5 minutes');

-- A hopping window over the same rows and keys as price_range: the two share their slots.
CREATE QUERY turnover AS
  SELECT channel, window_start, window_end, COUNT(*) AS bids, SUM(price) / 100 AS total
  FROM bid WHERE channel IN ('Apple', 'Google', 'Facebook', 'Baidu')
  GROUP BY channel, HOP '10 minutes' BY '1 minute';

-- Auctions that are hot right now, with what nine bids in ten stay below.
CREATE QUERY hot_auctions AS
  SELECT auction, window_end, COUNT(*) AS bids, PERCENTILE(price, 0.9) / 100 AS price_90
  FROM bid GROUP BY auction, HOP '2 minutes' BY '30 seconds' HAVING COUNT(*) > 800;

-- What is on offer, by category.
CREATE QUERY offers AS
  SELECT category, window_start, COUNT(*) AS auctions, AVG(reserve) / 100 AS average_reserve, MAX(reserve) / 100 AS highest
  FROM auction GROUP BY category, TUMBLE '5 minutes';
