"""The SQL of a join's steps after its sides: the evaluation, then what makes results of partial ones."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.explain.join_model import SqlStep
from thalweg.plan import join_sql
from thalweg.plan.join_results import changes_sql, final_sql, groups_sql
from thalweg.plan.join_views import Shape


def join_steps(shape: Shape) -> tuple[SqlStep, ...]:
    """The statements in the order in which they run; an evaluation's as for some example instants."""
    if shape.query.every is None:
        return (SqlStep("rows", join_sql.rows_sql(shape, shape.streams, {})),)
    return (*_evaluation(shape), *_finish(shape))


def example_instants(shape: Shape) -> tuple[int, int] | None:
    """As many instants [0, n) as a window is long, so that the SQL is that of a busy stream; none where rows are the result."""
    if shape.query.every is None:
        return None
    spans = [s for n in shape.streams if (s := shape.span(n)) is not None]
    return 0, max(1, -(-max(spans, default=1) // shape.step))


def _evaluation(shape: Shape) -> Iterator[SqlStep]:
    instants = example_instants(shape) or (0, 1)
    expand = any(shape.span(n) is not None for n in shape.streams)
    if shape.join.evaluate == "snapshot":
        yield SqlStep("join the windows", join_sql.snapshot_sql(shape, instants, expand, {}))
    elif shape.join.evaluate == "delta":
        yield SqlStep("changes", join_sql.delta_sql(shape, instants, expand, {}))
        yield SqlStep("totals", join_sql.totals_sql(shape, ["changes", "base"]))
        yield SqlStep("standing totals", join_sql.standing_sql(shape))
        yield SqlStep("keep totals", join_sql.last_totals_sql(shape, instants[1] - 1))
    else:
        yield from _lives(shape, instants)


def _lives(shape: Shape, instants: tuple[int, int]) -> Iterator[SqlStep]:
    """Pairs, or their partial results, from their birth to their death."""
    pairs = shape.join.evaluate == "materialize"
    slots = ((instants[0] - 1) * shape.step, (instants[1] - 1) * shape.step)
    unknown: join_sql.Sizes = {}
    given = shape, slots, instants[0], shape.streams, unknown
    yield SqlStep("born", join_sql.pairs_sql(*given) if pairs else join_sql.born_sql(*given, instants))
    yield SqlStep("alive", join_sql.alive_sql(shape, instants, ["alive"] if pairs else ["born", "alive"]))
    yield SqlStep("keep the living", join_sql.remaining_sql(shape, instants[1] - 1))


def _finish(shape: Shape) -> Iterator[SqlStep]:
    """Partial results of all partitions to groups, then to results or to what changed."""
    yield SqlStep("groups", groups_sql(shape, '"partial"'))
    if shape.query.changes:
        following = (example_instants(shape) or (0, 1))[1]
        yield SqlStep("changed groups", changes_sql(shape.query, ["last", "now"], following))
    else:
        yield SqlStep("results", final_sql(shape.query, '"groups"'))
