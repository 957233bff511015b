"""A query that asks something else under its name: refused unless it is said, and then its results are kept apart."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.api.changes import Changes
from thalweg.api.outcomes import Created
from thalweg.errors import SqlError, UsageError
from thalweg.testing.local import LocalSession

SECOND = 1_000_000
STREAM = (
    "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at');"
)
SUMS = "SELECT k, window_end, SUM(v) AS x FROM s GROUP BY k, TUMBLE '1 second'"
MAXIMA = "SELECT k, window_end, MAX(v) AS x FROM s GROUP BY k, TUMBLE '1 second'"
OTHERS = "SELECT window_end, COUNT(*) AS n, 'a' AS a FROM s GROUP BY TUMBLE '1 second'"


class Fed:
    """A session over one stream, fed two seconds a batch: each second ten rows of one key, with the values 0 to 9."""

    def __init__(self, root: Path) -> None:
        self.root, self.batches = root, 0
        (root / "in").mkdir()
        self.session = self.opened()

    def opened(self, *queries: str) -> LocalSession:
        """The session, from its directory, with statements that declare queries."""
        self.session = LocalSession(self.root / "run")
        self.session.sql(STREAM.format(self.root / "in") + ";".join(queries))
        return self.session

    def batch(self) -> None:
        """Feed and run one more batch."""
        times = [(self.batches * 2 * SECOND) + i * SECOND // 10 for i in range(20)]
        path = self.root / "in" / f"{self.batches}.parquet"
        pq.write_table(
            pa.table(
                {"k": [1] * 20, "v": [i % 10 for i in range(20)], "at": pa.array(times, pa.timestamp("us"))}
            ),
            path,
        )
        self.session.batch([("s", str(path))])
        self.batches += 1

    def restart(self, *queries: str) -> LocalSession:
        """Stop, and open the directory again."""
        self.session.stop()
        return self.opened(*queries)


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path)


def values(session: LocalSession, name: str = "q") -> set[int]:
    """The different results of a query."""
    return set(session.handle(name).results().column("x").to_pylist())


@pytest.mark.parametrize(
    "select",
    [MAXIMA, OTHERS, SUMS.replace("1 second", "2 seconds"), SUMS.replace("FROM s", "FROM s WHERE v > 3")],
)
def test_redefined_at_a_restart_without_a_word(fed: Fed, select: str) -> None:
    fed.session.sql(f"CREATE QUERY q AS {SUMS}")
    fed.batch()
    fed.restart(f"CREATE QUERY q AS {select}")
    with pytest.raises(
        UsageError, match="query q asks something else than it did in the last run"
    ) as refused:
        fed.batch()
    assert "CREATE OR REPLACE QUERY q" in (refused.value.hint or "")
    with pytest.raises(UsageError, match="query q asks something else"):
        fed.session.check()


@pytest.mark.parametrize(
    "way",
    [
        "CREATE OR REPLACE QUERY q AS",
        "CREATE QUERY q AS SELECT COUNT(*) AS n FROM s GROUP BY TUMBLE '1 day'; ALTER QUERY q AS",
    ],
)
def test_replaced_at_a_restart(fed: Fed, way: str) -> None:
    fed.session.sql(f"CREATE QUERY q AS {SUMS}")
    fed.batch()
    fed.batch()
    before = fed.session.handle("q").results()
    session = fed.restart(f"{way} {MAXIMA}")
    assert session.check() == Changes(redefined=("q",))
    assert session.handle("q").results().num_rows == 0
    fed.batch()
    fed.batch()
    assert values(session) == {9}
    assert session.handle("q").directory == str(fed.root / "run" / "results" / "q-v2")
    earlier = pq.read_table(fed.root / "run" / "results" / "q")
    assert earlier.num_rows == before.num_rows + 1 and set(earlier.column("x").to_pylist()) == {45}, (
        "the window that was open is its own"
    )
    again = fed.restart(f"{way} {MAXIMA}")
    assert again.check() == Changes() and values(again) == {9}
    count = again.handle("q").results().num_rows
    fed.batch()
    assert values(again) == {9} and again.handle("q").results().num_rows > count


def test_replaced_while_it_runs(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY q INTO '{fed.root}/out' AS {SUMS}")
    fed.batch()
    first = fed.session.handle("q")
    (done,) = fed.session.sql(f"CREATE OR REPLACE QUERY q INTO '{fed.root}/out' AS {OTHERS}")
    assert done == Created("q", str(fed.root / "out-v2"), replaced=True)
    fed.batch()
    fed.batch()
    second = fed.session.handle("q")
    assert set(first.results().column("x").to_pylist()) == {45} and first.ended == 1
    assert fed.session.latest_manifest().queries["q"].rows == second.results().num_rows
    assert (
        second.epoch == 1
        and second.results().column_names == ["window_end", "n", "a"]
        and second.results().num_rows > 0
    )
    fed.session.sql(f"ALTER QUERY q INTO '{fed.root}/other' AS {MAXIMA}")
    fed.batch()
    fed.batch()
    assert values(fed.session) == {9} and fed.session.handle("q").directory == str(fed.root / "other")
    assert second.results().num_rows > 0 and second.results().column_names == ["window_end", "n", "a"]


def test_replaced_by_the_same(fed: Fed) -> None:
    query = fed.session.query(SUMS, name="q")
    fed.batch()
    fed.session.query(SUMS.replace("AS x", "AS  x"), name="q", replace=True)
    fed.batch()
    assert fed.session.handle("q").directory == query.directory and values(fed.session) == {45}
    assert fed.session.handle("q").results().num_rows == 3


def test_replacing_what_is_not_there(fed: Fed) -> None:
    fed.session.sql(f"CREATE OR REPLACE QUERY q AS {SUMS}")
    with pytest.raises(SqlError, match="no query named other"):
        fed.session.sql(f"ALTER QUERY other AS {SUMS}")
    fed.batch()
    assert values(fed.session) == {45} and fed.session.handle("q").directory.endswith("/q")


def test_what_changed_since_the_last_run(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}; CREATE QUERY b AS {SUMS}; CREATE QUERY c AS {SUMS}")
    fed.batch()
    session = fed.restart(
        f"CREATE QUERY a AS {SUMS}; CREATE OR REPLACE QUERY b AS {MAXIMA}; CREATE QUERY d AS {SUMS}"
    )
    assert str(session.check()) == "added d; dropped c; redefined b"


def test_queries_without_a_name(fed: Fed) -> None:
    first, second = fed.session.query(SUMS), fed.session.query(MAXIMA)
    assert (first.name, second.name) == ("s_1", "s_2")
    fed.batch()
    assert fed.restart().query(SUMS).name == "s_3", "results of the others are kept under their names"


PAIRS = "SELECT a.k, {}(b.v) AS x FROM s AS a [RANGE {} SECONDS], s AS b [RANGE 1 SECOND] WHERE a.k = b.k GROUP BY a.k EVERY {} SECOND"
HOPS = "SELECT k, window_end, {}(v) AS x FROM s GROUP BY k, HOP '4 seconds' BY '1 second'"


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (SUMS, MAXIMA),
        (HOPS.format("SUM"), HOPS.format("MAX")),
        (PAIRS.format("SUM", 1, 1), PAIRS.format("MAX", 1, 1)),
        (PAIRS.format("SUM", 1, 1), PAIRS.format("MAX", 3, 1)),
        (PAIRS.format("SUM", 2, 1), PAIRS.format("MAX", 1, 1)),
    ],
)
def test_each_instance_and_instant_comes_whole_from_one_of_the_two(
    fed: Fed, first: str, second: str, restarts: bool
) -> None:
    """Ends of windows, or instants, at every second; up to the switch sums, from there on maxima, none missing and none twice."""
    fed.session.sql(f"CREATE QUERY q AS {first}")
    for _ in range(3):
        fed.batch()
    sums = fed.session.handle("q")
    fed.session.sql(f"CREATE OR REPLACE QUERY q AS {second}")
    for number in range(6):
        if restarts and number in (1, 2):
            fed.restart(f"CREATE OR REPLACE QUERY q AS {second}")
        fed.batch()
    maxima = fed.session.handle("q")
    ends = [
        sorted(e.timestamp() for e in h.results().column("window_end").to_pylist()) for h in (sums, maxima)
    ]
    assert ends[0][-1] < ends[1][0] and ends[0] + ends[1] == list(
        range(int(ends[0][0]), int(ends[1][-1]) + 1)
    ), ends
    assert len(ends[0]) >= 6 and set(maxima.results().column("x").to_pylist()) == {9}
    assert [q.name for q in fed.session.runner.plan.queries] == ["q"], (
        "what was replaced has given all and is gone"
    )
    assert fed.session.check() == Changes()


def test_what_was_replaced_goes_with_its_successor(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY q AS {HOPS.format('SUM')}; CREATE QUERY other AS {SUMS}")
    fed.batch()
    fed.session.sql(f"CREATE OR REPLACE QUERY q AS {HOPS.format('MAX')}")
    fed.batch()
    assert [q.name for q in fed.session.runner.plan.queries] == ["q", "other", "q~1"]
    fed.session.sql("CREATE OR REPLACE QUERY q AS " + HOPS.format("MIN"))
    fed.batch()
    assert {q.name for q in fed.session.runner.plan.queries} == {"other", "q", "q~1", "q~2"}
    fed.session.sql("DROP QUERY q")
    fed.batch()
    assert [q.name for q in fed.session.runner.plan.queries] == ["other"]


@pytest.mark.parametrize(
    "select",
    [
        HOPS.format("MAX"),
        PAIRS.format("MAX", 1, 1),
        "SELECT a.v FROM s a [RANGE 1 SECOND] JOIN s b [RANGE 1 SECOND] USING (k)",
    ],
)
@pytest.mark.parametrize(
    "first", [HOPS.format("SUM"), PAIRS.format("SUM", 2, 1), PAIRS.format("SUM", 2, 1) + " EMIT CHANGES"]
)
def test_plans_change_while_something_is_replaced(fed: Fed, first: str, select: str) -> None:
    fed.session.sql(f"CREATE QUERY q AS {first}; CREATE QUERY other AS {SUMS}")
    fed.batch()
    fed.batch()
    fed.session.sql(f"CREATE OR REPLACE QUERY q AS {select}; SHOW PLAN")
    fed.batch()
    fed.session.sql("SET plan.windows = 'naive'; EXPLAIN ANALYZE QUERY q; SHOW STATISTICS")
    for _ in range(4):
        fed.batch()
    assert [q.name for q in fed.session.runner.plan.queries] == ["q", "other"]
    assert fed.session.handle("other").results().num_rows == 13 and values(fed.session, "other") == {45}
