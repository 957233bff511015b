"""Partial aggregates of a batch to those by fewer columns, before the exchange, in the place of the rows that they were made of."""

from __future__ import annotations

from thalweg.compile.lifts import contiguous
from thalweg.compile.pieces import SLOT, combined, places
from thalweg.expr.quoting import identifier
from thalweg.plan.nodes import Fragment


def rolls_up(fine: Fragment, coarse: Fragment) -> bool:
    """Whether the partial aggregates of one fragment have all that another one needs of the same rows: by fewer of its columns, of instances
    that are made of its own.

    A row is in one instance of a tumbling window alone, so nothing counts twice; instances of the same window are taken as they are.
    """
    return (
        all(
            f.early and not (f.static or f.window.session or f.pool or f.required or f.timed)
            for f in (fine, coarse)
        )
        and (fine.source, frozenset(fine.where), fine.begin, fine.owner)
        == (coarse.source, frozenset(coarse.where), coarse.begin, coarse.owner)
        and {c.sql for c in coarse.columns} < {c.sql for c in fine.columns}
        and {p.name for p in coarse.parts} <= {p.name for p in fine.parts}
        and _covers(fine, coarse)
    )


def _covers(fine: Fragment, coarse: Fragment) -> bool:
    small, large = fine.window, coarse.window
    if small == large:
        return True
    return small.tumbling and all(
        n % small.slide == 0 for n in (large.range, large.slide, large.offset - small.offset)
    )


def rolled_table(fine: str) -> str:
    """The name under which the partial aggregates of a batch are at hand."""
    return f"made_{fine}"


def roll_up_sql(fine: Fragment, coarse: Fragment) -> str:
    """What was made of the rows for one fragment to what is made of them for another."""
    table = identifier(rolled_table(fine.id))
    own = {c.sql: f'"c{n}"' for n, c in enumerate(fine.columns)}
    keys = [f'{own[c.sql]} AS "c{n}"' for n, c in enumerate(coarse.columns)]
    small, large = fine.window, coarse.window
    if small != large:
        shift = (large.offset - small.offset) // small.slide
        position = f"({SLOT} - {shift})" if shift else SLOT
        others = f"{table}.* EXCLUDE ({SLOT}), "
        steps = large.slide // small.slide, large.range // small.slide
        table = f"({contiguous(table, others, position, *steps, '')})"
    picked = ", ".join([*keys, SLOT, *combined(coarse.parts)])
    return f"SELECT {picked}\nFROM {table}\nGROUP BY {places(len(keys) + 1)}"
