"""The plans of a join that run, in words: how rows are cut over partitions, what is kept of each input, and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

from thalweg.explain.join_model import JoinRun, JoinView
from thalweg.explain.join_words import EVALUATIONS, columns_text, kept_text
from thalweg.explain.words import joined, listed, moment
from thalweg.plan.nodes import Side

JOIN_WIDTH = 100
"""The columns that the text of a join takes."""

INDENT = "  "
LABEL = 12


def labelled(label: str, text: str) -> Iterator[str]:
    """Text after a label, further lines below its beginning."""
    first = f"{INDENT}{label:<{LABEL}}"
    yield from wrap(text, JOIN_WIDTH, initial_indent=first, subsequent_indent=" " * len(first))


def partitions_text(run: JoinRun, aliases: list[str]) -> str:
    """How rows are cut over partitions."""
    pairs = list(zip(aliases, (s.side for s in run.sides), strict=True))
    cut = [f"{alias} by hash of {joined([_routed(side, a) for a in side.route if a is not None])}" for alias, side in pairs if side.route]
    whole = [alias for alias, side in pairs if not side.route]
    grid = ["a grid, each copied along what it has no column of"] if any(len(side.route) > 1 for _, side in pairs) else []
    said = [*([", ".join(cut)] if cut else []), *grid, *([f"{joined(whole)} whole in every partition"] if whole else [])]
    return "; ".join(said)


def _routed(side: Side, axis: tuple[int, ...]) -> str:
    columns = columns_text(side, axis)
    return f"({columns})" if len(axis) > 1 else columns or "the slot"


def run_lines(view: JoinView, run: JoinRun) -> Iterator[str]:
    """A plan in words, and each of its sides."""
    yield from labelled("plan", f"{run_title(run)}{span_text(view, run)}")
    if view.query.every is not None:
        yield from labelled("", EVALUATIONS[run.join.evaluate])
    if run.join.invalidate != "slot":
        yield from labelled("", f"rows that have left their window are forgotten by {run.join.invalidate}")
    for n, side in enumerate(run.sides):
        others = [q for q in side.queries if q != view.query.name]
        shared = f"; shared with {listed(others, 50)}" if others else ""
        text = f"{view.query.inputs[n].alias}: {kept_text(view.query, n, side.side)}{shared}"
        yield from wrap(text, JOIN_WIDTH, initial_indent=INDENT * 2, subsequent_indent=INDENT * 4)


def run_title(run: JoinRun) -> str:
    """A plan by its name and by how partners are found."""
    name = run.choice.name.removesuffix(" by nested loops")
    return f"{name if run.join.evaluate != 'rows' else 'rows'} by {'nested loops' if run.join.method == 'loop' else 'hash join'}"


def span_text(view: JoinView, run: JoinRun) -> str:
    """Which instants a plan gives out, where not all."""
    every, join = view.query.every, run.join
    if every is None:
        starts = [f"{i.given.alias} {moment(b)}" for i, b in zip(view.inputs, join.begins, strict=True) if b is not None]
        return f" (begins in mid-stream: rows from {', '.join(starts)} on)" if starts else ""
    if join.until is not None:
        return f" (handing over: gives out the instants before {moment(join.until * every)})"
    if len(view.runs) > 1 and join.begin is not None:
        return f" (taking over: gives out the instants from {moment(join.begin * every)} on)"
    return f" (begins in mid-stream: instants from {moment(join.begin * every)} on)" if join.begin is not None else ""


def join_sql_lines(views: Iterable[JoinView]) -> Iterator[str]:
    """The SQL of every step of the joins."""
    for side in {s.side.id: s for v in views for s in v.sides}.values():
        yield f"side {side.side.id}: for {', '.join(side.queries)}"
        yield f"{INDENT}{side.sql}"
    for view in views:
        for run in view.runs:
            yield from _steps(view, run)


def _steps(view: JoinView, run: JoinRun) -> Iterator[str]:
    every, when = view.query.every, ""
    if run.instants is not None and every is not None:
        when = f", as for the instants {run.instants[0]} to {run.instants[1] - 1}"
    for step in run.steps:
        yield f"{run.join.evaluate} {view.query.name}: {step.name}{when}"
        yield f"{INDENT}{step.sql}"
