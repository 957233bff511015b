-- The Yahoo streaming benchmark: views of the ads of each campaign, counted by ten seconds. First:
--   python examples/make_data.py ysb
--   thalweg run examples/ysb.sql --available-now

CREATE STREAM ad_events (user_id STRING, page_id STRING, ad_id STRING, ad_type STRING, event_type STRING, ip_address STRING, event_time TIMESTAMP)
  WITH (format = 'parquet', path = 'data/ysb/events', time = 'event_time', watermark = '1 second', files_per_batch = 2);
CREATE TABLE campaigns (ad_id STRING, campaign_id STRING) WITH (format = 'parquet', path = 'data/ysb/campaigns.parquet');

CREATE QUERY views_per_campaign AS
  SELECT c.campaign_id, window_start, window_end, COUNT(*) AS views, MAX(e.event_time) AS last
  FROM ad_events AS e JOIN campaigns AS c ON e.ad_id = c.ad_id WHERE e.event_type = 'view'
  GROUP BY c.campaign_id, TUMBLE(e.event_time, INTERVAL '10' SECOND);
-- The benchmark writes counts of windows that are open too, every second.
CREATE VIEW views AS
  SELECT c.campaign_id, e.event_time FROM ad_events AS e JOIN campaigns AS c ON e.ad_id = c.ad_id WHERE e.event_type = 'view';
CREATE QUERY views_so_far AS
  SELECT campaign_id, window_start, window_end, COUNT(*) AS views, MAX(event_time) AS last FROM views GROUP BY campaign_id, TUMBLE '10 seconds'
  EMIT EVERY 1 SECOND;
