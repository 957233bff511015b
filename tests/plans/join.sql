-- An aggregate over a join of two windows: all twelve plans.
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');
CREATE STREAM auction (id BIGINT, seller BIGINT, category STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/auction', time = 'at', watermark = '5 seconds');

CREATE QUERY by_category AS
  SELECT a.category, window_end, COUNT(*) AS bids, SUM(b.price) AS paid
  FROM bid AS b [RANGE 1 HOUR], auction AS a [RANGE 10 MINUTES]
  WHERE a.id = b.auction AND b.price > 10 GROUP BY a.category HAVING COUNT(*) > 3 EVERY 1 MINUTE;
