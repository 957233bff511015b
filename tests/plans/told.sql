-- Windows that are told while they are open, and groups of groups that change.
CREATE STREAM bid (auction BIGINT, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

CREATE QUERY so_far AS
  SELECT auction, window_id, window_end, COUNT(*) AS bids, MAX(price) AS high FROM bid
  GROUP BY auction, WINDOWS(TUMBLE '1 hour', HOP '10 minutes' BY '1 minute') HAVING COUNT(*) > 3 EMIT EVERY 1 MINUTE;
CREATE QUERY how_many AS
  SELECT bids, COUNT(*) AS auctions FROM (SELECT auction, COUNT(*) AS bids FROM bid GROUP BY auction) GROUP BY bids;
