"""What a Python function costs a row, beside the same expression of SQL: processor time of statements as tasks run them, in turns."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.engine.functions.packing import packed
from thalweg.engine.kernel.connection import keep, run
from thalweg.engine.kernel.functions import offer
from thalweg.expr.python import known_as

ROWS, TURNS = 4_000_000, 5


def told(v: Any, t: Any) -> Any:
    """A function of two columns."""
    return pc.add(v, pc.utf8_length(t))


FUNCTIONS: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "twice": (lambda v: pc.multiply(v, 2), ("BIGINT",)),
    "told": (told, ("BIGINT", "VARCHAR")),
}
PAIRS = {
    "one BIGINT": ("v * 2", '"{twice}"(v)'),
    "BIGINT and STRING": ("v + length(t)", '"{told}"(v, t)'),
}


def main() -> None:
    """Print a line for each pair."""
    with tempfile.TemporaryDirectory() as folder:
        names = {name: _offered(name, Path(folder)) for name in FUNCTIONS}
        offer(dict(names.values()), Path(folder))
        v = pa.array(range(ROWS))
        keep("rows", pa.table({"v": v, "t": pc.binary_join_element_wise("t", v.cast("string"), "")}))
        for what, (plain, python) in PAIRS.items():
            called = python.format(**{n: known for n, (known, _) in names.items()})
            best = {sql: min(_seconds(sql) for _ in range(TURNS)) for sql in (plain, called)}
            costs = [1e9 * best[sql] / ROWS for sql in (plain, called)]
            print(f"{what}: SQL {costs[0]:.1f} ns a row, Python {costs[1]:.1f}")


def _offered(name: str, folder: Path) -> tuple[str, str]:
    function, data = packed(name, *FUNCTIONS[name], "BIGINT")
    (folder / function.digest).write_bytes(data)
    return known_as(name, function.digest), function.digest


def _seconds(sql: str) -> float:
    started = time.process_time()
    run(f"SELECT sum({sql}) FROM rows")
    return time.process_time() - started


if __name__ == "__main__":
    main()
