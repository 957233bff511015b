-- Settings that leave one plan open, by nested loops.
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');
CREATE STREAM auction (id BIGINT, seller BIGINT, category STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/auction', time = 'at', watermark = '5 seconds');
SET plan.early_aggregation = 'EAP10';
SET plan.evaluate = 'materialize';
SET plan.join = 'loop';

CREATE QUERY by_category AS
  SELECT a.category, window_end, COUNT(*) AS bids FROM bid AS b [RANGE 1 MINUTE], auction AS a [RANGE 1 MINUTE]
  WHERE a.id = b.auction GROUP BY a.category EVERY 10 SECONDS;
