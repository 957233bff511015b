"""Single rows as joins of rows see them: what finds partners, and which of them are in each other's windows."""

from __future__ import annotations

from thalweg.compile.inputs import ALL, NEW, Sizes, rows_of
from thalweg.compile.join_tree import Clause, View
from thalweg.compile.views import narrow, set_of
from thalweg.model.query import RANGE, TUMBLE
from thalweg.plan.arithmetic import floor_div
from thalweg.plan.shape import Shape


def row_view(shape: Shape, number: int, which: str, sizes: Sizes, marked: bool) -> View:
    """What rows are found by, and their numbers; what is shown of them is taken later."""
    side, bounds = shape.sides[number], [shape.visible(number)]
    columns = [*narrow(shape, number), f'"__row" AS "{number}.row"']
    if not side.static:
        columns += [f'"slot" AS "{number}.slot"', *([f'"__new" AS "{number}.new"'] if marked else [])]
        bounds += [] if which == ALL else ['"__new"'] if which == NEW else ['NOT "__new"']
    bounds += [f"{set_of(shape)} <> 0"] if side.common else []
    wanted = " AND ".join(b for b in bounds if b != "TRUE")
    sql = f'SELECT {", ".join(columns)} FROM "side_{side.id}"{f" WHERE {wanted}" if wanted else ""}'
    return View(sql, rows_of(sizes, side, which))


def together(shape: Shape) -> list[Clause]:
    """No row may have left its window when the last one comes."""
    inputs, streams = shape.query.inputs, shape.streams
    ranges = [(n, other) for n in streams if inputs[n].kind == RANGE for other in streams if other != n]
    return _tumbling(shape) + [
        Clause(f'"{other}.slot" - "{n}.slot" < {inputs[n].length}', frozenset((n, other)))
        for n, other in ranges
    ]


def _tumbling(shape: Shape) -> list[Clause]:
    """Rows in one instance of windows of one length; none of another stream after the instance of a row."""
    inputs, found = shape.query.inputs, []
    tumbling = {n: inputs[n].length or 1 for n in shape.streams if inputs[n].kind == TUMBLE}
    for n, length in tumbling.items():
        for other in shape.streams:
            mine, others = (floor_div(f'"{i}.slot"', length) for i in (n, other))
            both = frozenset((n, other))
            if tumbling.get(other) != length:
                found.append(Clause(f"{others} <= {mine}", both))
            elif n < other:
                found.append(Clause(f"{mine} = {others}", both, same=f"window {length}"))
    return found
