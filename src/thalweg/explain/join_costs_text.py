"""The plans that a join could have, what each is expected to cost, and why the one in force is."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from thalweg.explain.model import JoinView
from thalweg.explain.words import counted, joined, listed, number, ratio
from thalweg.model.settings import EVALUATIONS
from thalweg.optimizer.join_plans import Considered

MOST = 13
"""Plans that are shown unless all are asked for."""

CLEARLY = 0.995
"""What a plan may cost of another at most to be said to cost less."""
HEADS = ("ms/s", "of best", "state rows", "bytes", "of best", "pairs/s", "of best")
WIDTHS = (9, 9, 12, 9, 9, 10, 9)


def join_cost_lines(view: JoinView, width: int, every: bool = False, papers: bool = False) -> Iterator[str]:
    """A table of the plans, cheapest first, then the reasons, and the paper's view if wanted."""
    plans = all_plans(view)
    shown = (
        plans
        if every or len(plans) <= MOST
        else [p for i, p in enumerate(plans) if i < MOST - 1 or mark(view, p).strip()]
    )
    names = max(len(_named(view, p)) for p in plans) + 2
    yield f"{'plans':<{names}}" + "".join(f"{h:>{w}}" for h, w in zip(HEADS, WIDTHS, strict=True))
    for p in shown:
        yield f"{_named(view, p):<{names}}{_cells(p, plans[0])}"
    if len(shown) < len(plans):
        yield f"... and {counted(len(plans) - len(shown), 'more plan')}, in the verbose form"
    yield from wrap(join_reason(view), width)
    for idle in view.idle:
        yield from wrap(idle, width)
    if papers and view.paper:
        yield paper_line(view, width)


def all_plans(view: JoinView) -> list[Considered]:
    """Those that the settings leave open and those that run, cheapest first."""
    running = [r.cost for r in view.runs]
    others = [p for p in (*view.plans, *view.listed) if not any(_same(r, p) for r in running)]
    return sorted([*others, *running], key=lambda p: p.estimate.nanos)


def mark(view: JoinView, plan: Considered) -> str:
    """What a plan is: in force, or about to be no longer."""
    if _same(plan, view.run.cost):
        return "> "
    return "< " if any(_same(plan, r.cost) for r in view.runs) else "  "


def _same(a: Considered, b: Considered) -> bool:
    return (a.choice.early, a.choice.evaluate, a.choice.method) == (
        b.choice.early,
        b.choice.evaluate,
        b.choice.method,
    )


def plan_text(plan: Considered) -> str:
    """A plan's name in short."""
    return plan.choice.plain + (", loops" if plan.choice.method == "loop" else "")


def _named(view: JoinView, plan: Considered) -> str:
    return mark(view, plan) + plan_text(plan)


def _cells(plan: Considered, best: Considered) -> str:
    e, b = plan.estimate, best.estimate
    cells = (
        millis(e.nanos),
        times(e.nanos, b.nanos),
        number(e.state_rows),
        number(e.state_bytes),
        times(e.state_bytes, b.state_bytes),
        number(e.pairs),
        times(e.pairs, b.pairs),
    )
    return "".join(f"{c:>{w}}" for c, w in zip(cells, WIDTHS, strict=True))


def millis(nanos: float) -> str:
    """Nanoseconds as milliseconds of three digits.

    >>> millis(248_950), millis(12), millis(903_000_000)
    ('0.249', '0.00001', '903')
    """
    value = nanos / 1e6
    return f"{value:.3g}" if 0.01 <= value < 100 else f"{value:.5f}" if value < 0.01 else number(value)


def times(value: float, best: float) -> str:
    """How many times the best something is.

    >>> times(3, 2), times(20_000, 1), times(0, 0)
    ('1.50', '20.0k', '1.00')
    """
    return number(value / best) if best and value / best >= 99.95 else ratio(value, best)


def join_reason(view: JoinView) -> str:
    """Why the plan in force is, or what would be cheaper."""
    best, current = view.plans[0], view.run.cost
    part = ratio(best.estimate.nanos, current.estimate.nanos)
    said = [_settings(view)] if view.settings else []
    if not _same(best, current):
        return "; ".join([f"{plan_text(best)} would cost {part} of {plan_text(current)}, which runs", *said])
    if best.estimate.nanos < current.estimate.nanos * CLEARLY:
        return "; ".join(
            [f"it would cost {part} if its inputs met in the order {order_text(view, best)}", *said]
        )
    return "; ".join([_joined_rows(view) if view.query.every is None else _won(view), *said])


def _joined_rows(view: JoinView) -> str:
    """Joined rows are found by hash where columns are equated; nested loops are taken if they are asked for."""
    if not view.listed:
        return (
            "rows have this one plan"
            if view.query.passes or view.query.running
            else "joined rows have this one plan"
        )
    (loop,) = view.listed
    part = ratio(view.run.cost.estimate.nanos, loop.estimate.nanos)
    return f"by hash they cost {part} of nested loops, which plan.join = loop would take"


def order_text(view: JoinView, plan: Considered) -> str:
    """The order in which inputs meet, for each of those that bring new rows where it is not the same for all."""
    names = [i.alias for i in view.query.inputs]
    order = {m.fresh: ", ".join(names[n] for n in m.inputs) for m in plan.choice.order}
    if len(set(order.values())) < 2:
        return next(iter(order.values()), ", ".join(names))
    return "; ".join(
        f"{met} for new rows of {names[fresh]}" for fresh, met in order.items() if fresh is not None
    )


def _settings(view: JoinView) -> str:
    free, best = view.freely, view.run.cost
    better = free.estimate.nanos < best.estimate.nanos * CLEARLY
    gain = f"else {plan_text(free)} would cost {ratio(free.estimate.nanos, best.estimate.nanos)} of it"
    return f"{joined(view.settings)} {'is' if len(view.settings) == 1 else 'are'} set, {gain if better else 'no other plan costs less'}"


def _won(view: JoinView) -> str:
    """The term in which the winner saves most, against late aggregation by snapshots or against the next best."""
    best, *others = view.plans
    if not others:
        return f"{plan_text(best)} is the only plan left open"
    other = next(
        (p for p in others if not any(p.choice.early) and p.choice.evaluate == EVALUATIONS[0]), others[0]
    )
    term, gain = most_saved(best, other)
    was, now = (dict(p.estimate.terms).get(term, 0.0) for p in (other, best))
    part = ratio(best.estimate.nanos, other.estimate.nanos)
    if gain <= 0:
        return f"{plan_text(best)} costs {part} of {plan_text(other)}"
    return f"{plan_text(best)} costs {part} of {plan_text(other)}: it saves most in {term}, {millis(was)} to {millis(now)} ms/s"


def most_saved(best: Considered, other: Considered) -> tuple[str, float]:
    """The term of the cost in which one plan is furthest below another, and by how many nanoseconds."""
    mine = dict(best.estimate.terms)
    return max(((name, n - mine.get(name, 0.0)) for name, n in other.estimate.terms), key=lambda t: t[1])


def paper_line(view: JoinView, width: int) -> str:
    """The plans by the early-aggregation paper, beside its best."""
    least = min(view.paper.values())
    return "by the paper: " + listed(
        [f"{name} {times(cost, least)}" for name, cost in view.paper.items()], width - 14
    )
