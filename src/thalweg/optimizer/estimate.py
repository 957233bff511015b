"""What a plan of a join is expected to cost in this engine, and in which order its inputs are best met."""

from __future__ import annotations

from dataclasses import replace

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.model.query import Query
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin, Estimate, held_of
from thalweg.optimizer.cost.partners import Partners, partners_of
from thalweg.optimizer.cost.widths import Widths
from thalweg.plan.join_order import Meeting, Order
from thalweg.plan.nodes import is_holistic
from thalweg.statistics.records import JoinStatistics


def estimate(
    query: Query,
    early: tuple[bool, ...],
    evaluate: str,
    method: str,
    statistics: JoinStatistics,
    constants: JoinConstants,
    order: Order | None = None,
) -> Estimate:
    """The cost of one plan of a query: taking rows in, evaluating, and the statements of each batch. Without an order, by the best one."""
    join = costed(query, early, statistics, partners_of(query, statistics, method, constants))
    return estimated(
        replace(join, order=best_order(join, evaluate, statistics) if order is None else order),
        evaluate,
        statistics,
    )


def costed(
    query: Query,
    early: tuple[bool, ...],
    statistics: JoinStatistics,
    partners: Partners,
    widths: Widths | None = None,
) -> CostedJoin:
    """A join with its inputs as a plan sees them; the `widths` of their rows are the same for all plans of a query."""
    batch = statistics.batch / SECOND
    held = tuple(
        held_of(query, n, early[n] and query.every is not None, i, batch)
        for n, i in enumerate(statistics.inputs)
    )
    found = partners.evened({n: h.window for n, h in enumerate(held) if h.early})
    times = statistics.times(early)
    partners = replace(found, times=times) if times != 1.0 else found
    return CostedJoin(query, held, partners, widths or Widths(query))


def best_order(join: CostedJoin, evaluate: str, statistics: JoinStatistics) -> Order:
    """The order in which inputs are expected to find partners at the least cost; of two inputs there is nothing to say."""
    if len(join.held) < 3:
        return ()
    met = EVALUATIONS[evaluate].meetings(join, statistics)
    return tuple(Meeting(fresh, join.partners.cheapest(rows)) for fresh, rows in met.items())


def ranges_of(join: CostedJoin, statistics: JoinStatistics) -> int:
    """In how many hash ranges statements run: in one where all that is sent and kept are partial aggregates, and few."""
    streams, batch = [join.held[n] for n in join.streams], statistics.batch / SECOND
    if join.query.every is None or is_holistic(join.query) or not all(h.may_be_set for h in streams):
        return statistics.ranges
    rows = sum(h.pieces * batch + h.kept for h in streams)
    return 1 if rows <= statistics.few else statistics.ranges


def estimated(join: CostedJoin, evaluate: str, statistics: JoinStatistics) -> Estimate:
    """The cost of a join that is evaluated in some way, its inputs meeting in their order."""
    constants, batch, evaluation = join.constants, statistics.batch / SECOND, EVALUATIONS[evaluate]
    work, kept, pairs = evaluation.work(join, statistics)
    steps = evaluation.statements.of(join) * ranges_of(join, statistics) * constants.step / batch
    rows = sum(h.kept for h in join.held) + kept
    sides = sum(h.kept * join.widths.sides[n, h.early] for n, h in enumerate(join.held))
    terms = (("take in", sum(h.taken(constants) for h in join.held)), *work, ("statements", steps))
    return Estimate(terms, rows, sides + kept * evaluation.row_bytes(join.widths), pairs)
