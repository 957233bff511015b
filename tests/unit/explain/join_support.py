"""Joins to explain, and engines that have run some batches of them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from explain_support import START, run_batch

from thalweg.api.session import Session
from thalweg.explain import Explanation, explain
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import bind_statements
from thalweg.testing.local import LocalEngine

PER_SHOP = """CREATE QUERY per_shop AS SELECT s.shop, COUNT(*) AS n, SUM(b.price) AS paid
  FROM bid AS b [RANGE 20 SECONDS], sale AS s [RANGE 10 SECONDS] WHERE b.auction = s.auction AND b.price > 3
  GROUP BY s.shop EVERY 5 SECONDS;"""
TOP = """CREATE QUERY top AS SELECT s.shop, MAX(b.price) AS high
  FROM bid AS b [RANGE 20 SECONDS], sale AS s [RANGE 10 SECONDS] WHERE b.auction = s.auction AND b.price > 3
  GROUP BY s.shop EVERY 5 SECONDS EMIT CHANGES;"""
PAIRS = """CREATE QUERY pairs AS SELECT b.price, s.shop FROM bid AS b [RANGE 20 SECONDS], sale AS s [RANGE 10 SECONDS]
  WHERE b.auction = s.auction AND b.channel <> s.shop;"""


def streams_sql(root: Path | str = "nowhere") -> str:
    """Bids and sales."""
    given = {"bid": "auction BIGINT, price BIGINT, channel STRING", "sale": "auction BIGINT, shop STRING"}
    return "".join(
        f"CREATE STREAM {name} ({columns}, at TIMESTAMP) "
        f"WITH (format = 'parquet', path = '{root}/{name}', time = 'at', watermark = '2 seconds');"
        for name, columns in given.items()
    )


def explained(*queries: str, settings: dict[str, str] | None = None) -> Explanation:
    session = Session("nowhere", settings=settings)
    session.sql(streams_sql() + "".join(queries))
    return session.explain()


def ran(root: Path, text: str, batches: int = 2, config: Config | None = None) -> LocalEngine:
    """An engine after some batches of joins."""
    bound = bind_statements(streams_sql(root) + text)
    engine = LocalEngine(
        root / "run",
        tuple(bound.streams.values()),
        tuple(bound.queries.values()),
        planner_for(config or Config()),
    )
    for name in ("bid", "sale"):
        (root / name).mkdir()
    for i in range(batches):
        run_both(engine, root, i)
    return engine


def run_both(engine: LocalEngine, root: Path, number: int) -> None:
    """A batch of bids, then one of sales."""
    run_batch(engine, root / "bid", number)
    at = [START + timedelta(seconds=40 * number + i) for i in range(40)]
    sales = {
        "auction": [i % 20 for i in range(40)],
        "shop": [f"shop {i % 3}" for i in range(40)],
        "at": pa.array(at, pa.timestamp("us")),
    }
    pq.write_table(pa.table(sales), root / "sale" / f"{number}.parquet")
    engine.batch([("sale", str(root / "sale" / f"{number}.parquet"))])


def analyzed(engine: LocalEngine, query: str | None = None) -> Explanation:
    manifest = engine.runner.manifest
    return explain(engine.runner.plan, planner_for(Config(), manifest), query, manifest)
