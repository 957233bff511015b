-- Joins and windows that differ in their conditions, computed as one.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'none/bid', time = 'at', rate = 2000, distinct = 'auction: 1000, channel: 4');
CREATE STREAM sale (auction BIGINT, shop BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'none/sale', time = 'at', rate = 500);
CREATE QUERY dear AS SELECT b.auction, b.price, s.shop FROM bid AS b [RANGE 10 SECONDS], sale AS s [RANGE 10 SECONDS] WHERE b.auction = s.auction AND b.price > 100;
CREATE QUERY web AS SELECT b.auction, s.shop FROM bid AS b [RANGE 5 SECONDS], sale AS s [RANGE 10 SECONDS] WHERE b.auction = s.auction AND b.channel = 'web';
CREATE QUERY mine AS SELECT b.price, s.shop FROM bid AS b [RANGE 10 SECONDS], sale AS s [RANGE 20 SECONDS] WHERE b.auction = s.auction AND s.shop IN (3, 4) AND b.price < s.shop;
CREATE QUERY low AS SELECT auction, window_id, COUNT(*) AS n FROM bid WHERE price < 10 GROUP BY auction, WINDOWS(TUMBLE '10 seconds', TUMBLE '1 minute');
CREATE QUERY middle AS SELECT auction, window_id, COUNT(*) AS n FROM bid WHERE price BETWEEN 10 AND 90 GROUP BY auction, WINDOWS(TUMBLE '10 seconds', TUMBLE '1 minute');
CREATE QUERY high AS SELECT auction, window_id, MAX(price) AS top FROM bid WHERE price > 90 GROUP BY auction, WINDOWS(TUMBLE '10 seconds', TUMBLE '5 minutes');
SET plan.sharing = 'all';
