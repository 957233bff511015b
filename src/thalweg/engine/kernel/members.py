"""The results of one window for many queries of a pool: folded over cells where groups have most of them, else by a join with members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.compile.windows import WindowCrew
from thalweg.engine.kernel.connection import Tables, query
from thalweg.engine.kernel.folding import Array, coded, folded
from thalweg.engine.kernel.shelf import stack
from thalweg.plan.pool import MEMBER
from thalweg.plan.ranges import Range


class Given(NamedTuple):
    """What a query of a pool is given: its number, its bit, and which instances. One that goes from one plan to another may be there
    twice."""

    number: int
    bit: int
    instances: Range


def shared_results(crew: WindowCrew, tables: Tables, given: Sequence[Given]) -> pa.Table:
    """The rows of all queries, each with the number of its query."""
    rows = _rows(crew, tables, min(g.instances[0] for g in given), max(g.instances[1] for g in given))
    found = folded(rows, (*crew.keys, "slot"), crew.words, crew.folds, lambda sets: taken(crew, sets, given))
    if found is not None:
        tables.offer("folded", _in_time(found, given))
        return query(crew.folded_sql)
    sets = coded(rows, crew.words).values if rows.num_rows else rows.select(list(crew.words))
    tables.offer("members", members_of(sets, taken(crew, sets, given), given))
    return query(crew.sql)


def _rows(crew: WindowCrew, tables: Tables, low: int, high: int) -> pa.Table:
    """The instances that are given to somebody; a part that an input does not give is NULL there."""
    names = [list(dict.fromkeys((*crew.keys, *crew.words, "slot", *parts))) for parts in crew.given]
    whole = stack([tables.held[i].select(some) for i, some in zip(crew.inputs, names, strict=True)])
    slots = whole.column("slot")
    inside = pc.and_(pc.greater_equal(slots, low), pc.less(slots, high))
    return whole if pc.all(inside).as_py() is not False else whole.filter(inside)


def taken(crew: WindowCrew, sets: pa.Table, given: Sequence[Given]) -> Array:
    """Who takes which query-sets or cells."""
    words = (
        np.stack([c.to_numpy() for c in sets.columns])
        if crew.cells is None
        else crew.cells.takers(sets.column(0))
    )
    bits = np.array([g.bit for g in given])
    masks = np.left_shift(np.uint64(1), (bits % 64).astype(np.uint64))
    found: Array = words[bits // 64] & masks[:, None] != 0
    return found


def members_of(sets: pa.Table, takes: Array, given: Sequence[Given]) -> pa.Table:
    """For each query-set or cell that there is the members in it, by number, and the instances that each is given."""
    member, place = np.nonzero(takes)
    columns = dict(zip(sets.column_names, sets.take(pa.array(place)).columns, strict=True))
    numbers, low, high = (
        np.array(v, np.int64)[member] for v in zip(*((g.number, *g.instances) for g in given), strict=True)
    )
    return pa.table({**columns, "member": numbers.astype(np.int32), "low": low, "high": high})


def _in_time(found: pa.Table, given: Sequence[Given]) -> pa.Table:
    """What is folded, of the instances that each member is given, with its number."""
    member, slots = found.column("given").to_numpy(), found.column("slot").to_numpy()
    numbers, low, high = (
        np.array(v, np.int64) for v in zip(*((g.number, *g.instances) for g in given), strict=True)
    )
    inside = (slots >= low[member]) & (slots < high[member])
    whole = found.drop_columns(["given"]).append_column(MEMBER, pa.array(numbers[member].astype(np.int32)))
    return whole if inside.all() else whole.filter(pa.array(inside))
