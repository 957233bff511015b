"""Groups of what other groups show as it changes: created, dropped and restarted in any split, and beside what DuckDB says at every instant."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import SECOND, Run, live_through, rows, usual

FORMS: dict[str, tuple[int, int, int]] = {
    "SELECT c, AVG(final) AS mean, COUNT(*) AS n, SUM(final) AS total"
    " FROM (SELECT s.k, s.v % 3 AS c, MAX(r.v) AS final FROM {s} AS s, {r} AS r WHERE s.k = r.k AND r.v < 2 * s.v"
    " GROUP BY s.k, s.v{inner}) GROUP BY c{outer}": (1, 1, 1),
    "SELECT n, COUNT(*) AS groups FROM (SELECT k, COUNT(*) AS n FROM {s} GROUP BY k{inner}) GROUP BY n{outer}": (
        2,
        1,
        1,
    ),
    "SELECT COUNT(*) AS n, SUM(n) FILTER (WHERE k > 1) AS total, COUNT(k) AS keys FROM (SELECT k, SUM(v) AS n FROM {s} WHERE v > 9"
    " GROUP BY k HAVING SUM(v) % 3 <> 0{inner}) AS x WHERE n < 90{outer}": (1, 3, 0),
    "WITH x AS (SELECT k + 1 AS l, n * 2 AS m FROM (SELECT k, COUNT(*) AS n FROM {s} GROUP BY k{inner}) AS y WHERE n > 2)"
    " SELECT l % 2 AS odd, SUM(m) AS total FROM x WHERE m < 40 GROUP BY l % 2 HAVING COUNT(*) > 1{outer}": (
        1,
        1,
        1,
    ),
    "SELECT m % 2 AS odd, COUNT(*) AS n, AVG(c) AS mean FROM (SELECT n AS m, COUNT(*) AS c FROM"
    " (SELECT v, COUNT(*) AS n FROM {r} GROUP BY v{inner}) GROUP BY n{inner}) GROUP BY m % 2{outer}": (
        1,
        1,
        1,
    ),
    "SELECT v % 5 AS g, COUNT(*) AS n, SUM(CAST(v AS DECIMAL(9,2))) AS total FROM"
    " (SELECT k, v FROM {s} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) <= 3{inner}) GROUP BY v % 5{outer}": (
        1,
        2,
        1,
    ),
}
"""Queries with how far their inner and outer instants are apart in seconds, and how many keys they have."""


def asked(form: str) -> str:
    """A query as it is created."""
    inner, outer, _ = FORMS[form]
    return form.format(s="s", r="r", inner=f" EVERY {inner} SECONDS", outer=f" EVERY {outer} SECONDS")


def change(draw: Any, run: Run) -> None:
    """Something that a user does between two batches."""
    match what := draw(hs.sampled_from(["", "create", "create", "drop", "plan", "sharing", "restart"])):
        case "create" if len(run.live) < 4:
            run.create(asked(draw(hs.sampled_from(sorted(FORMS)))))
        case _:
            usual(draw, run, what)


@given(data=hs.data(), seed=hs.integers(0, 10**6))
def test_whoever_comes_and_goes(
    data: hs.DataObject, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run(tmp_path_factory.mktemp("changes"), data.draw(hs.sampled_from([1, 2, 3])))
    run.create(asked(data.draw(hs.sampled_from(sorted(FORMS)))))
    live_through(data.draw, run, change, seed)


def present(db: duckdb.DuckDBPyConnection, form: str, at: int) -> dict[Any, tuple[Any, ...]]:
    """What a query shows at an instant, by its keys: of the rows from before the last instant of what it reads."""
    inner, _, keys = FORMS[form]
    until = at // (inner * SECOND) * inner * SECOND
    views = {n: f"(SELECT * FROM {n}_rows WHERE epoch_us(moment) < {until})" for n in "sr"}
    found = db.execute(form.format(**views, inner="", outer="")).fetchall()
    shown = [row for row in found if keys or row[0]]  # without GROUP BY nothing is shown of no rows
    return {row[:keys]: row for row in shown}


def changes(db: duckdb.DuckDBPyConnection, form: str, until: int) -> Counter[tuple[Any, ...]]:
    """All that is told up to an instant: what is shown and was not, or differs, and what is shown no more."""
    _, outer, keys = FORMS[form]
    told, before = Counter[tuple[Any, ...]](), dict[Any, tuple[Any, ...]]()
    for at in range(outer * SECOND, until + 1, outer * SECOND):
        now = present(db, form, at)
        told.update(
            (*rounded(row), at, False) for key, row in now.items() if rounded(before.get(key)) != rounded(row)
        )
        told.update(
            (*key, *(None for _ in row[keys:]), at, True) for key, row in before.items() if key not in now
        )
        before = now
    return told


def rounded(row: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """A row with numbers that don't depend on how they were added up."""
    return () if row is None else tuple(v if v is None else round(float(v), 9) for v in row)


@pytest.mark.parametrize("form", sorted(FORMS))
def test_it_is_what_duckdb_says_at_every_instant(form: str, tmp_path: Path) -> None:
    run, random = Run(tmp_path, 2), Random(7)
    handle = run.session.query(asked(form), name="q")
    for i in range(6):
        run.feed({n: rows(random, 2 * i, 12) for n in ("s", "r")})
    results = handle.results()
    columns = [
        results.column(n).to_pylist() for n in results.column_names if n not in ("window_end", "deleted")
    ]
    ends = results.column("window_end").cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    found = Counter(
        (*rounded(tuple(values)), end, gone)
        for *values, end, gone in zip(*columns, ends, results.column("deleted").to_pylist(), strict=True)
    )
    with duckdb.connect() as db:
        tops = []
        for name in ("s", "r"):
            whole = pa.concat_tables([b[name] for b in run.fed]).rename_columns(["k", "v", "moment"])
            db.register("whole", whole)
            db.execute(f"CREATE TABLE {name}_rows AS SELECT * FROM whole")
            if f"{{{name}}}" in form:
                tops.append(max(whole.column("moment").cast(pa.int64()).to_pylist()) - SECOND)
        expected = changes(db, form, min(tops))
    assert len(expected) > 2
    assert {(*rounded(e[:-2]), *e[-2:]): n for e, n in expected.items()} == found
    run.session.close()
