"""A query that is altered goes on with what the old one computed, where it needs nothing else: no instance is lost, none begins anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from test_change_schedules import BATCHES, STREAM, rows

from thalweg.api.declaring import query_of
from thalweg.sql.statements import parse_select
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession
from thalweg.testing.reference import reference
from thalweg.testing.reference_joins import reference_join

AT = 6
SUMS = "SELECT k, window_end, SUM(v) AS x, MAX(v) AS high FROM s GROUP BY k, TUMBLE '6 seconds'"
COUNTS = "SELECT k, window_end, COUNT(*) AS n, MAX(v) AS high FROM s GROUP BY k, TUMBLE '6 seconds'"
HOPS = "SELECT k, window_id, window_end, COUNT(*) AS n FROM s GROUP BY k, WINDOWS(HOP '8 seconds' BY '2 seconds', TUMBLE '3 seconds')"
JOIN = "FROM s AS a [RANGE 8 SECONDS], r AS b [RANGE 6 SECONDS] WHERE a.k = b.k"
PAIRS = f"SELECT a.k, window_end, COUNT(*) AS n, SUM(b.v) AS x {JOIN} GROUP BY a.k EVERY 2 SECONDS"
KEPT = [
    (SUMS, "SELECT window_end, SUM(v) * 2 AS twice, k + 1 AS next FROM s GROUP BY k, TUMBLE '6 seconds'"),
    (SUMS, SUMS + " HAVING MAX(v) > 10"),
    (COUNTS, "SELECT k, window_end, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '6 seconds'"),
    (HOPS, HOPS + " HAVING COUNT(*) > 4"),
    (PAIRS, f"SELECT a.k, window_end, SUM(b.v) AS total {JOIN} GROUP BY a.k EVERY 2 SECONDS"),
    (PAIRS, PAIRS.replace(" EVERY", " HAVING COUNT(*) > 30 EVERY")),
    (SUMS, SUMS.replace("FROM s", "FROM s WHERE k > 1")),
    (
        SUMS.replace("FROM s", "FROM s WHERE k > 0 AND v > 3"),
        SUMS.replace("FROM s", "FROM s WHERE k > 1 AND k < 4 AND v > 3"),
    ),
    (HOPS, HOPS.replace("FROM s", "FROM s WHERE k IN (1, 3)") + " HAVING COUNT(*) > 2"),
    (PAIRS, PAIRS.replace("a.k = b.k", "a.k = b.k AND a.k <> 2")),
]
BEGUN_ANEW = [
    (SUMS, SUMS.replace("MAX(v)", "MIN(v)")),
    (SUMS, SUMS.replace("FROM s", "FROM s WHERE v > 5")),
    (SUMS, SUMS.replace("6 seconds", "8 seconds")),
    (SUMS.replace("FROM s", "FROM s WHERE k > 1"), SUMS.replace("FROM s", "FROM s WHERE k > 0")),
    (SUMS, SUMS.replace("FROM s", "FROM s WHERE k + v > 9")),
    (PAIRS, PAIRS.replace("a.k = b.k", "a.k = b.k AND b.k <> 2")),
    (PAIRS, PAIRS.replace("EVERY 2 SECONDS", "EVERY 2 SECONDS EMIT CHANGES")),
]


class Run:
    """A query that is altered before a batch."""

    def __init__(
        self, root: Path, old: str, new: str, settings: str = "", reopened: bool = False, later: str = ""
    ) -> None:
        self.session = LocalSession(root / "run", 2)
        self.session.sql(settings + "".join(STREAM.format(n, root) for n in "sr"))
        self.fed = [{n: rows(b, 5 * i) for i, n in enumerate("sr")} for b in range(BATCHES)]
        streams = self.session.catalog.streams
        files = {n: write_batches(root / n, streams[n], [b[n] for b in self.fed]) for n in "sr"}
        self.first = self.session.query(old, name="q")
        self.old_results = pa.table({})
        for batch in range(BATCHES):
            if batch == AT:
                self.old_results = self.first.results()
                self.frontier = min(t or 0 for t in self.session.latest_manifest().frontiers.values())
                self.session.sql(f"ALTER QUERY q AS {new}")
            if batch == AT + 1 and later:
                self.session.sql(later)
            if batch == AT + 2 and reopened:
                self.session.directory.unlock()
                self.session = LocalSession(root / "run", 3)
            self.session.batch([(n, str(paths[batch])) for n, paths in files.items()])

    def reference(self, text: str) -> Any:
        """The results of a query over all."""
        streams = self.session.catalog.streams
        query = query_of(self.session.catalog, parse_select(text), "q")
        if query.windows:
            return reference(query, streams["s"], [b["s"] for b in self.fed])
        return reference_join(query, streams, self.fed)


@pytest.mark.parametrize(("old", "new"), [KEPT[6], KEPT[8], KEPT[9]])
def test_one_that_asks_for_fewer_groups_is_planned_anew(old: str, new: str, tmp_path: Path) -> None:
    """The rows of other groups are no more lifted then, and no instance is lost."""
    run = Run(tmp_path, old, new, later="SET plan.windows = 'paper'")
    after = run.reference(new)
    moment = pa.scalar(run.frontier, pa.timestamp("us"))
    ends = after.column("window_end").cast(pa.timestamp("us"))
    compare(run.session.handle("q").results(), after.filter(pc.greater(ends, moment)))
    runs = run.session.runner.plan
    assert {f.where for f in runs.fragments} == {i.where for i in runs.query("q").inputs}
    run.session.close()


@pytest.mark.parametrize("settings", ["", "SET plan.sharing = 'off';", "SET plan.evaluate = 'expiry';"])
@pytest.mark.parametrize(("old", "new"), KEPT)
def test_what_needs_nothing_else_goes_on(old: str, new: str, settings: str, tmp_path: Path) -> None:
    run = Run(tmp_path, old, new, settings, reopened=bool(settings))
    moment = pa.scalar(run.frontier, pa.timestamp("us"))
    before, after = run.reference(old), run.reference(new)
    ends = [t.column("window_end").cast(pa.timestamp("us")) for t in (before, after)]
    compare(run.old_results, before.filter(pc.less_equal(ends[0], moment)))
    found = run.session.handle("q").results()
    compare(found, after.filter(pc.greater(ends[1], moment)))
    assert found.num_rows and not any("~" in q.name for q in run.session.runner.plan.queries)
    assert run.session.handle("q").begins == dict.fromkeys(run.first.query.streams), "as the old one"
    assert [s.what for s in run.session.changes][1] == "replaced q"
    run.session.close()


def test_a_query_that_asks_for_fewer_groups_is_explained_as_it_runs(tmp_path: Path) -> None:
    run = Run(tmp_path, *KEPT[6])
    (group,) = run.session.explain("q").data["windows"]["groups"]
    assert [s["id"] for s in group["steps"]] == [f.id for f in run.session.runner.plan.fragments]
    assert not group["where"] and '"k0" > 1' in run.session.explain("q").verbose
    run.session.close()
    run = Run(tmp_path / "joined", *KEPT[9])
    assert "having a.k <> 2" in str(run.session.explain("q"))
    run.session.close()


@pytest.mark.parametrize(("old", "new"), BEGUN_ANEW)
def test_what_needs_more_begins_after_all_rows_seen(old: str, new: str, tmp_path: Path) -> None:
    run = Run(tmp_path, old, new)
    begins = run.session.handle("q").begins
    assert begins is not None and all(t is not None for t in begins.values())
    run.session.close()
