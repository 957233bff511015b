"""What of the state is still needed at some frontiers: per node the oldest slot or instance."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.landmarks import ttl_instants
from thalweg.model.attaching import FOR_EVER, kept_longer
from thalweg.model.nesting import frontier_of
from thalweg.model.query import TUMBLE, Query
from thalweg.model.running import Running
from thalweg.plan.codec import dumps
from thalweg.plan.instants import has_ended, next_instant
from thalweg.plan.nodes import Derived, Emission, Fragment, Join, Plan
from thalweg.plan.ranges import HIGHEST, LOWEST, Frontiers, base, is_drained
from thalweg.plan.shape import Shape, shapes_of

# Blocks of a window: files that lie within one of them are merged with each other, so that they expire together.
BLOCKS = 8


def needed(plan: Plan, frontiers: Frontiers) -> dict[str, int]:
    """For everything with state to keep, the oldest slot that is still needed.

    A fragment keeps open instances for its emissions, any node what open instances of its children combine, and a fragment of a join
    what a partner may still come for.
    """
    uses: dict[str, list[int]] = {}
    for node in plan.nodes:
        uses[node.id] = [*_emission_needs(plan, node, frontiers), *_child_needs(plan, node, frontiers)]
    for join in plan.joins:
        if is_running(plan, join, frontiers):
            _join_needs(plan, join, frontiers, uses)
    for emission in plan.emissions:
        query = plan.query(emission.query)
        if query.changes:
            uses.setdefault(changes_id(plan, query), []).append(_oldest_group(plan, emission, frontiers))
    return {id: min(oldest) for id, oldest in uses.items() if oldest}


def _oldest_group(plan: Plan, emission: Emission, frontiers: Frontiers) -> int:
    """The oldest instant of which groups are remembered: the last one, or where they only gain rows, that at which they last did."""
    query = plan.query(emission.query)
    following, ttl = next_instant(query, frontiers), ttl_instants(query)
    if EVALUATIONS[plan.join(emission.nodes[0]).evaluate].stands:
        return following - 1
    return LOWEST if ttl is None or following == LOWEST else following - ttl


def is_running(plan: Plan, join: Join, frontiers: Frontiers) -> bool:
    """Whether a join has results still to give."""
    return any(not has_ended(e, plan.query(e.query), frontiers) for e in plan.users(join.id))


def is_over(plan: Plan, emission: Emission, frontiers: Frontiers) -> bool:
    """Whether an emission that ends has given out all it ever will."""
    query = plan.query(emission.query)
    return (
        is_drained(emission, frontiers.get(query.stream))
        if query.windows
        else has_ended(emission, query, frontiers)
    )


def _emission_needs(plan: Plan, node: Fragment | Derived, frontiers: Frontiers) -> Iterable[int]:
    if isinstance(node, Derived):
        return
    frontier = frontiers.get(node.source)
    for emission in plan.users(node.id):
        if not is_drained(emission, frontier):
            yield LOWEST if frontier is None else node.window.closed(frontier)


def _child_needs(plan: Plan, node: Fragment | Derived, frontiers: Frontiers) -> Iterable[int]:
    for child in plan.children(node.id):
        frontier = frontiers.get(plan.fragment(child.base).source)
        yield LOWEST if frontier is None else base(child, node.window, child.window.closed(frontier))


def _join_needs(plan: Plan, join: Join, frontiers: Frontiers, uses: dict[str, list[int]]) -> None:
    shape = shapes_of(plan)[join.id]
    for number in shape.streams:
        uses[join.sides[number]].append(_oldest(shape, number, frontiers))
    keeps = EVALUATIONS[join.evaluate].keeps
    if keeps is not None:
        uses.setdefault(join.id, []).append(next_instant(join.asked, frontiers) - keeps)


def changes_id(plan: Plan, query: Query) -> str:
    """The name of what EMIT CHANGES remembers: the groups of one meaning that began together."""
    meaning = dumps(query.meaning) + str(plan.given_to(query.name)[0].born)
    return f"changes_{sha256(meaning.encode()).hexdigest()[:32]}"


def _oldest(shape: Shape, number: int, frontiers: Frontiers) -> int:
    if shape.query.every is None:
        return _oldest_row(shape, number, frontiers)
    following, span = next_instant(shape.query, frontiers), shape.span(number)
    if following > LOWEST and not EVALUATIONS[shape.join.evaluate].stands and len(shape.streams) == 1:
        return (following - 1) * shape.step
    if following == LOWEST or span is None:
        return LOWEST
    return (following - EVALUATIONS[shape.join.evaluate].back) * shape.step - span


def _oldest_row(shape: Shape, number: int, frontiers: Frontiers) -> int:
    """A row goes when every partner that may still come finds it out of its window, and so do those that wait for one."""
    given = shape.query.inputs[number]
    if shape.query.running is not None:
        return _oldest_in_order(shape.query, shape.query.running, frontiers)
    others = [shape.query.inputs[n].source for n in shape.streams if n != number]
    if not others:
        return HIGHEST
    if shape.join.invalidate != "slot":
        return LOWEST
    longer = kept_longer(shape.query, number)
    frontier = frontier_of(shape.query.streams if longer else others, frontiers)
    if frontier is None or given.length is None or longer == FOR_EVER:
        return LOWEST
    if given.kind == TUMBLE:
        return (frontier - _waited(shape, longer)) // given.length * given.length
    return frontier - given.length - longer + 1


def _waited(shape: Shape, longer: int) -> int:
    """How much older than a frontier the rows may be that still wait for partners of an instance: where all are of one, no older than it."""
    streams = [shape.query.inputs[n] for n in shape.streams]
    return longer if len({(i.kind, i.length) for i in streams}) > 1 else 0


def _oldest_in_order(query: Query, running: Running, frontiers: Frontiers) -> int:
    """The rows that are not in their place yet are kept, and those that later ones find in their RANGE."""
    frontier = frontier_of(query.streams, frontiers)
    if frontier is None:
        return LOWEST
    return frontier - (running.length if running.by_time_alone else 0)


def block_of(shape: Shape, number: int) -> int | None:
    """Slots that a file of an input's rows may span, a part of its window; None where the window has no end."""
    length = shape.query.inputs[number].length
    return None if length is None else max(1, length // shape.sides[number].slot // BLOCKS)
