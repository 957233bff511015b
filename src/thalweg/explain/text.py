"""EXPLAIN for a terminal: plain text of at most WIDTH columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

from thalweg.explain.costs_text import cost_lines
from thalweg.explain.coverage import coverage_lines
from thalweg.explain.join_runs_text import join_sql_lines
from thalweg.explain.join_text import join_lines
from thalweg.explain.model import KnownStatistics, PlanView, WindowGroup
from thalweg.explain.results_text import result_lines, switch_lines
from thalweg.explain.tree import INSIDE, tree
from thalweg.explain.words import WIDTH, counted, joined, number, plain_sql, share_text
from thalweg.logical.windows import duration_text
from thalweg.optimizer.plan_windows import MODES
from thalweg.optimizer.traits import Traits

INDENT = "  "
COSTS = "engine: hash-table updates in a batch; paper: events in a period R at one per time unit"
ROWS = "rows in, rows out: expected per batch; state rows: kept between batches"
MEASURED = f"measured, ms: of the last batch, added over its tasks; {INSIDE}: measured with the results of its query"

JOINS = (
    "joins, ms/s: work per second of stream; state rows, bytes: kept; pairs/s: joined rows made",
    "of best: beside the cheapest plan; >: in force; <: until the handover is over",
)

PAPER = "by the paper: the plans by the formulas of early aggregation, beside its cheapest"


def plan_text(view: PlanView, verbose: bool = False) -> str:
    """The whole plan: each group before and after, its costs, the joins, then results and switches."""
    blocks = [[title(view)], *(list(_group(g, view, verbose)) for g in view.groups)]
    blocks += [list(join_lines(j, verbose)) for j in view.joins]
    blocks += [list(lines) for lines in (result_lines(view), switch_lines(view), _steps(view) if verbose else ())]
    blocks.append(_legend(view))
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)


def _legend(view: PlanView) -> list[str]:
    costs = [COSTS] if any(len(g.costs.same) < len(MODES) for g in view.groups) else []
    windows = [*costs, MEASURED if view.batch is not None else ROWS] if view.groups else []
    paper = [PAPER] if any(j.paper for j in view.joins) else []
    return [*windows, *(JOINS if view.joins else ()), *paper]


def title(view: PlanView) -> str:
    """What is explained, in a line."""
    asked = len({(g.group, s.window) for g in view.groups for s in g.steps if s.queries})
    factors = len({s.id for g in view.groups for s in g.steps if s.factor})
    parts = [counted(len(view.queries) + len(view.joins), "query", "queries")]
    parts += [counted(asked, "window")] if view.groups or not view.joins else []
    parts += [counted(factors, "factor window")] if factors else []
    parts += [counted(len(view.joins), "join")] if view.joins else []
    measured = f"; measured in batch {view.batch}" if view.batch is not None else ""
    mode = f" ({view.mode})" if view.groups or not view.joins else ""
    return f"plan{mode}: {', '.join(parts)}{measured}"


def _group(g: WindowGroup, view: PlanView, verbose: bool) -> Iterator[str]:
    yield from _wrapped("", heading(g))
    yield from _wrapped("queries     ", ", ".join(g.queries))
    yield from _wrapped("aggregates  ", f"{', '.join(g.aggregates) or 'none'} ({_kind(g.traits)})")
    chosen = f"; where: {share_text(g.statistics.figures.share)}" if g.group.where else ""
    yield from _wrapped("statistics  ", statistics_text(g.statistics) + chosen)
    yield ""
    yield from _indented(["before"])
    yield from _indented(coverage_lines(g, WIDTH - 4, verbose), 2)
    yield ""
    head, *rest = tree(g, view.batch is not None, WIDTH - 2)
    yield from _indented([f"after{head[5:]}", *rest])
    if g.left_out:
        yield from _indented([f"(and {counted(g.left_out, 'window')} for other queries)"])
    yield from _indented(_shared(g, view))
    yield ""
    yield from _indented(cost_lines(g, view.mode))


def _shared(g: WindowGroup, view: PlanView) -> Iterable[str]:
    """The windows that another kind of aggregates of the same group uses too."""
    others = {s.id for other in view.groups if other is not g and other.group == g.group for s in other.steps}
    if windows := [str(s.window) for s in g.steps if s.id in others]:
        yield from wrap(f"({joined(windows)}: computed once for all aggregates of {g.group.stream}{_keys(g)})", WIDTH - 2)


def _keys(g: WindowGroup) -> str:
    return f" by {', '.join(map(plain_sql, g.group.keys))}" if g.group.keys else ""


def heading(g: WindowGroup) -> str:
    """What the queries of a group have in common."""
    where = f" where {' and '.join(map(plain_sql, g.group.where))}" if g.group.where else ""
    return f"{g.group.stream}{_keys(g)}{where}"


def _kind(traits: Traits) -> str:
    """What the aggregates of a kind allow."""
    if traits.holistic:
        return "keep the rows' values"
    pieces = "pieces may overlap" if traits.overlap_safe else "pieces must not overlap"
    return f"{pieces}, and can be taken back out" if traits.invertible else pieces


def statistics_text(known: KnownStatistics) -> str:
    """What the engine's cost is reckoned from."""
    v, f = known.values, known.figures
    rate = f"{number(v.rate)} rows/s" + (f" ({f.rate.origin})" if f.rate.origin != f.batch.origin else "")
    batches = f"in batches of {_duration(v.batch)} ({f.batch.origin})"
    return f"{rate} {batches}, {number(v.keys)} keys ({f.keys.origin})"


def _duration(micros: int) -> str:
    """A duration that is nowhere exact."""
    return duration_text(micros) if micros % 1_000_000 == 0 else f"{number(micros / 1e6)} seconds"


def _steps(view: PlanView) -> Iterator[str]:
    """The SQL of every step, as it runs."""
    yield "steps"
    seen = set()
    for step in (s for g in view.groups for s in g.steps):
        if step.id not in seen and not step.inside:
            seen.add(step.id)
            yield from _indented([f"{'lift' if step.source is None else 'derive'} {step.id}: {step.window}", f"  {step.sql}"])
    for result in view.results:
        together = f" (in one pass with other windows from {result.together})" if result.together else ""
        yield from _indented([f"emit {result.emission.query}: {result.emission.window_id}{together}", f"  {result.sql}"])
    yield from _indented(join_sql_lines(view.joins))


def _indented(lines: Iterable[str], times: int = 1) -> Iterator[str]:
    return (INDENT * times + line for line in lines)


def _wrapped(label: str, text: str) -> Iterator[str]:
    """Text after a label, further lines below its beginning; the heading of a group has none."""
    first = f"{INDENT}{label}" if label else ""
    yield from wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first) if label else INDENT * 2)
