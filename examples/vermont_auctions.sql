-- For each auction of a seller from Vermont, the number of bids in the last hour: example 2 of the early-aggregation
-- paper, as printed there. First:
--   .venv/bin/python examples/make_data.py auctions
-- then:
--   thalweg run examples/vermont_auctions.sql --available-now

CREATE STREAM Bid (timestamp TIMESTAMP, auctionID BIGINT, bidderID BIGINT, bidPrice DOUBLE)
  WITH (format = 'parquet', path = 'data/vermont/Bid', time = 'timestamp', watermark = '5 seconds', files_per_batch = 2);

CREATE STREAM Auction (timestamp TIMESTAMP, auctionID BIGINT, seller BIGINT, startPrice DOUBLE)
  WITH (format = 'parquet', path = 'data/vermont/Auction', time = 'timestamp', watermark = '5 seconds', files_per_batch = 2);

CREATE TABLE Person (personID BIGINT, name STRING, state STRING) WITH (format = 'parquet', path = 'data/vermont/Person.parquet');

-- [WINDOW UNTIL NOW] is [UNBOUNDED].
CREATE QUERY vermont_auctions AS
  SELECT a.auctionID, COUNT(b.*)
  FROM Bid AS b [WINDOW 1 HOUR],
       Auction AS a [WINDOW UNTIL NOW],
       Person AS p
  WHERE a.auctionID = b.auctionID
    AND a.seller = p.personID
    AND p.state= "VT"
  GROUP BY a.auctionID;

SHOW QUERIES;
