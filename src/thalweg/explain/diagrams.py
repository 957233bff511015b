"""What is drawn: a diagram for each group of windows and each join, of boxes and of edges in the direction in which rows flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from thalweg.explain.join_costs_text import millis, order_text
from thalweg.explain.join_text import join_heading, run_title, shuffle_text, span_text
from thalweg.explain.join_words import columns_text, condition_texts, kept_text, key_texts
from thalweg.explain.model import JoinRun, JoinView, Measured, NodeView, PlanView, WindowGroup
from thalweg.explain.text import heading, statistics_text
from thalweg.explain.words import cut, listed, number, short_duration, window_text
from thalweg.expr.wording import conjunct
from thalweg.model.query import window_text as join_window_text
from thalweg.model.windows import duration_text

FITS = 34
"""The characters of a small line that a box of windows has room for."""

JOIN_FITS = 44
"""And a box of a join."""


@dataclass(frozen=True)
class Box:
    """A thing with a name, small lines below it, and more to say to whoever points at it.

    kind: how it is drawn. part: its cost beside that of the dearest, if it has a bar. shared: by how many queries, where several use it.
    node: the node of the plan that it stands for. queries: those that use it.
    """

    key: str
    kind: str
    name: str
    lines: tuple[str, ...]
    hint: str
    part: float | None = None
    shared: int = 1
    node: str | None = None
    queries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edge:
    """From a box to what reads it."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True)
class Diagram:
    """A tree of boxes: all from one root, as windows from rows, or all into it, as inputs into the results of a join."""

    title: str
    notes: tuple[str, ...]
    root: str
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    into_root: bool = False


def diagrams(view: PlanView) -> Iterator[Diagram]:
    """One per group of windows, then one per join."""
    yield from (group_diagram(g, f"g{i}") for i, g in enumerate(view.groups))
    alike = {q: names for names in view.alike for q in names}
    yield from (join_diagram(j, alike[j.query.name], f"j{i}") for i, j in enumerate(view.distinct_joins))


def group_diagram(view: WindowGroup, name: str) -> Diagram:
    """The rows, and every window below what it is computed from."""
    keys = {s.id: f"{name}w{i}" for i, s in enumerate(view.steps)}
    most = max((s.expected.cost for s in view.steps), default=1.0) or 1.0
    v, stream = view.statistics.values, view.group.stream
    rows = Box(
        f"{name}rows",
        "rows",
        cut(f"rows of {stream}", 26),
        (f"{number(v.rate * v.batch / 1e6)} a batch",),
        f"rows of {stream}",
        queries=tuple(view.queries),
    )
    asked = f"{listed(view.aggregates, 90) or 'groups'} for {listed(view.queries, 60)}"
    return Diagram(
        title=heading(view),
        notes=(asked, statistics_text(view.statistics)),
        root=rows.key,
        boxes=(rows, *(_window(s, keys[s.id], most) for s in view.steps)),
        edges=tuple(
            Edge(keys[s.source] if s.source else rows.key, keys[s.id], edge_label(s)) for s in view.steps
        ),
    )


def _window(view: NodeView, key: str, most: float) -> Box:
    """A window: its rows, its cost, whom it is for."""
    e, name = view.expected, str(view.window)
    kept = f", {number(e.state_rows)} kept" if e.state_rows else ""
    users = "factor window" if view.factor else listed(view.given or view.queries, FITS)
    lines = [
        f"{number(e.rows_out)} rows{kept}, cost {number(e.cost)}",
        *_ran(view.measured, view.inside),
        users,
    ]
    how = "from the rows" if view.source is None else f"{view.combined:,} instances combined ({view.how})"
    hint = f"{view.window}: {how}; reads {number(e.rows_in)} rows a batch; for {', '.join(view.queries)}"
    shown = name if len(name) <= 23 else cut(window_text(view.window), 25)
    kind = "factor" if view.factor else "old" if view.ending else "asked"
    return Box(
        key,
        kind,
        shown,
        tuple(cut(x, FITS) for x in lines),
        hint,
        e.cost / most,
        len(view.queries),
        view.id,
        tuple(view.queries),
    )


def edge_label(view: NodeView) -> str:
    """How a window comes from what it is computed from."""
    if view.source is None:
        return "each row"
    if view.how == "prefix":
        return f"{view.combined} running totals"
    return f"{view.combined:,} combined{', sparse' if view.how == 'sparse' else ''}"


def join_diagram(view: JoinView, alike: Sequence[str], name: str) -> Diagram:
    """Streams, what is kept of them, the join, its results; plans that hand over to each other give into the same results."""
    q, also = view.query, f" (alike: {listed(alike, 60)})" if len(alike) > 1 else ""
    root = Box(
        f"{name}out",
        "results",
        cut(f"results of {q.name}", JOIN_FITS - 6),
        (cut(result_text(view), JOIN_FITS),),
        q.text,
        queries=tuple(alike),
    )
    boxes, edges = [root], []
    for k, run in enumerate(view.runs):
        own = f"{name}r{k}"
        boxes.append(_join(view, run, own))
        edges.append(Edge(own, root.key))
        for n, side in enumerate(run.sides):
            boxes += [
                replace(_input(view, n, f"{own}s{n}"), queries=tuple(alike)),
                _side(view, run, n, side, f"{own}k{n}"),
            ]
            edges += [Edge(f"{own}s{n}", f"{own}k{n}"), Edge(f"{own}k{n}", own)]
    notes = (f"shuffle: {shuffle_text(view.run, [i.given.alias for i in view.inputs])}",)
    return Diagram(join_heading(view) + also, notes, root.key, tuple(boxes), tuple(edges), into_root=True)


def _input(view: JoinView, number_: int, key: str) -> Box:
    """A stream or a table with its window and its rate."""
    given, s = view.inputs[number_].given, view.inputs[number_].statistics
    known = f"{number(s.rate)} rows/s" if given.is_stream else f"table of {number(s.rows)} rows"
    where = " and ".join(map(conjunct, given.where))
    line = ", ".join(filter(None, [join_window_text(given), known]))
    hint = f"{given.source} where {where}" if where else given.source
    return Box(key, "rows", cut(f"{given.source} {given.alias}", 34), (cut(line, JOIN_FITS),), hint)


def _side(view: JoinView, run: JoinRun, number_: int, side: NodeView, key: str) -> Box:
    """What is kept of an input: in which form, by what, for whom."""
    kept, others = side.fragment, [q for q in side.queries if q != view.query.name]
    per = f" per {short_duration(kept.slot)}" if kept.early and not kept.static else ""
    lines = [f"{'by ' if kept.early else ''}({columns_text(side)}){per}"]
    lines.append(
        f"shared with {listed(others, JOIN_FITS - 12)}"
        if others
        else f"{read_as(view, run, side)}for this query alone"
    )
    kind = "old" if run.ending else "set" if kept.early else "kept"
    name = "partial aggregates" if kept.early else "rows"
    shown = tuple(cut(x, JOIN_FITS) for x in [*lines, *_ran(side.measured)])
    hint, users = kept_text(view.query, run.join.asked, number_, side), tuple(side.queries)
    return Box(key, kind, name, shown, hint, None, len(users), side.id, users)


def read_as(view: JoinView, run: JoinRun, side: NodeView) -> str:
    """The inputs that one state stands for, where they are several."""
    names = [i.alias for i, s in zip(view.query.inputs, run.sides, strict=True) if s.id == side.id]
    return f"one for {listed(names, 16)}, " if len(names) > 1 else ""


def _join(view: JoinView, run: JoinRun, key: str) -> Box:
    """How a join is evaluated, on what, and what that is expected to take."""
    e, on = run.cost.estimate, " and ".join(condition_texts(view.query)) or "every pair"
    cost = f"{millis(e.nanos)} ms/s, {number(e.state_rows)} rows kept, {number(e.pairs)} pairs/s"
    span = [said] if (said := span_text(view, run).strip(" ()")) else []
    met = [f"in the order {order_text(view, run.cost)}"] if len(run.sides) > 2 else []
    lines = tuple(cut(x, JOIN_FITS) for x in [on, *met, cost, *span, *_ran(run.measured)])
    hint = "; ".join([on, *met, *span])
    return Box(
        key,
        "old" if run.ending else "asked",
        cut(run_title(run), 32),
        lines,
        hint,
        None,
        len(run.queries),
        queries=tuple(run.queries),
    )


def result_text(view: JoinView) -> str:
    """When results are given out, and by what."""
    q = view.query
    if q.running is not None:
        return "rows in order, once the watermark has passed them"
    if q.every is None:
        return "joined rows, in the batch of their last row"
    keys = ", ".join(key_texts(q))
    return f"every {duration_text(q.every)}{f' by {keys}' if keys else ''}{', changes' if q.changes else ''}"


def _ran(measured: Measured | None, inside: bool = False) -> list[str]:
    """What was measured, in a line."""
    if measured is None:
        return []
    if measured.rows is None or measured.millis is None:
        return ["ran with the results" if inside else "ran: nothing came"]
    kept = f", {number(measured.state_rows)} kept" if measured.state_rows else ""
    return [f"ran: {number(measured.rows)} rows{kept}, {number(measured.millis)} ms"]
