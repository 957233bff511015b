-- What the mode best does without its means beyond the paper.
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');

SET plan.windows.sparse = 'false';
SET plan.windows.tiling = 'false';
SET plan.windows.chains = 'false';
SET plan.windows.prefix = 'false';
CREATE QUERY total AS
  SELECT auction, window_end, SUM(price) AS total FROM bid GROUP BY auction, HOP '1 hour' BY '1 second';
