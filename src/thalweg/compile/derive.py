"""Instances of one window to those of a longer one: by combining pieces, or as differences of running totals.

`all_F` are the instances of node F that the step may need: state and what this batch brought.
"""

from __future__ import annotations

from thalweg.compile.lifts import contiguous
from thalweg.compile.pieces import SLOT, combined, places
from thalweg.model.windows import Window
from thalweg.plan.arithmetic import floor_div
from thalweg.plan.nodes import Derived


def derive_sql(derived: Derived, source: Window, suffix: str = "") -> str:
    """Instances of a source to those of a derived node: `$low <= slot < $high` of its own."""
    if derived.how == "prefix":
        return prefix_sql(derived, source, suffix)
    keys = [*derived.keys, SLOT]
    columns = "".join(f"{c}, " for c in (*derived.keys, *(f'"{p.name}"' for p in derived.parts)))
    return (
        f"SELECT {', '.join([*keys, *combined(derived.parts)])}\nFROM ({_instances(derived, source, columns)})\n"
        f'WHERE "slot" >= $low{suffix} AND "slot" < $high{suffix} GROUP BY {places(len(keys))}'
    )


def _shift(derived: Derived, source: Window) -> tuple[int, int]:
    """Slide and offset of a window in slots of its source."""
    w = derived.window
    return w.slide // source.slide, (w.offset - source.offset) // source.slide


def prefix_sql(derived: Derived, source: Window, suffix: str = "") -> str:
    """Each instance as the difference of two running totals over the source's slots.

    Two marks per key and instance stand between slots, where it begins (-1) and where it ends (+1); one ordered pass
    over slots and marks gives the totals there. Slots are at even positions, marks at odd ones.
    """
    a, b = _shift(derived, source)
    count, table = derived.pieces.stride, f'"all_{derived.parent}"'
    names, numbers = ([f'"{prefix}{p.name}"' for p in derived.parts] for prefix in ("", "n_"))
    by, columns = "".join(f"{k}, " for k in derived.keys), "".join(f", {n}" for n in names)
    none = "".join(f", NULL AS {n}" for n in names)
    low = f"greatest($low{suffix}, {floor_div(f'(min({SLOT}) - {b + count})', a)} + 1)"
    high = f"least($high{suffix}, {floor_div(f'(max({SLOT}) - {b})', a)} + 1)"
    instances = f'SELECT unnest(range({low}, {high})) AS "m" FROM {table}'
    ends = f'(VALUES (0, -1), ({count}, 1)) AS ends("shift", "sign")'
    groups = f"(SELECT DISTINCT {', '.join(derived.keys) or '1'} FROM {table})"
    marks = f'SELECT {by}2 * ("m" * {a} + {b} + "shift") - 1, "m", "sign"{none} FROM {groups}, ({instances}), {ends}'
    rows = f'SELECT {by}2 * {SLOT} AS "at", NULL AS "m", NULL AS "sign"{columns} FROM {table}'
    over = f'OVER (PARTITION BY {", ".join(derived.keys) or "1"} ORDER BY "at" ROWS UNBOUNDED PRECEDING)'
    both = list(zip(names, numbers, strict=True))
    running = "".join(f", sum({part}) {over} AS {part}, count({part}) {over} AS {n}" for part, n in both)
    totals = f'SELECT {by}"m", "sign", count("at") FILTER (WHERE "m" IS NULL) {over} AS "n"{running}\nFROM ({rows}\nUNION ALL {marks})'
    parts = "".join(
        f', CASE WHEN sum("sign" * {n}) > 0 THEN sum("sign" * coalesce({part}, 0)) END AS {part}'
        for part, n in both
    )
    return f'SELECT {by}"m" AS "slot"{parts}\nFROM ({totals})\nWHERE "m" IS NOT NULL GROUP BY {by}"m" HAVING sum("sign" * "n") > 0'


def _instances(derived: Derived, source: Window, columns: str) -> str:
    """Each source row once per instance that it is a piece of.

    Instance m combines the source instances a*m + b + piece, so a source row at `slot` goes to (slot - b - piece) / a.
    """
    a, b = _shift(derived, source)
    table, pieces = f'"all_{derived.parent}"', derived.pieces
    count, stride = pieces.count, pieces.stride if pieces.count > 1 else 1
    position = f'("slot" - {b})' if b else SLOT
    if pieces.last is None and a % stride == 0:
        keep = f" WHERE {position} % {stride} = 0" if stride > 1 else ""
        step = f"({position} // {stride})" if stride > 1 else position
        return contiguous(table, columns, step, a // stride, count, keep)
    if pieces.last is None and stride % a == 0:
        keep = f" WHERE {position} % {a} = 0" if a > 1 else ""
        first = f"{position} // {a}" if a > 1 else position
        return f'SELECT {columns}{first} - "back" * {stride // a} AS "slot" FROM {table}, range({count}) AS back("back"){keep}'
    overlap = pieces.highest // a + 1
    if overlap <= len(pieces):
        return _by_instance(derived, a, position, overlap, columns)
    rest = f'({position} - "piece")'
    last = "" if pieces.last is None else f" UNION ALL SELECT {pieces.last}"
    every = f'(SELECT "n" * {stride} AS "piece" FROM range({count}) AS n("n"){last})'
    return f'SELECT {columns}{rest} // {a} AS "slot" FROM {table}, {every} WHERE {rest} % {a} = 0'


def _by_instance(derived: Derived, a: int, position: str, overlap: int, columns: str) -> str:
    """Each source row looks at the instances that it may lie in, of which there are fewer than pieces: mostly one."""
    pieces, table = derived.pieces, f'"all_{derived.parent}"'
    stride, nearest = pieces.stride if pieces.count > 1 else 1, floor_div(position, a)
    some, back = (f'{table}, range({overlap}) AS back("back")', ' - "back"') if overlap > 1 else (table, "")
    slot = f"{nearest}{back}"
    is_piece = f'"piece" % {stride} = 0 AND "piece" < {pieces.count * stride}'
    is_piece += "" if pieces.last is None else f' OR "piece" = {pieces.last}'
    rows = f'SELECT {columns}{slot} AS "slot", {position} - ({slot}) * {a} AS "piece" FROM {some}'
    return f'SELECT {columns}"slot" FROM ({rows}) WHERE {is_piece}'
