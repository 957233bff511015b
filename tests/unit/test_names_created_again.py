"""Queries that have had the same name, one after another, while batches run: each has its own life, its own directory, its own results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.api.handle import QueryHandle
from thalweg.engine.task import Report, Task
from thalweg.testing import local
from thalweg.testing.comparison import compare
from thalweg.testing.lifetimes import reference_of

SECOND = 1_000_000
STREAM = (
    "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at');"
)
SUMS = "SELECT k, window_end, SUM(v) AS total FROM s GROUP BY k, TUMBLE '1 second'"
HIGHS = "SELECT window_end, MAX(v) AS high FROM s GROUP BY TUMBLE '3 seconds'"
PAIRS = "SELECT a.v, b.v AS w FROM s AS a [RANGE 2 SECONDS], s AS b [RANGE 1 SECOND] WHERE a.k = b.k"
COUNTS = "SELECT a.k, COUNT(*) AS n FROM s AS a [RANGE 2 SECONDS], s AS b [RANGE 1 SECOND] WHERE a.k = b.k GROUP BY a.k EVERY 1 SECOND"
ASKED = (SUMS, HIGHS, PAIRS, COUNTS)


class Fed:
    """A session over one stream, fed two seconds a batch; `during` is done by somebody else while the next batch runs its job."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.root, self.rows = root, list[dict[str, pa.Table]]()
        self.during: Callable[[], object] = lambda: None
        self._job = local.local_job
        patch.setattr(local, "local_job", self._run)
        (root / "in").mkdir()
        self.session = local.LocalSession(root / "run")
        self.session.sql(STREAM.format(root / "in"))

    def _run(self, chunks: Sequence[local.Chunk], task: Task) -> list[Report]:
        act, self.during = self.during, lambda: None
        act()
        return self._job(chunks, task)

    def batch(self) -> None:
        """Feed and run one more batch."""
        number = len(self.rows)
        times = pa.array([(number * 2 * SECOND) + i * SECOND // 5 for i in range(10)], pa.timestamp("us"))
        columns = {"k": [i % 3 for i in range(10)], "v": list(range(number, number + 10)), "at": times}
        self.rows.append({"s": pa.table(columns)})
        path = self.root / "in" / f"{number}.parquet"
        pq.write_table(self.rows[-1]["s"], path)
        self.session.batch([("s", str(path))])

    def check(self, *handles: QueryHandle) -> None:
        """Compare results with the definition, each in its life; no two lives have one directory."""
        for handle in handles:
            compare(handle.results(), reference_of(handle, self.session.catalog.streams, self.rows))
        assert len({h.directory for h in handles}) == len(handles)


@pytest.fixture
def fed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fed:
    return Fed(tmp_path, monkeypatch)


@pytest.mark.parametrize("first", ASKED)
@pytest.mark.parametrize("second", ASKED)
def test_dropped_and_created_between_two_batches(fed: Fed, first: str, second: str) -> None:
    fed.batch()
    fed.session.sql("SET plan.sharing = 'all'")
    old = fed.session.query(first, name="q", into=str(fed.root / "first"))
    fed.batch()
    fed.batch()
    old.drop()
    new = fed.session.query(second, name="q", into=str(fed.root / "second"))
    assert not old.is_live and new.is_live
    for _ in range(3):
        fed.batch()
    assert (old.epoch, old.ended, new.epoch, new.ended) == (1, 3, 3, None)
    assert [q.name for q in fed.session.runner.plan.queries] == ["q"], "what was dropped gives no more"
    fed.check(old, new)


@pytest.mark.parametrize("select", ASKED)
def test_dropped_and_created_in_one_script_is_as_it_was(fed: Fed, select: str) -> None:
    query = fed.session.query(select, name="q")
    fed.batch()
    fed.session.sql(f"DROP QUERY q; CREATE QUERY q AS {select}")
    fed.batch()
    again = fed.session.handle("q")
    assert (again.epoch, again.ended, again.directory) == (0, None, query.directory) and query.is_live
    fed.check(again)


@pytest.mark.parametrize("first", ASKED)
@pytest.mark.parametrize("second", ASKED)
def test_created_again_while_a_batch_has_the_first(fed: Fed, first: str, second: str) -> None:
    fed.batch()
    old = fed.session.query(first, name="q")
    made: list[QueryHandle] = []

    def others() -> None:
        old.drop()
        made.append(fed.session.query(second, name="q"))

    fed.during = others
    fed.batch()
    (new,) = made
    assert (old.epoch, new.epoch) == (1, None)
    for _ in range(3):
        fed.batch()
    assert (old.ended, new.epoch, new.ended) == (2, 2, None)
    fed.check(old, new)


@pytest.mark.parametrize("first", ASKED)
@pytest.mark.parametrize("second", ASKED)
def test_replaced_and_back_while_a_batch_has_the_other(fed: Fed, first: str, second: str) -> None:
    fed.session.query(first, name="q")
    fed.batch()
    a = fed.session.handle("q")
    b = fed.session.query(second, name="q", replace=True)
    made: list[QueryHandle] = []
    fed.during = lambda: made.append(fed.session.query(first, name="q", replace=True))
    fed.batch()
    for _ in range(4):
        fed.batch()
    (c,) = made
    if first == second:
        assert [h.epoch for h in (a, b, c)] == [0, 0, 0] and c.ended is None
        fed.check(c)
        return
    assert [(h.epoch, h.ended) for h in (a, b, c)] == [(0, 1), (1, 2), (2, None)]
    assert len({h.directory for h in (a, b, c)}) == 3
    shown = [[tuple(r.items()) for r in h.results().to_pylist()] for h in (a, c)]
    assert not set(shown[0]) & set(shown[1]) or first == PAIRS, "no instance is given twice"
    fed.check(c)


def test_one_that_no_batch_has_had(fed: Fed) -> None:
    fed.batch()
    first = fed.session.query(SUMS, name="q")
    first.drop()
    second = fed.session.query(HIGHS, name="q")
    fed.batch()
    fed.batch()
    assert (first.epoch, first.status, second.epoch) == (None, "dropped", 1)
    fed.check(second)


def test_numbers_go_on_after_a_restart(fed: Fed) -> None:
    first = fed.session.query(SUMS, name="q", into=str(fed.root / "first"))
    fed.batch()
    first.drop()
    fed.session.close()
    fed.session = local.LocalSession(fed.root / "run")
    assert "q" not in fed.session.queries
    second = fed.session.query(SUMS, name="q", into=str(fed.root / "second"))
    fed.batch()
    fed.batch()
    ended = [(v.epoch, v.ended) for v in fed.session.lives()]
    assert ended == [(0, 1), (1, None)] and second.epoch == 1
    fed.check(second)
