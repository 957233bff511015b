"""Windows whose results are told while they are open: rows go into all instances that have them, each a group of its own.

An instance is two columns: "w", the number of its window among those of the query, and "m", its first microsecond.
"""

from __future__ import annotations

from collections.abc import Iterable

from thalweg.compile.views import (
    AS_SAID,
    ONE_EACH,
    PAIRS,
    exposed,
    first_instant,
    grouped,
    key_columns,
    weighed_parts,
)
from thalweg.expr.quoting import quoted
from thalweg.model.query import Query
from thalweg.model.windows import Window
from thalweg.plan.arithmetic import floor_div
from thalweg.plan.ranges import Range
from thalweg.plan.shape import Shape

INSTANCE = ('"w"', '"m"')


def entering_sql(shape: Shape, slots: Range) -> str:
    """What enters instances in some slots, by keys, instance and the first instant "i" after it."""
    rows = (
        f'SELECT {", ".join(exposed(shape, 0, "slot"))}\nFROM "side_{shape.sides[0].id}"\n'
        f'WHERE {shape.visible(0)} AND "slot" >= {slots[0]} AND "slot" < {slots[1]}'
    )
    columns = ", ".join([*key_columns(shape), '"0.slot" AS "slot"', *weighed_parts(shape)])
    by_slot = grouped(shape, ['"slot"'], f"SELECT {columns} FROM ({rows})", ONE_EACH)
    into = [_into(shape, n, w.window) for n, w in enumerate(shape.query.told)]
    timed = f'SELECT *, {first_instant(_SLOT, shape.step)} AS "i" FROM ({" UNION ALL ".join(into)})'
    return f'WITH "by_slot" AS MATERIALIZED ({by_slot})\n{grouped(shape, [_I, *INSTANCE], timed, AS_SAID)}'


_SLOT, _I = '"slot"', '"i"'


def _into(shape: Shape, number: int, window: Window) -> str:
    """Partial results by slot, once for each instance of a window that has it; how many rows they are is said by one of all."""
    at = f'("slot" * {shape.slot})'
    last = f"({floor_div(f'({at} - {window.offset})', window.slide)}) * {window.slide} + {window.offset}"
    start = f'{last} - "back" * {window.slide}'
    overlap = -(-window.range // window.slide)
    pairs = "0" if number else f'CASE WHEN "back" = 0 THEN "{PAIRS}" ELSE 0 END'
    rows = f'SELECT * REPLACE ({pairs} AS "{PAIRS}"), {number} AS "w", {start} AS "m" FROM "by_slot", range({overlap}) AS back("back")'
    begin = shape.join.begins[0]
    whole = "" if begin is None else f' AND "m" >= {begin}'
    return f'SELECT * EXCLUDE ("back") FROM ({rows}) WHERE {at} < "m" + {window.range}{whole}'


def with_window(query: Query, source: str) -> str:
    """Groups with the columns of their window, where they are of one."""
    if not query.told:
        return source
    windows = [w.window.range for w in query.told]
    columns = [
        f'{_by_window(quoted(w.id) for w in query.told)} AS "window_id"',
        'make_timestamp("m") AS "window_start"',
        f'make_timestamp("m" + {_by_window(map(str, windows))}) AS "window_end"',
    ]
    return f"(SELECT *, {', '.join(columns)} FROM {source})"


def _by_window(values: Iterable[str]) -> str:
    """A value for each window, by the number of the window."""
    found = list(values)
    if len(found) == 1:
        return found[0]
    return f"CASE {INSTANCE[0]} {' '.join(f'WHEN {n} THEN {v}' for n, v in enumerate(found))} END"
