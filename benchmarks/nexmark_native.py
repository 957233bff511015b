"""Nexmark's queries as Spark Structured Streaming can express them, each a streaming query; where it can't, why."""
# ruff: noqa: E501

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.engines import native
from benchmarks.engines.progress import batches, keep_all
from benchmarks.engines.spark_many import _end, round_ms
from benchmarks.nexmark import SCRIPT, STREAMS, TOGETHER, WARMUP, Measured, Size, statements
from thalweg.generate import Nexmark

WORD_FOR_WORD = ("q0", "q1", "q2", "q14", "q17", "q21")
UNBOUNDED = ("q3", "q20")
"""Joins without an end, which Spark has without saying so."""
OTHERS = {
    "q7": "SELECT b.auction, b.price, b.bidder, b.dateTime, b.extra FROM bid b JOIN (SELECT MAX(price) AS most, window.end AS ends, "
    "window_time(window) AS at FROM bid GROUP BY window(dateTime, '10 seconds')) m ON b.price = m.most "
    "AND b.dateTime BETWEEN m.at - INTERVAL 10 SECONDS AND m.at + INTERVAL 1 SECOND AND b.dateTime BETWEEN m.ends - INTERVAL 10 SECONDS AND m.ends",
    "q8": "SELECT DISTINCT p.id, p.name, p.w.end AS ends FROM (SELECT id, name, window(dateTime, '10 seconds') AS w FROM person) p "
    "JOIN (SELECT seller, window(dateTime, '10 seconds') AS w FROM auction) a ON p.id = a.seller AND p.w = a.w",
    "q10": "SELECT auction, bidder, price, dateTime, extra, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS day, DATE_FORMAT(dateTime, 'HH:mm') AS minute FROM bid",
    "q11": "SELECT bidder, COUNT(*) AS bids, session_window.start AS starts, session_window.end AS ends "
    "FROM bid GROUP BY bidder, session_window(dateTime, '10 seconds')",
    "q13": "SELECT b.auction, b.bidder, b.price, b.dateTime, s.value FROM bid b JOIN side_input s ON MOD(b.auction, 10000) = s.key",
    "q22": "SELECT auction, bidder, price, channel, SPLIT_PART(url, '/', 4) AS dir1, SPLIT_PART(url, '/', 5) AS dir2, SPLIT_PART(url, '/', 6) AS dir3 FROM bid",
}
COUNTED = "LENGTH(extra) - LENGTH(REPLACE(extra, 'c', ''))"
"""What the Python function of q14 gives."""
CHANGES = ("q17",)
"""Told as changes: Spark after each batch, Thalweg as of each minute, so these rows are not compared."""
WINDOWED = ("q7", "q8", "q11")
REFUSED = {
    "q4": "no aggregate over groups that change",
    "q5": "no join of aggregates of aggregates",
    "q6": "no OVER in streams",
    "q9": "no ROW_NUMBER in streams",
    "q12": "results depend on the clock",
    "q15": "no COUNT(DISTINCT) in streams",
    "q16": "no COUNT(DISTINCT) in streams",
    "q18": "no ROW_NUMBER in streams",
    "q19": "no ROW_NUMBER in streams",
}
VIEWS = {
    "person": "SELECT id, name, email AS emailAddress, credit_card AS creditCard, city, state, at AS dateTime, MD5(name) AS extra FROM person_events",
    "auction": "SELECT id, item_name AS itemName, description, initial_bid AS initialBid, reserve, at AS dateTime, expires, seller, category, "
    "MD5(description) AS extra FROM auction_events",
    "bid": "SELECT auction, bidder, price, channel, url, at AS dateTime, MD5(url) AS extra FROM bid_events",
}


def run(root: Path, size: Size, wanted: Sequence[str]) -> None:
    """Each query that there is, one after another, then all at once."""
    _, printed = statements(SCRIPT.read_text())
    texts = {q: printed[q].replace("[UNBOUNDED]", "") for q in (*WORD_FOR_WORD, *UNBOUNDED)} | OTHERS
    texts["q20"] = re.sub(r"\bA\.(dateTime|extra)\b", r"A.\1 AS A_\1", texts["q20"])
    texts["q14"] = texts["q14"].replace("count_char(extra, 'c')", COUNTED)
    spark = native._session("rocksdb")
    spark.conf.set("spark.sql.streaming.join.stateFormatVersion", "4")
    keep_all(spark)
    for name in STREAMS:
        _declare(spark, root, name)
    side = spark.read.csv(
        str(root / "data" / "side_input.csv"), header=True, schema="key BIGINT, value STRING"
    )
    side.createOrReplaceTempView("side_input")
    for name, why in REFUSED.items():
        if name in wanted or not wanted:
            print(json.dumps(asdict(Measured(name, None, why))), flush=True)
    runs = {q: t for q, t in texts.items() if q in wanted or not wanted}
    kept = {q: t for q, t in runs.items() if _alone(spark, root, q, t)}
    if TOGETHER in wanted or not wanted:
        print(json.dumps(asdict(_at_once(spark, root, kept))), flush=True)
    spark.stop()


def _declare(spark: Any, root: Path, name: str) -> None:
    schema = ", ".join(
        f"{c.name} {'STRING' if c.type == 'VARCHAR' else c.type}" for c in Nexmark.schemas[name]
    )
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).option("maxFileAge", "36500d")
    reader.parquet(str(root / "data" / name)).withWatermark("at", "0 seconds").createOrReplaceTempView(
        f"{name}_events"
    )
    spark.sql(VIEWS[name]).createOrReplaceTempView(name)


def _started(spark: Any, root: Path, query: str, text: str, kind: str) -> Any:
    rows = spark.sql(text)
    sink = rows.writeStream.outputMode("update" if query in CHANGES else "append")
    sink = sink.option("checkpointLocation", str(root / kind / "checkpoint" / query)).trigger(
        availableNow=True
    )
    if query in CHANGES:
        return sink.foreachBatch(
            lambda found, n: found.write.mode("append").parquet(str(root / kind / "changes" / query))
        ).start()
    return sink.format("parquet").option("path", str(root / "rows" / kind / query)).start()


def _alone(spark: Any, root: Path, query: str, text: str) -> bool:
    try:
        running = _started(spark, root, query, text, "native")
        running.awaitTermination()
    except Exception as error:
        why = str(error).splitlines()[0][:60]
        print(json.dumps(asdict(Measured(query, None, f"refused: {why}"))), flush=True)
        return False
    ms = [b.ms for b in batches(running.recentProgress)][WARMUP:]
    print(json.dumps(asdict(Measured(query, sum(ms) / max(len(ms), 1)))), flush=True)
    return True


def _at_once(spark: Any, root: Path, texts: dict[str, str]) -> Measured:
    """Those that run, each a streaming query, at the same time: the mean time in which all do a batch."""
    running = [_started(spark, root, q, t, "native_at_once") for q, t in texts.items()]
    for query in running:
        query.awaitTermination()
    ended = [[_end(r) for r in q.recentProgress if r.numInputRows] for q in running]
    return Measured(TOGETHER, round_ms(ended, WARMUP), f"{len(running)} queries")
