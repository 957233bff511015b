"""Measures what the cost formulas call a unit of work, with statements of the form that joins run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from thalweg.engine.kernel.buckets import pack
from thalweg.engine.kernel.connection import open_connection

ROWS = 1_000_000
REPEATS = 5
Measure = Callable[[Any], float]


def measure() -> Iterator[tuple[str, float]]:
    """Each constant of JoinConstants with its nanoseconds, as it is measured."""
    with open_connection() as db:
        db.execute(f"""CREATE TABLE scan AS SELECT (hash(i) % 1000)::BIGINT AS k, (hash(i + {ROWS}) % 50)::BIGINT AS g,
            (hash(i + 7) % 100)::BIGINT AS x, i AS t FROM range({ROWS}) AS r(i)""").fetchall()
        for name, of in MEASURES.items():
            yield name, max(of(db), 0.1)


def _project(db: Any) -> float:
    return (
        _best(db, f"SELECT k AS c0, g AS c1, t // {ROWS} AS slot, x FROM scan WHERE t >= 0 AND k IS NOT NULL")
        / ROWS
    )


def _lift(db: Any) -> float:
    return (
        _best(
            db,
            "SELECT k AS c0, t // 1000000 AS slot, count(*) AS n, sum(x) AS s FROM scan WHERE t >= 0 GROUP BY 1, 2",
        )
        / ROWS
    )


def _ship(db: Any) -> float:
    table = db.sql("SELECT k AS c0, g AS c1, t AS slot, x FROM scan").to_arrow_table()

    def there_and_back() -> None:
        pa.ipc.open_stream(pack(table)).read_all()

    return 2 * _time(there_and_back) / ROWS


def _copy(db: Any) -> float:
    plain = _best(db, "SELECT count(*), sum(k) FROM scan")
    return (
        _best(
            db,
            "SELECT count(*), sum(k), max(i) FROM (SELECT *, t // 1000000 + 1 AS i FROM scan) WHERE i >= 1",
        )
        - plain
    ) / ROWS


def _group(db: Any) -> float:
    db.execute(
        "CREATE OR REPLACE TABLE sets AS SELECT k AS c0, g AS c1, t // 250000 AS slot, count(*) AS n, sum(x) AS s FROM scan GROUP BY ALL"
    )
    rows = db.execute("SELECT count(*) FROM sets").fetchall()[0][0]
    return _best(
        db, "SELECT c0, c1, slot, sum(n)::BIGINT AS n, sum(s) AS s FROM sets GROUP BY 1, 2, 3"
    ) / float(rows)


def _build(db: Any) -> float:
    half = ROWS // 2
    return _matched(db, half, half) / half - _probe(db)


def _probe(db: Any) -> float:
    return (_matched(db, 1_000, ROWS) - _matched(db, 1_000, 1_000)) / ROWS


def _matched(db: Any, one: int, other: int) -> float:
    """The smaller side is kept and the other streams past it; both have keys of the whole range, so that no range leaves any out."""
    small = f"(SELECT t * {ROWS // one} AS a, x FROM scan WHERE t < {one}) AS one"
    large = f"(SELECT t * {ROWS // other} AS b, g FROM scan WHERE t < {other}) AS two"
    return _best(db, f"SELECT count(*), sum(x + g) FROM {large}, {small} WHERE a = b")


def _pair(db: Any) -> float:
    few = 60_000
    sides = f"(SELECT k, g FROM scan WHERE t < {few}) AS one, (SELECT k AS j, x FROM scan WHERE t >= {ROWS - few}) AS two"
    return _best(db, f"SELECT g, sum(1), sum(g), sum(x) FROM {sides} WHERE k = j GROUP BY g") / (
        few * few / 1000
    )


def _weigh(db: Any) -> float:
    few = 60_000
    sets = f"(SELECT k, g, x::DECIMAL(38, 0) AS s, 2::BIGINT AS n FROM scan WHERE t < {few}) AS one"
    sides = f"{sets}, (SELECT k AS j, x FROM scan WHERE t >= {ROWS - few}) AS two"
    return _best(db, f"SELECT g, sum(1 * n), sum(s), sum(x * n) FROM {sides} WHERE k = j GROUP BY g") / (
        few * few / 1000
    ) - _pair(db)


def _compare(db: Any) -> float:
    few = 6_000
    sides = f"(SELECT k, g FROM scan WHERE t < {few}) AS one, (SELECT k AS j, x FROM scan WHERE t >= {ROWS - few}) AS two"
    return _best(db, f"SELECT count(*) FROM {sides} WHERE coalesce(k = j, FALSE)") / (few * few)


def _step(db: Any) -> float:
    table = db.sql("SELECT * FROM scan LIMIT 10").to_arrow_table()

    def steps() -> None:
        for _ in range(20):
            db.register("little", table)
            db.sql("SELECT k, g, count(*), sum(x) FROM little WHERE t >= 0 GROUP BY k, g").to_arrow_table()

    return _time(steps) / 20


def _best(db: Any, sql: str) -> float:
    """The shortest time of a statement whose result is taken as a table, in nanoseconds."""
    return _time(lambda: db.sql(sql).to_arrow_table())


def _time(act: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter_ns()
        act()
        times.append(time.perf_counter_ns() - started)
    return float(min(times))


MEASURES: dict[str, Measure] = {
    "project": _project,
    "lift": _lift,
    "ship": _ship,
    "copy": _copy,
    "group": _group,
    "build": _build,
    "probe": _probe,
    "pair": _pair,
    "weigh": _weigh,
    "compare": _compare,
    "step": _step,
}
