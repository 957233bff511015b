"""SHOW CHANGES: what was done to the plan, in which batch, why, and what it brought."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from thalweg.cli.main import app
from thalweg.engine import chronicle
from thalweg.engine.faults import Aborted
from thalweg.state import switches
from thalweg.state.switches import MEASURED, Switch
from thalweg.statistics import learned
from thalweg.testing.local import LocalSession

SECOND = 1_000_000
STREAM = (
    "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at');"
)
SUMS = "SELECT k, window_end, SUM(v) AS x FROM s GROUP BY k, TUMBLE '1 second'"
PAIRS = "SELECT a.v, b.v AS w FROM s AS a [RANGE 2 SECONDS], s AS b [RANGE 1 SECOND] WHERE a.k = b.k"


class Fed:
    """A session that is fed two seconds a batch."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "in").mkdir(exist_ok=True)
        self.session = LocalSession(root / "run")
        self.session.sql(STREAM.format(root / "in"))

    def batch(self, count: int = 1) -> None:
        """Feed and run batches."""
        for _ in range(count):
            number = self.session.latest_manifest().batch + 1
            times = pa.array([(number * 2 * SECOND) + i * SECOND // 5 for i in range(10)], pa.timestamp("us"))
            path = self.root / "in" / f"{number}.parquet"
            pq.write_table(
                pa.table({"k": [i % 3 for i in range(10)], "v": list(range(10)), "at": times}), path
            )
            self.session.batch([("s", str(path))])

    @property
    def told(self) -> list[tuple[int, str]]:
        """The changes, by batch."""
        return [(s.batch, s.what) for s in self.session.changes]


@pytest.fixture
def fed(tmp_path: Path) -> Fed:
    return Fed(tmp_path)


def test_costs_are_found_out_at_leisure_unless_somebody_asks(
    fed: Fed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chronicle, "REST", 1e9)
    monkeypatch.setattr(chronicle, "LONGEST_REST", 1e6)
    for n in range(4):
        fed.session.query(SUMS.replace("1 second", f"{n + 1} seconds"), name=f"q{n}")
        fed.batch()
    assert sum(s.updates != (0.0, 0.0) for s in fed.session.changes_so_far) < 4
    assert all(s.updates != (0.0, 0.0) for s in fed.session.changes)


def test_what_was_done_and_why(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}; CREATE QUERY b INTO '{fed.root}/out' AS {SUMS}")
    fed.batch(2)
    fed.session.sql(f"CREATE QUERY c AS {PAIRS}; CREATE QUERY d AS {SUMS}")
    fed.batch()
    fed.session.sql(f"DROP QUERY d; CREATE OR REPLACE QUERY a AS {SUMS.replace('SUM', 'MAX')}")
    fed.batch()
    fed.session.sql("SET plan.windows = 'naive'")
    fed.batch()
    fed.session.replan()
    fed.batch()
    (fed.root / "out").rename(fed.root / "aside")
    (fed.root / "out").write_text("no directory")
    fed.batch(2)
    assert fed.told[:5] == [
        (0, "created a, b"),
        (2, "created c, d"),
        (3, "dropped d; replaced a"),
        (4, "set plan.windows = naive; planned a, b, c anew (settings)"),
        (5, "planned a, b, c anew (asked for)"),
    ]
    ((batch, failed),) = fed.told[5:]
    assert batch == 6 and failed.startswith(f"failed b: {fed.root}/out")


def test_plans_that_are_switched_by_statistics(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}; CREATE QUERY c AS {PAIRS}")
    fed.batch(2)
    monkeypatch.setattr("thalweg.engine.planning.worth_replanning", lambda *_: frozenset({"a"}))
    fed.batch()
    assert fed.told == [(0, "created a, c")], "found out beside the batch"
    fed.session._running._ahead._looking.settle()  # type: ignore[union-attr]
    fed.batch()
    assert fed.told == [(0, "created a, c"), (3, "planned a anew (statistics)")]


def test_what_it_brought(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}")
    fed.batch(3)
    fed.session.sql(
        f"CREATE QUERY b AS {SUMS.replace('1 second', '3 seconds').replace('k,', '')}; CREATE QUERY c AS {PAIRS}"
    )
    fed.batch(2 + MEASURED)
    first, second = fed.session.changes
    assert (
        first.before_ms is None
        and first.after_ms is not None
        and first.updates[0] == 0 < first.updates[1]
        and first.join_ms == (0, 0)
    )
    assert (
        second.before_ms is not None
        and second.after_ms is not None
        and second.before_ms > 0 < second.after_ms
    )
    assert second.updates[1] > second.updates[0] > 0 and second.join_ms[1] > second.join_ms[0] == 0
    listed = fed.session.sql("SHOW CHANGES")[0].data
    assert listed["header"] == ["batch", "at", "what", "window updates a batch", "join ms/s", "batch ms"]
    assert (
        [row[0] for row in listed["rows"]] == [0, 3]
        and " -> " in listed["rows"][1][5]
        and "?" not in listed["rows"][1][5]
    )
    fed.session.stop()
    assert LocalSession(fed.root / "run").changes == (first, second)
    said = CliRunner().invoke(app, ["status", str(fed.root / "run")]).stdout
    assert "changes: the last 2" in said and "created b, c" in said
    everything = CliRunner().invoke(app, ["status", str(fed.root / "run"), "--changes"]).stdout
    assert "join ms/s" in everything and everything.count("created") == 2


def test_a_batch_that_never_was_changed_nothing(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}")
    fed.batch()
    fed.session.sql(f"CREATE QUERY b AS {SUMS}")
    fed.session.runner.fault = "driver:before-manifest"
    with pytest.raises(Aborted):
        fed.batch()
    assert fed.told == [(0, "created a")]
    fed.session.close()
    fed.session = LocalSession(fed.root / "run")
    assert fed.told == [(0, "created a")]
    fed.session.sql("DROP QUERY b")
    fed.batch()
    assert fed.told == [(0, "created a")], "b was dropped before any batch had it"


def test_only_the_last_are_kept(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switches, "KEPT", 3)
    for number in range(5):
        fed.session.sql(f"CREATE QUERY q{number} AS {SUMS}")
        fed.batch()
    assert fed.told == [(n, f"created q{n}") for n in (2, 3, 4)]
    fed.session.stop()
    fed.session = LocalSession(fed.root / "run")
    assert fed.told == [(n, f"created q{n}") for n in (2, 3, 4)]


def test_a_damaged_note_says_nothing_and_ends_nothing(fed: Fed) -> None:
    fed.session.sql(f"CREATE QUERY a AS {SUMS}")
    fed.batch()
    fed.session.stop()
    (fed.root / "run" / switches.FILE).write_text("damaged")
    fed.session = LocalSession(fed.root / "run")
    assert fed.told == []
    fed.session.sql(f"CREATE QUERY b AS {SUMS}")
    fed.batch()
    assert fed.told == [(1, "created b")]


def test_statistics_of_queries_that_are_gone_are_few(fed: Fed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the queries that live stay, and what was learned last."""
    monkeypatch.setattr(learned, "OTHERS", 3)
    fed.session.sql(f"CREATE QUERY stays AS {SUMS}")
    counts = []
    for number in range(12):
        fed.session.sql(f"CREATE QUERY w{number} AS {SUMS.replace('FROM s', f'FROM s WHERE v > {number}')}")
        fed.session.sql(f"CREATE QUERY p{number} AS {PAIRS} AND a.v > {number}")
        fed.batch()
        fed.session.sql(f"DROP QUERY w{number}; DROP QUERY p{number}")
        seen = fed.session.latest_manifest().seen
        counts.append((len(seen.keys), len(seen.sides)))
    fed.batch()
    seen = fed.session.latest_manifest().seen
    assert max(keys for keys, _ in counts) <= 2 + 3 and max(sides for _, sides in counts) <= 2 + 3
    assert len(seen.keys) <= 1 + 3 and len(seen.sides) <= 3
    assert any(json.loads(name)[:2] == ["s", ""] for name in seen.keys), "of the query that stays"
    fed.session.stop()
    assert LocalSession(fed.root / "run").latest_manifest().seen == seen


def test_all_in_words() -> None:
    whole = Switch(1, "", ("a",), ("b",), ("c",), ("d: gone",), ("e",), "statistics", ("plan.join = hash",))
    assert (
        whole.what
        == "created a; dropped b; replaced c; failed d: gone; set plan.join = hash; planned e anew (statistics)"
    )
