"""What the modes cost, and what speaks for the plan in force."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from thalweg.explain.model import ModeCosts, WindowGroup
from thalweg.explain.words import WIDTH, counted, joined, listed, number, ratio, scientific
from thalweg.optimizer.plan_windows import COSTED, MODES


def cost_lines(view: WindowGroup, mode: str, papers: bool = False) -> Iterator[str]:
    """A table of the modes by the engine's cost, and by the paper's if wanted, then the reasons; one line where there is no choice."""
    c, chosen = view.costs, in_force(view.costs, mode)
    if no_choice(c):
        yield only_cost(c, papers)
        return
    paper = f"{f'paper, R = {period_text(c)}':>34}{'of naive':>10}" if papers else ""
    yield f"{'costs':<10}{'engine':>10}{'of naive':>10}{paper}"
    for m in MODES:
        paper = _paper(c.made[m], c) if papers else ""
        yield f"{m:<10}{_engine(c.engine[m], c)}{paper}{'   in force' if m == chosen else ''}"
    if chosen is None:
        yield f"{'in force':<10}{_engine(c.current, c)}{_paper(c.current_made, c) if papers else ''}"
    yield from wrap(reason(view, chosen), WIDTH - 2)
    if papers:
        yield from wrap(_rated(view), WIDTH - 2)
    if papers and c.factors:
        windows = listed([f"<{r:,}, {s:,}>" for r, s in c.factors], WIDTH - 45)
        yield f"the paper's factor windows: {windows} in {c.unit}s"


def no_choice(costs: ModeCosts) -> bool:
    """Whether every mode makes the plan in force."""
    return len(costs.same) == len(MODES) and len(set(costs.made.values())) == 1


def only_cost(costs: ModeCosts, papers: bool = False) -> str:
    """The cost where there is but one plan."""
    paper = f", {number(costs.made['naive'])} by the paper in {period_text(costs)}" if papers else ""
    return f"cost {number(costs.current)} to the engine per batch{paper}; every mode makes this plan"


def in_force(costs: ModeCosts, mode: str) -> str | None:
    """The mode whose plan runs, the one that is set if it is among them; none while one plan replaces another."""
    return mode if mode in costs.same else next(iter(costs.same), None)


def reason(view: WindowGroup, chosen: str | None) -> str:
    """Why the plan in force costs what it does, and whether another would cost less."""
    c = view.costs
    winner = min((*reversed(COSTED), *MODES), key=lambda m: c.engine[m])
    what = f"{chosen or 'the plan in force'} costs {ratio(c.current, c.engine['naive'])} of naive{_because(view)}"
    if chosen == "naive":
        what = "every window reads the rows"
    if c.engine[winner] < c.current * 0.995:
        return f"{what}; {winner} would cost {ratio(c.engine[winner], c.engine['naive'])} of naive"
    others = [m for m in c.same if m != chosen]
    return (
        f"{what}; {joined(others)} {'makes' if len(others) == 1 else 'make'} the same plan"
        if others
        else f"{what}; no mode costs less"
    )


def _because(view: WindowGroup) -> str:
    """How many windows read the rows, and what the others combine."""
    if view.left_out or not view.steps:
        return ""
    derived = [s.combined for s in view.steps if s.source is not None and s.how != "prefix"]
    totals = sum(s.how == "prefix" for s in view.steps)
    roots = sum(s.source is None for s in view.steps)
    said = [f"{counted(roots, 'window')} read{'s' if roots == 1 else ''} the rows"]
    if derived:
        span = (
            f"{min(derived):,}" if min(derived) == max(derived) else f"{min(derived):,} to {max(derived):,}"
        )
        said.append(f"{len(derived)} combine{'s' if len(derived) == 1 else ''} {span} instances of another")
    if totals:
        said.append(f"{totals} subtract{'s' if totals == 1 else ''} running totals")
    return f": {joined(said)}"


def period_text(costs: ModeCosts) -> str:
    """The period R that the paper's cost is counted over."""
    amount = f"{costs.period:,}" if costs.period < 10**9 else scientific(costs.period)
    return f"{amount} {costs.unit}{'' if costs.period == 1 else 's'}"


def _rated(view: WindowGroup) -> str:
    """What the paper says of the plan in force at the rate of the stream, which decides how much sharing saves."""
    c, rate = view.costs, view.statistics.values.rate
    said = f"{number(c.current_rated)}, {ratio(c.current_rated, c.rated['naive'])} of naive"
    return (
        f"the paper counts one event a {c.unit}; at {number(rate)} rows/s the plan in force costs it {said}"
    )


def _paper(cost: float, costs: ModeCosts) -> str:
    return f"{number(cost):>34}{ratio(cost, costs.made['naive']):>10}"


def _engine(cost: float, costs: ModeCosts) -> str:
    return f"{number(cost):>10}{ratio(cost, costs.engine['naive']):>10}"
