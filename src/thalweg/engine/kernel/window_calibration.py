"""Measures what the cost formulas of windows call a unit of work, with statements and files of the form that windows take."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.engine.kernel.buckets import pack
from thalweg.engine.kernel.connection import open_connection
from thalweg.state.compaction import to_merge
from thalweg.state.files import read_state, write_state
from thalweg.state.manifest import StateFile

ROWS, KEYS, REPEATS = 500_000, 1_000, 3
LATTICES = 10
BATCHES, LENGTH, KEPT = 48, 12, 4_000
"""Batches that are kept, how many of them a window is long, and the rows of each."""


def measure_windows() -> Iterator[tuple[str, float]]:
    """The measured fields of Constants, each in nanoseconds. What is kept is measured over many batches, of which a window spans several."""
    with open_connection() as db:
        db.execute(f"""CREATE TABLE scan AS SELECT (hash(i) % {KEYS})::BIGINT AS k, (hash(i + 7) % 100)::DOUBLE AS x, i AS t
            FROM range({ROWS}) AS r(i)""").fetchall()
        db.execute(
            "CREATE TABLE sets AS SELECT k AS c0, t // 2000 AS slot, min(x) AS m FROM scan GROUP BY ALL"
        ).fetchall()
        sets = float(db.execute("SELECT count(*) FROM sets").fetchall()[0][0])
        found = {name: max(of(db, sets), 0.1) for name, of in MEASURES.items()}
        yield from found.items()
        yield from _kept(db, found["combine"])


def _row(db: Any, sets: float) -> float:
    return _best(db, _lift("t // 50000")) / ROWS


def _lift(slot: str) -> str:
    return f"SELECT k AS c0, {slot} AS slot, min(x) AS m FROM scan WHERE t >= 0 GROUP BY 1, 2"


def _edge(db: Any, sets: float) -> float:
    back = ", ".join(f"(t + {n}) % {50_000 + n}" for n in range(LATTICES))
    return (
        (_best(db, _lift(f"(t - least({back})) // 50000")) - _best(db, _lift("t // 50000"))) / ROWS / LATTICES
    )


def _combine(db: Any, sets: float) -> float:
    return (
        _best(db, "SELECT c0, slot // 6 AS slot, min(m) AS m FROM sets WHERE slot >= 0 GROUP BY 1, 2") / sets
    )


def _total(db: Any, sets: float) -> float:
    over = "(PARTITION BY c0 ORDER BY slot ROWS UNBOUNDED PRECEDING)"
    return _best(db, f"SELECT c0, slot, sum(m) OVER {over} AS m, count(m) OVER {over} AS n FROM sets") / sets


def _exchange(db: Any, sets: float) -> float:
    table = db.sql("SELECT *, CAST(((hash(c0) >> 32) * 2) >> 32 AS INTEGER) AS p FROM sets").to_arrow_table()

    def sent() -> None:
        for p in range(2):
            pa.ipc.open_stream(pack(table.filter(pc.equal(table.column("p"), p)))).read_all()

    return _time(sent) / sets


def _value(db: Any, sets: float) -> float:
    db.execute(
        "CREATE OR REPLACE TABLE lists AS SELECT k AS c0, t // 20000 AS slot, list(x) AS m FROM scan GROUP BY ALL"
    )
    return _best(db, "SELECT c0, slot // 6 AS slot, flatten(list(m)) AS m FROM lists GROUP BY 1, 2") / ROWS


def _step(db: Any, sets: float) -> float:
    table = db.sql("SELECT * FROM sets LIMIT 10").to_arrow_table()

    def steps() -> None:
        for _ in range(20):
            db.register("little", table)
            db.sql(
                "SELECT c0, slot // 6 AS slot, min(m) AS m FROM little WHERE slot >= 0 GROUP BY 1, 2"
            ).to_arrow_table()

    return _time(steps) / 20


def _kept(db: Any, combine: float) -> Iterator[tuple[str, float]]:
    """What it takes to have a window's instances at hand from batch to batch: of few rows, and what each row adds but for combining it."""
    few, many = _time(partial(_batches, db, 1)), _time(partial(_batches, db, KEPT))
    yield "opened", few / BATCHES
    batches_kept = BATCHES * (LENGTH + 1) / 2
    yield "state", max((many - few - BATCHES * KEPT * combine) / (batches_kept * KEPT), 0.01)


def _batches(db: Any, rows: int) -> None:
    """Batches that each keep so many rows; as many as a window is long are read, combined, and forgotten when it ends."""
    table = db.sql(f"SELECT c0, slot, m FROM sets LIMIT {rows}").to_arrow_table()
    with TemporaryDirectory() as root:
        files: list[StateFile] = []
        for batch in range(BATCHES):
            files.append(write_state(root, "kept", table, batch, 0, 1))
            if some := to_merge(files):
                whole = pa.concat_tables([read_state(root, f) for f in some])
                files = [f for f in files if f not in some]
                files.append(write_state(root, "kept", whole, batch, 0, 1))
            if (batch + 1) % LENGTH == 0:
                db.register("whole", pa.concat_tables([read_state(root, f) for f in files]))
                db.sql("SELECT c0, slot // 6 AS slot, min(m) AS m FROM whole GROUP BY 1, 2").to_arrow_table()
                files = []
        db.unregister("whole")


def _best(db: Any, sql: str) -> float:
    """The least processor time of a statement whose result is taken as a table, in nanoseconds."""
    return _time(lambda: db.sql(sql).to_arrow_table())


def _time(act: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.process_time_ns()
        act()
        times.append(time.process_time_ns() - started)
    return float(min(times))


Measure = Callable[[Any, float], float]
MEASURES: dict[str, Measure] = {
    "row": _row,
    "combine": _combine,
    "total": _total,
    "exchange": _exchange,
    "value": _value,
    "step": _step,
    "edge": _edge,
}
