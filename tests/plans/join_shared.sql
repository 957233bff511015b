-- Two joins that share a side, beside a windowed query of the same stream.
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');
CREATE STREAM auction (id BIGINT, seller BIGINT, category STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/auction', time = 'at', watermark = '5 seconds');

CREATE QUERY bids_per_category AS
  SELECT a.category, COUNT(*) AS bids FROM bid AS b [RANGE 10 MINUTES], auction AS a [RANGE 10 MINUTES]
  WHERE a.id = b.auction GROUP BY a.category EVERY 1 MINUTE;
CREATE QUERY paid_per_seller AS
  SELECT a.seller, SUM(b.price) AS paid FROM bid AS b [RANGE 10 MINUTES], auction AS a [RANGE 5 MINUTES]
  WHERE a.id = b.auction GROUP BY a.seller EVERY 1 MINUTE;
CREATE QUERY low AS
  SELECT auction, window_end, MIN(price) AS low FROM bid GROUP BY auction, TUMBLE '1 minute';
