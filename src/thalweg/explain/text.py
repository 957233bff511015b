"""EXPLAIN for a terminal: plain text of at most WIDTH columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

from thalweg.explain.costs_text import cost_lines
from thalweg.explain.coverage import coverage_lines
from thalweg.explain.glossary import glossary
from thalweg.explain.join_text import join_lines
from thalweg.explain.model import KnownStatistics, PlanView, WindowGroup
from thalweg.explain.results_text import result_lines, switch_lines
from thalweg.explain.steps import STAGES
from thalweg.explain.summary import is_folded, summary_lines, title
from thalweg.explain.tree import tree
from thalweg.explain.words import (
    INDENT,
    LABEL,
    WIDTH,
    counted,
    duration,
    labelled,
    listed,
    number,
    share_text,
    short_name,
    short_names,
)

MOST = 40
"""Windows of a group that are shown unless all are asked for."""

ROOM = WIDTH - LABEL - 2


def plan_text(view: PlanView, verbose: bool = False, papers: bool = False) -> str:
    """The whole plan: a summary, each group before and after, the joins, results and switches, and the words used."""
    blocks: list[Iterable[str]] = [[title(view), *summary_lines(view)]]
    if verbose or not is_folded(view):
        blocks += [_group(g, view, verbose, papers) for g in view.groups]
        blocks += [join_lines(j, verbose, papers) for j in view.distinct_joins]
    blocks += [result_lines(view), switch_lines(view)]
    said = _paragraphs(blocks)
    words = [line for word in glossary(said) for line in wrap(word, WIDTH, subsequent_indent=INDENT)]
    return _paragraphs([[said], _steps(view) if verbose else (), words])


def _paragraphs(blocks: Iterable[Iterable[str]]) -> str:
    return "\n\n".join("\n".join(line.rstrip() for line in block) for block in map(list, blocks) if block)


def _group(g: WindowGroup, view: PlanView, verbose: bool, papers: bool) -> Iterator[str]:
    every = None if verbose else MOST
    yield from wrap(heading(g), WIDTH, subsequent_indent=INDENT * 2)
    yield from labelled("queries", ", ".join(g.queries) if verbose else listed(g.queries, ROOM))
    kind = f" ({_kind(g)})"
    calls = ", ".join(g.aggregates) if verbose else listed(g.aggregates, 3 * ROOM)
    yield from labelled("aggregates", f"{calls or 'none'}{kind}")
    chosen = f"; where: {share_text(g.statistics.figures.share)}" if g.group.where else ""
    yield from labelled("statistics", statistics_text(g.statistics) + chosen)
    yield ""
    yield f"{INDENT}before"
    yield from _indented(coverage_lines(g, WIDTH - 4, verbose), 2)
    yield ""
    head, *rest = tree(g, view.batch is not None, WIDTH - 2, every)
    yield from _indented([f"after{head[5:]}", *rest])
    if g.left_out:
        yield f"{INDENT}(and {counted(g.left_out, 'window')} for other queries)"
    yield from _indented(_shared(g, view))
    yield ""
    yield from _indented(cost_lines(g, view.mode, papers))


def _shared(g: WindowGroup, view: PlanView) -> Iterable[str]:
    """What another kind of aggregates of the same group uses too, and what is the input of a join."""
    others = {s.id for other in view.groups if other is not g and other.group == g.group for s in other.steps}
    if windows := [str(s.window) for s in g.steps if s.id in others]:
        yield from wrap(
            f"({listed(windows, 70)}: computed once for all aggregates of {g.group.stream}{_keys(g)})",
            WIDTH - 2,
        )
    for s in g.steps:
        if s.rolled is not None:
            r = s.rolled
            fine = f"{r.window} by {', '.join(r.keys)} ({short_name(r.id, view.digits)})"
            told = f"{number(r.pieces)} partial aggregates a batch in the place of {number(r.rows)} rows"
            yield from wrap(f"({s.window}: rolled up from {fine}: {told})", WIDTH - 2)
        if s.joined:
            yield f"({s.window}: also what is kept for the join of {listed(s.joined, 50)})"


def _keys(g: WindowGroup) -> str:
    return f" by {', '.join(g.keys)}" if g.keys else ""


def heading(g: WindowGroup) -> str:
    """What the queries of a group have in common."""
    where = f" where {' and '.join(g.where)}" if g.where else ""
    return f"{g.group.stream}{_keys(g)}{where}"


def _kind(g: WindowGroup) -> str:
    """What the aggregates of a kind allow; of sessions, what is kept."""
    traits, values = g.traits, "with the rows' values " if g.traits.holistic else ""
    if any(w.session for w in g.graph.windows):
        return f"one row {values}is kept of each session that is open"
    if traits.holistic:
        return "keep the rows' values"
    pieces = "pieces may overlap" if traits.overlap_safe else "pieces must not overlap"
    return f"{pieces}, and can be taken back out" if traits.invertible else pieces


def statistics_text(known: KnownStatistics) -> str:
    """What the engine's cost is reckoned from."""
    v, f = known.values, known.figures
    rate = f"{number(v.rate)} rows/s" + (f" ({f.rate.origin})" if f.rate.origin != f.batch.origin else "")
    batches = f"in batches of {duration(v.batch)} ({f.batch.origin})"
    return f"{rate} {batches}, {number(v.keys)} keys ({f.keys.origin})"


def _steps(view: PlanView) -> Iterator[str]:
    """The SQL of every step, as it runs but for short names."""
    yield "steps"
    for stage, words in STAGES.items():
        steps = [s for s in view.steps if s.stage == stage]
        yield from [f"{INDENT}stage {stage}: {words}"] if steps else []
        for s in steps:
            yield from _indented([f"{s.action} {short_name(s.of, view.digits)}: {s.about}"], 2)
            yield from _indented(short_names(s.sql, view.digits).splitlines(), 3)


def _indented(lines: Iterable[str], times: int = 1) -> Iterator[str]:
    return (INDENT * times + line for line in lines)
