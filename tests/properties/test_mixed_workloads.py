"""Windows and joins that share nodes, equal queries among them, created and dropped between batches: each equals the definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.api.handle import QueryHandle
from thalweg.testing.crowd import check_lives
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

SECOND = 1_000_000
STREAM = "CREATE STREAM {0} (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{1}', time = 'at', watermark = '1 second');"
PAIRS = "FROM s [RANGE {n} SECONDS], r [RANGE 2 SECONDS] WHERE s.k = r.k"
SELECTS = (
    "SELECT k, window_id, window_end, COUNT(*) AS n FROM s GROUP BY k, WINDOWS(TUMBLE '1 second', TUMBLE '{n} seconds')",
    "SELECT k, window_end, MAX(v) AS high, SUM(v) AS total FROM s GROUP BY k, HOP '{n} seconds' BY '1 second'",
    "SELECT k, window_end, COUNT(*) AS n, MIN(v) AS low FROM r WHERE v < 15 GROUP BY k, TUMBLE '1 second' HAVING COUNT(*) > 1",
    f"SELECT s.k, COUNT(*) AS n {PAIRS} GROUP BY s.k EVERY 1 SECOND",
    f"SELECT s.k, COUNT(*) AS n, SUM(s.v) AS total {PAIRS} AND r.v < 15 GROUP BY s.k EVERY 1 SECOND",
    f"SELECT r.k, MAX(s.v) AS high {PAIRS} GROUP BY r.k HAVING MAX(s.v) > 4 EVERY 2 SECONDS EMIT CHANGES",
    f"SELECT s.k, s.v, r.v AS w {PAIRS} AND s.v < r.v",
    "SELECT k, v + {n} AS w, at FROM s WHERE v < 15",
    "SELECT * FROM r WHERE k IS NOT NULL AND v % {n} = 1",
    f"SELECT s.k, SUM(s.v * r.v) AS product, MIN(s.v - r.v) AS low {PAIRS} AND s.v + 1 < r.v GROUP BY s.k EVERY 1 SECOND",
)
PLANS = ("best", "LAP", "EAP10", "EAP01", "EAP11")
EVALUATIONS = ("best", "snapshot", "expiry", "materialize")


def rows(random: Random, second: float, count: int) -> pa.Table:
    """Rows of two seconds, out of order within the watermark, some of them with a NULL key."""
    times = [int((second + random.random() * 2) * SECOND) for _ in range(count)]
    keys = [None if random.random() < 0.1 else random.randrange(4) for _ in range(count)]
    values = [random.randrange(23) for _ in range(count)]
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "v": pa.array(values, pa.int64()),
            "at": pa.array(times, pa.timestamp("us")),
        }
    )


class Run:
    """A session over some streams that can be closed and opened again."""

    names: tuple[str, ...] = ("s", "r")

    def __init__(self, root: Path, partitions: int) -> None:
        self.root, self.fed = root, list[dict[str, pa.Table]]()
        self.session = self._opened(partitions)
        self.made: dict[str, QueryHandle] = {}
        self.count = 0

    def _opened(self, partitions: int) -> LocalSession:
        session = LocalSession(self.root / "run", partitions)
        for name in self.names:
            session.sql(STREAM.format(name, self.root / name))
        return session

    def create(self, select: str, ttl: str | None = None) -> None:
        """One more query."""
        name = f"q{self.count}"
        self.count += 1
        self.made[name] = self.session.query(select, name=name, ttl=ttl)

    def drop(self, name: str) -> None:
        """One query less."""
        self.made[name].drop()

    @property
    def live(self) -> list[str]:
        """The queries that are part of the next batch."""
        return [n for n, q in self.made.items() if q.is_live]

    def restart(self, partitions: int) -> None:
        """Close the session and open it again with the queries that were live; those that were dropped have given all they will."""
        live = {n: self.made[n].query for n in self.live}
        self._check([q for n, q in self.made.items() if n not in live])
        self.session.close()
        self.session = self._opened(partitions)
        self.made = {
            n: self.session.query(q.text, name=n, ttl=None if q.ttl is None else f"{q.ttl} microseconds")
            for n, q in live.items()
        }

    def feed(self, batch: dict[str, pa.Table]) -> None:
        """Run a batch."""
        self.fed.append(batch)
        streams = self.session.catalog.streams
        self.session.batch(
            [(n, str(write_batches(self.root / n, streams[n], [t])[0])) for n, t in batch.items()]
        )

    def check(self) -> int:
        """Compare everything with the definition."""
        return self._check(list(self.made.values()))

    def _check(self, handles: list[QueryHandle]) -> int:
        return check_lives(
            [q for q in handles if q.epoch is not None], self.session.catalog.streams, self.fed
        )


selects = hs.builds(lambda text, n: text.format(n=n), hs.sampled_from(SELECTS), hs.sampled_from([2, 3, 4]))


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match what := draw(
        hs.sampled_from(["", "create", "create", "twice", "drop", "plan", "evaluate", "restart"])
    ):
        case "create" if len(run.live) < 6:
            run.create(draw(selects))
        case "twice" if len(run.live) < 5:
            select = draw(selects)
            run.create(select)
            run.create(select)
        case _:
            usual(draw, run, what, PLANS)


def usual(draw: Any, run: Run, what: str, plans: Sequence[str] = PLANS[:2]) -> None:
    """What a user does between two batches, whatever is asked."""
    match what:
        case "drop" if run.live:
            run.drop(draw(hs.sampled_from(run.live)))
        case "plan":
            run.session.set("plan.early_aggregation", draw(hs.sampled_from(plans)))
        case "evaluate":
            run.session.set("plan.evaluate", draw(hs.sampled_from(EVALUATIONS)))
        case "windows":
            run.session.set("plan.windows", draw(hs.sampled_from(["best", "naive", "shared", "paper"])))
        case "sharing":
            run.session.set("plan.sharing", draw(hs.sampled_from(["best", "all", "off"])))
        case "restart" if run.fed:
            run.restart(draw(hs.sampled_from([1, 2, 3])))


def live_through(draw: Any, run: Run, change: Callable[[Any, Run], None], seed: int) -> None:
    """Some batches, with a change before each; then everybody's results are compared with the definition."""
    random, second = Random(seed), 0.0
    for _ in range(draw(hs.integers(4, 9))):
        change(draw, run)
        run.feed({n: rows(random, second, random.randrange(12)) for n in run.names})
        second += draw(hs.sampled_from([0.5, 1, 2, 4]))
    run.feed({n: rows(random, second + 20, 1) for n in run.names})
    run.check()
    run.session.close()


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_whoever_comes_and_goes(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("mixed"), data.draw(hs.sampled_from([1, 2, 3])))
    run.create(data.draw(selects))
    live_through(data.draw, run, change, seed)


@pytest.mark.parametrize("select", [s.format(n=3) for s in SELECTS])
def test_equal_queries_give_the_same_from_one_computation(select: str, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(3)
    run.create(select)
    run.create(select)
    for i in range(8):
        run.feed({n: rows(random, 2 * i, 10) for n in ("s", "r")})
    plan = run.session.runner.plan
    assert plan.alike == {"q0": ("q0", "q1")} and len(plan.joins) <= 1
    assert run.check() > 0
    steps = [s for s in run.session.latest_manifest().steps if s.partition(" ")[2] in ("q0", "q1")]
    assert all(s.endswith("q0") for s in steps), "results are made once"
    run.session.close()
