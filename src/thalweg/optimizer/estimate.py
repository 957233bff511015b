"""What a plan of a join is expected to cost in this engine."""

from __future__ import annotations

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.model.query import Query
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.cost.join_engine import COLUMN_BYTES, SECOND, CostedJoin, Estimate, held_of, taken
from thalweg.statistics.records import JoinStatistics


def estimate(
    query: Query, early: tuple[bool, ...], evaluate: str, method: str, statistics: JoinStatistics, constants: JoinConstants
) -> Estimate:
    """The cost of one plan of a query: taking rows in, evaluating, and the statements of each batch."""
    batch = statistics.batch / SECOND
    evaluation = EVALUATIONS[evaluate]
    held = tuple(held_of(query, n, early[n] and query.every is not None, i, batch) for n, i in enumerate(statistics.inputs))
    work, kept, pairs = evaluation.work(CostedJoin(query, method, held, constants), statistics)
    steps = evaluation.statements * constants.step / batch
    rows = sum(h.kept for h in held) + kept
    width = COLUMN_BYTES * (2 + len(query.keys) + len(query.aggregates))
    terms = (("take in", sum(taken(h, constants) for h in held)), *work, ("statements", steps))
    return Estimate(terms, rows, rows * width, pairs)
