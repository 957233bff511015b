"""ROLLUP, CUBE and GROUPING SETS in windows: the same as DuckDB makes of all rows, in any split into batches and over restarts."""

from __future__ import annotations

from datetime import datetime
from random import Random

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, rows

THIRD = "v % 3"
SETS = (
    "ROLLUP(k, v % 3)", "CUBE(k, v % 3)", "GROUPING SETS ((k, v % 3), (k), ())", "GROUPING SETS (v % 3, (), ())",
    "k, ROLLUP(v % 3)", "CUBE(k), ROLLUP(v % 3)", "GROUPING SETS (ROLLUP(k, v % 3), (v % 3))", "ROLLUP((k, v % 3))", "ROLLUP(k)",
)  # fmt: skip
HAVING = ("", "HAVING COUNT(*) > 1", "HAVING COALESCE(MAX(v), 1) < 20")


class OneStream(Run):
    """A session over one stream."""

    names = ("s",)


def text(sets: str, having: str, window: str, end: str) -> str:
    """A SELECT of some sets of keys, which are shown; of all that may be left out it is told whether they are."""
    keys = [key for key in ("k", THIRD) if key in sets]
    shown = [f"{key} AS x{n}" for n, key in enumerate(keys)]
    shown += [f"GROUPING({key}) AS g{n}" for n, key in enumerate(keys) if not sets.startswith(f"{key},")]
    shown += ["COUNT(*) AS n", "SUM(k) AS total", "MAX(v) AS high", f"{end} AS ends"]
    return f"SELECT {', '.join(shown)} FROM s GROUP BY {sets}, {window} {having}"


@given(
    sets=hs.sampled_from(SETS),
    having=hs.sampled_from(HAVING),
    seed=hs.integers(0, 10**6),
    restarts=hs.sets(hs.integers(0, 4)),
    inner=hs.booleans(),
)
def test_sets_of_keys_equal_those_of_all_rows(
    sets: str,
    having: str,
    seed: int,
    restarts: set[int],
    inner: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root, random = tmp_path_factory.mktemp("sets"), Random(seed)
    batches = [rows(random, 2 * i, 20) for i in range(5)]
    asked = text(sets, having, "TUMBLE '2 seconds'", "window_end")
    if inner:
        asked = f"SELECT q.*, q.n + 1 AS more FROM ({asked}) AS q WHERE q.n > 0"
    run = OneStream(root, 2)
    run.create(asked)
    for n, batch in enumerate(batches):
        if n and n in restarts:
            run.restart(1 + n % 3)
        run.feed({"s": batch})
    found = [tuple(row.values()) for row in run.made["q0"].results().to_pylist()]
    run.session.close()
    whole = pa.concat_tables(batches)
    frontier = max(t.value for t in whole.column("at")) - 1_000_000
    with duckdb.connect() as connection:
        connection.register("s", whole)
        end = "time_bucket(INTERVAL '2 seconds', \"at\") + INTERVAL '2 seconds'"
        defined = (
            text(sets, having, "ends", end)
            .replace(THIRD, "m")
            .replace("FROM s", f"FROM (SELECT *, {THIRD} AS m FROM s)")
        )
        more = ", n + 1 AS more" if inner else ""
        expected = connection.execute(
            f"SELECT *{more} FROM ({defined}) WHERE epoch_us(ends) <= {frontier}"
        ).fetchall()
    assert _sorted(found) == _sorted(expected)


def _sorted(found: list[tuple[object, ...]]) -> list[str]:
    bare = (tuple(v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row) for row in found)
    return sorted(map(repr, bare))
