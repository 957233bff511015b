"""Frequent values of joins split over all partitions: results are those of the definition, whichever values are split, and when that
changes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg.engine import commit
from thalweg.engine.kernel import shelf
from thalweg.plan.nodes import Plan
from thalweg.testing.crowd import check_lives
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

SECOND, BATCHES = 1_000_000, 12
STREAM = "CREATE STREAM {0} (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{1}/{0}', time = 'at');"
ROWS = "SELECT a.v, b.v AS w FROM s AS a [RANGE 4 SECONDS], r AS b [RANGE 2 SECONDS] WHERE a.k = b.k"
THREE = (
    "SELECT a.v, b.v AS w, c.v AS u FROM s AS a [RANGE 1 SECOND], r AS b [RANGE 1 SECOND], t AS c [RANGE 1 SECOND] "
    "WHERE a.k = b.k AND b.k = c.k"
)
GROUPS = (
    "SELECT a.v % 3 AS g, COUNT(*) AS n, SUM(b.v) AS x, MIN(a.v) AS low FROM s AS a [RANGE 4 SECONDS], r AS b [RANGE 6 SECONDS] "
    "WHERE a.k = b.k GROUP BY a.v % 3 EVERY 2 SECONDS"
)
SUMS = (
    "SELECT a.v % 3 AS g, COUNT(*) AS n, SUM(b.v) AS x FROM s AS a [RANGE 4 SECONDS], r AS b [RANGE 6 SECONDS] "
    "WHERE a.k = b.k GROUP BY a.v % 3 EVERY 2 SECONDS EMIT CHANGES"
)


def rows(random: Random, batch: int, hot: int, count: int) -> pa.Table:
    """Two seconds of a stream, half of them with one value."""
    ticks = sorted(2 * batch * SECOND + random.randrange(2 * SECOND) for _ in range(count))
    keys = [hot if random.random() < 0.5 else random.randrange(40) for _ in range(count)]
    values = [random.randrange(100) for _ in range(count)]
    return pa.table({"k": keys, "v": values, "at": pa.array(ticks, pa.timestamp("us"))})


class Run:
    """A session over three streams whose hot values change now and then."""

    def __init__(
        self, root: Path, seed: int, partitions: int, settings: str, queries: tuple[str, ...]
    ) -> None:
        self.root, self.session, random = root, LocalSession(root / "run", partitions), Random(seed)
        self.session.sql("".join(STREAM.format(n, root) for n in "srt") + settings)
        self.fed = [{n: rows(random, b, 7 + b // 5, 60) for n in "srt"} for b in range(BATCHES)]
        self.files = {
            n: write_batches(root / n, self.session.catalog.streams[n], [b[n] for b in self.fed])
            for n in "srt"
        }
        for n, text in enumerate(queries):
            self.session.query(text, name=f"q{n}")
        self.split: set[tuple[tuple[int, ...], bool]] = set()

    def batch(self, number: int) -> Plan:
        """The next batch; the plan that it ran."""
        if (ahead := self.session._running._ahead) is not None:
            ahead._looking.settle()
        self.session.batch([(n, str(paths[number])) for n, paths in self.files.items()])
        plan = self.session.runner.plan
        self.split |= {(f.split.hot, f.split.dealt) for f in plan.fragments if f.split}
        return plan

    def reopen(self, partitions: int) -> None:
        """As after kill -9."""
        self.session.directory.unlock()
        self.session = LocalSession(self.root / "run", partitions)

    def check(self) -> None:
        """Compare all results with the definition."""
        assert check_lives(list(self.session.queries.values()), self.session.catalog.streams, self.fed) > 0
        self.session.close()


@pytest.mark.parametrize(
    ("settings", "query"),
    [("", ROWS), ("SET plan.invalidate = 'probe';", ROWS), ("", THREE), ("SET plan.join = 'loop';", ROWS)]
    + [
        (f"SET plan.evaluate = '{way}'; SET plan.early_aggregation = '{early}';", GROUPS)
        for way in ("snapshot", "expiry", "materialize")
        for early in ("LAP", "EAP10")
    ]
    + [
        (f"SET plan.evaluate = '{way}'; SET plan.early_aggregation = 'LAP';", SUMS)
        for way in ("delta", "expiry")
    ],
)
def test_results_while_values_are_split(settings: str, query: str, tmp_path: Path) -> None:
    run = Run(tmp_path, 3, 3, f"SET plan.split = 'all';{settings}", (query,))
    for number in range(BATCHES):
        run.batch(number)
        if number == 6:
            run.reopen(2)
        if number == 9:
            run.session.sql("SET partitions = 4")
    assert {dealt for _, dealt in run.split} == {True, False} and len(run.split) >= 4, "values change"
    run.check()


@settings(max_examples=4)
@given(st.integers(0, 10_000), st.data())
def test_a_drawn_run(tmp_path_factory: pytest.TempPathFactory, seed: int, data: st.DataObject) -> None:
    """Splitting is switched, sessions are opened again with other numbers of partitions, evaluations are planned anew."""
    random = Random(seed)
    run = Run(tmp_path_factory.mktemp("run"), seed, 2, "SET plan.split = 'all';", (ROWS, GROUPS, SUMS))
    for number in range(BATCHES):
        run.batch(number)
        asked = random.choice(["split", "partitions", "reopen", "evaluate", "nothing", "nothing"])
        if asked == "split":
            run.session.sql(f"SET plan.split = '{random.choice(['all', 'off', 'best'])}'")
        elif asked == "partitions":
            run.session.sql(f"SET partitions = {random.choice([1, 2, 3, 5])}")
        elif asked == "reopen":
            run.reopen(random.choice([1, 2, 3]))
        elif asked == "evaluate":
            run.session.sql(f"SET plan.evaluate = '{random.choice(['snapshot', 'expiry', 'best'])}'")
            run.session.sql(f"SET plan.early_aggregation = '{random.choice(['LAP', 'EAP10', 'best'])}'")
    run.check()


def test_another_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of rows whose values were split by a hash that is not known any more are told apart by their values."""
    run = Run(tmp_path, 3, 3, "SET plan.split = 'all'; SET plan.early_aggregation = 'LAP';", (ROWS, SUMS))
    for number in range(4):
        run.batch(number)
    assert run.split
    for module in (shelf, commit):
        monkeypatch.setattr(module, "HASH", "another")
    run.batch(4)
    monkeypatch.undo()
    for number in range(5, BATCHES):
        run.batch(number)
    run.check()
