"""A member of a pool that another query takes the place of: each instance and instant comes whole from one of the two."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from test_mixed_workloads import Run, rows

from thalweg.testing.comparison import compare
from thalweg.testing.lifetimes import reference_of
from thalweg.testing.reference import reference
from thalweg.testing.reference_joins import reference_join

JOIN = "FROM s [RANGE 3 SECONDS], r [RANGE 3 SECONDS] WHERE s.k = r.k AND {}"
SELECTS = (
    "SELECT k, window_end, COUNT(*) AS n FROM s WHERE {} GROUP BY k, TUMBLE '2 seconds'",
    f"SELECT s.k, COUNT(*) AS n {JOIN} GROUP BY s.k EVERY 1 SECOND",
    f"SELECT s.k, s.v, r.v AS w {JOIN}",
)


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("partitions", [1, 3])
def test_a_member_is_replaced(select: str, partitions: int, tmp_path: Path) -> None:
    run, random = Run(tmp_path, partitions), Random(5)
    run.session.set("plan.sharing", "all")
    for limit in (3, 9, 15):
        run.create(
            select.format(
                f"s.v < {limit}" if "JOIN" in select or "r.v" in select or "s.k" in select else f"v < {limit}"
            )
        )
    for i in range(4):
        run.feed({n: rows(random, 2 * i, 25) for n in ("s", "r")})
    text = select.format("s.v > 11" if "s.k" in select else "v > 11")
    run.session.sql(f"CREATE OR REPLACE QUERY q1 AS {text}")
    run.made["new"] = run.session.handle("q1")
    old = run.made.pop("q1")
    for i in range(4, 9):
        run.feed({n: rows(random, 2 * i, 25) for n in ("s", "r")})
    run.feed({n: rows(random, 40, 1) for n in ("s", "r")})
    assert run.check() > 0
    streams, found = run.session.catalog.streams, old.results()
    if "window_end" not in found.column_names:
        compare(found, reference_of(old, streams, run.fed))
    else:
        asked, last = old.query, max(found.column("window_end").to_pylist())
        whole = (
            reference(asked, streams["s"], [b["s"] for b in run.fed])
            if asked.windows
            else reference_join(asked, streams, run.fed)
        )
        ends = [t.replace(tzinfo=last.tzinfo) <= last for t in whole.column("window_end").to_pylist()]
        compare(found, whole.filter(pa.array(ends)))
        first = min(run.made["new"].results().column("window_end").to_pylist())
        assert last < first, "and not one of them from both"
    run.session.close()
