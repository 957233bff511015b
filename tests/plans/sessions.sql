-- Sessions of two gaps beside a tumbling window of the same keys; equal ones of another query are one.
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds', rate = 100, distinct = 'bidder: 1000');

CREATE QUERY visits AS SELECT bidder, window_id, window_end, COUNT(*) AS bids FROM bid GROUP BY bidder, WINDOWS(SESSION '10 seconds', SESSION '1 minute', TUMBLE '1 minute');
CREATE QUERY highest AS SELECT bidder, window_end, MAX(price) AS high FROM bid GROUP BY bidder, SESSION '10 seconds';
