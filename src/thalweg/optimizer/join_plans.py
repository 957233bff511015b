"""Which plans a join query has, and the cheapest of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from thalweg.compile.evaluations import EVALUATIONS, Evaluation
from thalweg.model.query import Query
from thalweg.once import cached_property
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.optimizer.cost.early_aggregation import plan_name
from thalweg.optimizer.cost.join_engine import Estimate
from thalweg.optimizer.cost.partners import Partners, partners_of
from thalweg.optimizer.cost.widths import Widths
from thalweg.optimizer.estimate import best_order, costed, estimated
from thalweg.plan.join_order import Order
from thalweg.statistics.records import JoinStatistics

BEST = "best"


@dataclass(frozen=True)
class JoinChoice:
    """One plan of a join query: which inputs are aggregated early, how results are evaluated, how and in which order partners are found."""

    early: tuple[bool, ...]
    evaluate: str
    method: str = "hash"
    invalidate: str = "slot"
    order: Order = ()

    @property
    def plain(self) -> str:
        """The plan as the papers call it, with its evaluation."""
        return f"{plan_name(self.early)} {self.evaluate}"

    @property
    def name(self) -> str:
        """The same, with how partners are found where that is not by hash."""
        return self.plain + (" by nested loops" if self.method == "loop" else "")


@dataclass(frozen=True)
class Wish:
    """What settings leave open: `best`, or the one to take."""

    early: str = BEST
    evaluate: str = BEST
    method: str = BEST
    invalidate: str = "slot"
    order: str = BEST


@dataclass(frozen=True)
class Considered:
    """A plan with what it is expected to cost."""

    choice: JoinChoice
    estimate: Estimate


def may_evaluate(query: Query, evaluate: str, early: tuple[bool, ...] | None = None) -> bool:
    """Whether a query's aggregates can be evaluated in a way, where some inputs are aggregated early: a difference needs aggregates that
    pairs can be taken out of, and sets of whole windows need sets."""
    if evaluate == BEST or query.accumulates:
        return True
    evaluation = EVALUATIONS[evaluate]
    rows = early is not None and any(i.is_stream and not e for i, e in zip(query.inputs, early, strict=True))
    return evaluation.serves(query) and not (evaluation.of_sets and rows)


def may_hash(query: Query) -> bool:
    """Whether there is anything to look up partners by."""
    return bool(query.equalities) or len(query.inputs) == 1


def choices(query: Query, wish: Wish) -> Iterator[JoinChoice]:
    """Every plan that a query has, as far as the settings leave it open."""
    methods = (
        ("hash" if query.equalities or (query.every is None and len(query.inputs) == 1) else "loop",)
        if wish.method == BEST
        else (wish.method,)
    )
    if wish.method == "hash" and not may_hash(query):
        return
    if query.every is None:
        evaluate = "rows" if query.running is None else "running"
        yield from (JoinChoice((False,) * len(query.inputs), evaluate, m, wish.invalidate) for m in methods)
        return
    bits = [(False, True) if not query.attached else (False,)] * len(query.inputs)
    for early in product(*bits):
        if wish.early not in (BEST, plan_name(early), _digits(early)):
            continue
        for evaluation in _evaluations(query, wish):
            if evaluation.serves(query) and may_evaluate(query, evaluation.name, early):
                yield from (JoinChoice(early, evaluation.name, m, wish.invalidate) for m in methods)


def _evaluations(query: Query, wish: Wish) -> Iterator[Evaluation]:
    """The evaluations that a query may have; what only gains rows has one."""
    for evaluation in EVALUATIONS.values():
        asked = evaluation.name == wish.evaluate or (wish.evaluate == BEST and not evaluation.asked_for)
        if evaluation.stands != query.accumulates and (asked or query.accumulates):
            yield evaluation


def _digits(early: tuple[bool, ...]) -> str:
    """A plan with a digit for each input also where none is aggregated early, as the paper has it too."""
    return "EAP" + "".join("01"[e] for e in early)


def fitting(found: Sequence[Considered], memory: int | None) -> tuple[Considered, ...]:
    """The plans that are expected to keep no more state than is allowed, cheapest first; where there are none, all, by the state they keep.

    A query that runs is not stopped because there is more to keep than there was: then it goes on with the plan that keeps least.
    """
    within = tuple(c for c in found if memory is None or c.estimate.state_bytes <= memory)
    return within or tuple(sorted(found, key=lambda c: c.estimate.state_bytes))


@dataclass(frozen=True)
class Plans:
    """The plans of a query, with what all of them have in common."""

    query: Query
    statistics: JoinStatistics
    wish: Wish
    constants: JoinConstants

    @cached_property
    def partners(self) -> dict[str, Partners]:
        """How rows find partners, by the method."""
        return {m: partners_of(self.query, self.statistics, m, self.constants) for m in ("hash", "loop")}

    @cached_property
    def widths(self) -> Widths:
        """What rows of state take."""
        return Widths(self.query)

    def considered(self, choice: JoinChoice) -> Considered:
        """A plan with the best order of its inputs, and what it is expected to cost."""
        partners = self.partners[choice.method]
        join = costed(self.query, choice.early, self.statistics, partners, self.widths)
        order = best_order(join, choice.evaluate, self.statistics) if self.wish.order == BEST else ()
        found = estimated(replace(join, order=order), choice.evaluate, self.statistics)
        return Considered(replace(choice, order=order), found)


def consider(
    query: Query, statistics: JoinStatistics, wish: Wish, constants: JoinConstants
) -> tuple[Considered, ...]:
    """All plans of a query, cheapest first."""
    plans = Plans(query, statistics, wish, constants)
    return tuple(sorted(map(plans.considered, choices(query, wish)), key=lambda c: c.estimate.nanos))
