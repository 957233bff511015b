-- Groups by few keys begin with those by more: sets of keys of one query, and those of another query over other windows.
CREATE STREAM bid (auction BIGINT, channel STRING, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds', distinct = 'auction: 100, channel: 5');

CREATE QUERY rolled_up AS
  SELECT auction, channel, COUNT(*) AS bids, SUM(price) AS total, window_end FROM bid GROUP BY ROLLUP(auction, channel), TUMBLE '1 minute';
CREATE QUERY of_channels AS SELECT channel, SUM(price) AS total, window_end FROM bid GROUP BY channel, TUMBLE '5 minutes';
