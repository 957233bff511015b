"""Which instants of a join a micro-batch makes final, and which of its state may be forgotten: arithmetic on frontiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from thalweg.logical.join import TUMBLE, JoinQuery
from thalweg.plan.codec import dumps
from thalweg.plan.join_sides import JoinPart, join_parts
from thalweg.plan.join_views import Shape
from thalweg.plan.nodes import Join, Plan, Side
from thalweg.plan.ranges import HIGHEST, LOWEST, Range

Frontiers = Mapping[str, int | None]
# Blocks of a window: files that lie within one of them are merged with each other, so that they expire together.
BLOCKS = 8


def shape_of(plan: Plan, join: Join) -> Shape:
    """A join of a plan with its query and sides, of which it reads the parts that it needs: other queries may have added some later."""
    query = plan.join_query(join.query)
    parts = join_parts(query)
    return Shape(query, join, tuple(_with_parts(plan.side(s), parts, n) for n, s in enumerate(join.sides)))


def _with_parts(side: Side, parts: Iterable[JoinPart], number: int) -> Side:
    return replace(side, parts=tuple({p.column.name: p.column for p in parts if p.input == number}.values()))


def frontier_of(streams: Iterable[str], frontiers: Frontiers) -> int | None:
    """The least frontier of some streams; None while one of them has none."""
    found = [frontiers.get(s) for s in streams]
    known = [f for f in found if f is not None]
    return min(known) if known and len(known) == len(found) else None


def next_instant(query: JoinQuery, frontiers: Frontiers) -> int:
    """The first instant that is not final yet.

    >>> query = JoinQuery("q", "", (), (), (), (), every=10)
    >>> next_instant(query, {})
    -2305843009213693952
    """
    frontier = frontier_of(query.streams, frontiers)
    return LOWEST if frontier is None or query.every is None else frontier // query.every + 1


def final_instants(query: JoinQuery, old: Frontiers, new: Frontiers) -> Range:
    """The instants [low, high) that become final when frontiers move from old to new."""
    return next_instant(query, old), next_instant(query, new)


def alive_instants(shape: Shape, slots: Sequence[Sequence[int]], instants: Range) -> list[int]:
    """The instants of a range at which no stream's window is empty; `slots` are those each stream input has, sorted."""
    ranges = [instants]
    for number, present in zip(shape.streams, slots, strict=True):
        ranges = _crossed(ranges, _lives(shape, number, present))
    return [i for low, high in ranges for i in range(low, high)]


def _lives(shape: Shape, number: int, slots: Sequence[int]) -> list[Range]:
    """The ranges of instants at which an input's window holds some of these slots."""
    step, span = shape.step, shape.span(number)
    if not slots:
        return []
    if span is None:
        return [(slots[0] // step + 1, HIGHEST)]
    lives: list[Range] = []
    for slot in slots:
        low, high = slot // step + 1, (slot + span) // step + 1
        if lives and low <= lives[-1][1]:
            lives[-1] = (lives[-1][0], max(high, lives[-1][1]))
        else:
            lives.append((low, high))
    return lives


def _crossed(a: Sequence[Range], b: Sequence[Range]) -> list[Range]:
    """The common part of two sorted lists of ranges."""
    found, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low < high:
            found.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return found


def is_drained(plan: Plan, join: Join, frontiers: Frontiers) -> bool:
    """Whether a join that ends at an instant has given out all it ever will."""
    return join.until is not None and next_instant(plan.join_query(join.query), frontiers) >= join.until


def needed_slots(plan: Plan, frontiers: Frontiers) -> dict[str, int]:
    """For everything that joins keep, the oldest slot that is still needed at these frontiers."""
    kept: dict[str, int] = {}
    for join in plan.joins:
        shape = shape_of(plan, join)
        if is_drained(plan, join, frontiers):
            continue
        for number in shape.streams:
            id = join.sides[number]
            kept[id] = min(kept.get(id, HIGHEST), _oldest(shape, number, frontiers))
        if join.evaluate in ("expiry", "materialize"):
            kept[join.id] = next_instant(shape.query, frontiers)
        elif join.evaluate == "delta":
            kept[join.id] = next_instant(shape.query, frontiers) - 1
        if shape.query.changes:
            kept[changes_id(shape.query)] = next_instant(shape.query, frontiers) - 1
    return kept


def changes_id(query: JoinQuery) -> str:
    """The name of what EMIT CHANGES remembers; another query under the same name remembers nothing of it."""
    meaning = dumps(replace(query, text="", into=None))
    return f"{query.name}_changes_{sha256(meaning.encode()).hexdigest()[:10]}"


def _oldest(shape: Shape, number: int, frontiers: Frontiers) -> int:
    if shape.query.every is None:
        return _oldest_row(shape, number, frontiers)
    following, span = next_instant(shape.query, frontiers), shape.span(number)
    if following == LOWEST or span is None:
        return LOWEST
    return (following - int(shape.join.evaluate == "delta")) * shape.step - span


def _oldest_row(shape: Shape, number: int, frontiers: Frontiers) -> int:
    """A row goes when every partner that may still come finds it out of its window."""
    given = shape.query.inputs[number]
    others = [shape.query.inputs[n].source for n in shape.streams if n != number]
    if not others:
        return HIGHEST
    if shape.join.invalidate != "slot":
        return LOWEST
    frontier = frontier_of(others, frontiers)
    if frontier is None or given.length is None:
        return LOWEST
    return frontier // given.length * given.length if given.kind == TUMBLE else frontier - given.length + 1


def block_of(shape: Shape, number: int) -> int | None:
    """Slots that a file of an input's rows may span, a part of its window; None where the window has no end."""
    length = shape.query.inputs[number].length
    return None if length is None else max(1, length // shape.sides[number].slot // BLOCKS)
