-- Groups by few keys begin with those by more, of other queries and over other windows; one is of rows that the others have not.
CREATE STREAM bid (auction BIGINT, channel STRING, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds', distinct = 'auction: 100, channel: 5');

CREATE QUERY of_both AS
  SELECT auction, channel, COUNT(*) AS bids, SUM(price) AS total, window_end FROM bid GROUP BY auction, channel, TUMBLE '1 minute';
CREATE QUERY of_auctions AS SELECT auction, AVG(price) AS mean, window_end FROM bid GROUP BY auction, TUMBLE '1 minute';
CREATE QUERY of_channels AS SELECT channel, SUM(price) AS total, window_end FROM bid GROUP BY channel, TUMBLE '5 minutes';
CREATE QUERY of_all AS SELECT COUNT(*) AS bids, window_end FROM bid GROUP BY TUMBLE '1 minute';
CREATE QUERY dear AS SELECT auction, SUM(price) AS total, window_end FROM bid WHERE price > 100 GROUP BY auction, TUMBLE '1 minute';
