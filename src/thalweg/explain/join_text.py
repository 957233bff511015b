"""EXPLAIN of a join query for a terminal: what it joins, the stages that compute it, and all the plans that it could have."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.explain.endless import endless_text
from thalweg.explain.join_costs_text import join_cost_lines, order_text
from thalweg.explain.join_words import (
    aggregate_text,
    attached_texts,
    columns_text,
    condition_texts,
    equated_text,
    having_text,
    kept_conditions,
    kept_text,
    key_texts,
    together_texts,
)
from thalweg.explain.measured_text import measured_lines
from thalweg.explain.model import InputView, JoinRun, JoinView, NodeView
from thalweg.explain.running_words import kept_rows_text, running_text, when_text
from thalweg.explain.words import (
    INDENT,
    WIDTH,
    cut,
    duration,
    joined,
    labelled,
    listed,
    moment,
    number,
    share_text,
    short_id,
)
from thalweg.expr.wording import conjunct
from thalweg.model.query import ANTI, SEMI, Query, window_text
from thalweg.model.windows import duration_text
from thalweg.statistics.records import Values


def join_lines(view: JoinView, verbose: bool = False, papers: bool = False) -> Iterator[str]:
    """Everything about one join query."""
    yield from wrap(join_heading(view), WIDTH, subsequent_indent=INDENT * 2)
    yield from _inputs(view)
    for label, text in _facts(view):
        yield from labelled(label, text)
    for run in view.runs:
        yield ""
        for label, text in run_facts(view, run):
            yield from labelled(label, text)
    yield ""
    yield from (INDENT + line for line in join_cost_lines(view, WIDTH - 2, verbose, papers))
    if view.is_measured:
        yield ""
        yield from (INDENT + line for line in measured_lines(view))


def join_heading(view: JoinView) -> str:
    """The query and what it joins."""
    if view.query.of_single_rows:
        return f"{view.query.name}: rows of {view.query.stream}"
    if len(view.query.inputs) == 1 and view.query.accumulates:
        return f"{view.query.name}: groups of {view.query.stream}"
    return f"{view.query.name}: join of {joined([f'{i.source} {i.alias}' for i in view.query.inputs])}"


def _inputs(view: JoinView) -> Iterator[str]:
    """Each input with what is known of it in columns, its conditions below."""
    names, origins = (
        [input_text(i, bool(view.query.told)) for i in view.inputs],
        [origins_text(i) for i in view.inputs],
    )
    width = min(max(map(len, ["inputs", *names])), WIDTH - 40 - max(29, *map(len, origins)))
    yield f"{INDENT}{'inputs':<{width + 2}}{'rows/s':>10}{'join keys':>11}{'partials':>10}  statistics"
    for name, origin, i in zip(names, origins, view.inputs, strict=True):
        s = i.statistics
        rate = number(s.rate) if i.given.is_stream else f"{number(s.rows)} rows"
        yield f"{INDENT * 2}{cut(name, width):<{width}}{rate:>10}{number(s.keys):>11}{number(s.sets):>10}  {origin}"
        if i.given.where:
            where = f"where {' and '.join(map(conjunct, i.given.where))}: {share_text(i.figures.share)}"
            yield from wrap(where, WIDTH, initial_indent=INDENT * 4, subsequent_indent=INDENT * 5)
        if values := values_text(i, view):
            yield from wrap(values, WIDTH, initial_indent=INDENT * 4, subsequent_indent=INDENT * 5)


def values_text(view: InputView, join: JoinView) -> str:
    """The values of what is equated, where some are frequent or there is more than one class of it."""
    found = [
        (columns, v) for columns, v in view.statistics.equated if v.heavy or len(view.statistics.equated) > 1
    ]
    return "; ".join(
        f"{equated_text(join.query, columns)}: {number(v.count)} values{_frequent(v)}" for columns, v in found
    )


def _frequent(values: Values) -> str:
    if not values.heavy:
        return ""
    most, of = max(share for _, share in values.heavy), sum(share for _, share in values.heavy)
    several = f", {len(values.heavy)} of them in {of:.0%}" if len(values.heavy) > 1 else ""
    return f", one in {most:.0%} of the rows{several}"


def input_text(view: InputView, told: bool = False) -> str:
    """An input as the query has it; where windows in GROUP BY are `told`, it has none."""
    window = "(table)" if not view.given.is_stream else "" if told else window_text(view.given)
    return f"{view.given.source} AS {view.given.alias} {window}".rstrip()


def origins_text(view: InputView) -> str:
    """Where what is known of an input comes from."""
    f, what = view.figures, "rate" if view.given.is_stream else "rows"
    if f.keys.origin != f.sets.origin:
        return f"{what} {f.rows.origin}, keys {f.keys.origin}, partials {f.sets.origin}"
    return (
        f"{f.rows.origin}"
        if f.rows.origin == f.keys.origin
        else f"{what} {f.rows.origin}, rest {f.keys.origin}"
    )


def _facts(view: JoinView) -> Iterator[tuple[str, str]]:
    """What is asked, in lines of a label and a text."""
    q = view.query
    if len(q.inputs) > 1 or condition_texts(q):
        yield "on", " and ".join(condition_texts(q)) or "every pair"
    for n, text in enumerate(attached_texts(q)):
        yield "" if n else "unmatched", text
    if q.kept:
        yield "where", kept_conditions(q)
    if q.passes:
        yield (
            "results",
            f"rows, each in the batch in which that of {next(i.alias for i in q.inputs if i.is_stream)} comes",
        )
    elif q.running is not None:
        for n, call in enumerate(q.running.calls):
            yield "" if n else "over", running_text(call)
        yield "results", when_text(q.running)
    elif q.every is None:
        yield "in time", joined(list(together_texts(q))) or "any time"
        met = "the joined rows, each once, in the batch in which the last of its rows comes"
        alone = any(a.kind in (SEMI, ANTI) for a in q.attached)
        yield "results", "each row once" if alone else met
    else:
        keys = ", ".join(key_texts(q))
        having = f", having {having_text(q)}" if q.having else ""
        groups = f"{keys}: {number(view.statistics.groups)} groups ({view.groups.origin})" if keys else "none"
        yield "groups", groups + having
        yield "aggregates", ", ".join(dict.fromkeys(aggregate_text(q, a) for a in q.aggregates)) or "none"
        if q.told:
            yield "windows", ", ".join(w.id for w in q.told)
        yield (
            "results",
            f"every {duration_text(q.every)}{', the groups that changed' if q.changes else ''}{OPEN if q.told else ''}",
        )
    if endless := endless_text(q):
        yield "notice", endless
    yield "batches", f"{duration(view.statistics.batch)} of event time ({view.batch.origin})"


def run_facts(view: JoinView, run: JoinRun) -> Iterator[tuple[str, str]]:
    """A plan that runs as the stages of a job, with the state between batches."""
    query, names = view.query, [i.alias for i in view.query.inputs]
    yield "plan", f"{run_title(run)}{span_text(view, run)}"
    if others := [q for q in run.queries if q != query.name]:
        yield "", f"computed once for {listed([query.name, *others], 70)}"
    early = [n for n, s in zip(names, run.sides, strict=True) if s.fragment.early]
    yield "stage 1", f"rows are read and chosen{f', {joined(early)} partially aggregated' if early else ''}"
    yield "shuffle", shuffle_text(run, names)
    yield from (("" if n else "state", f"{name}: {_state(view, run, n)}") for n, name in enumerate(names))
    if query.running is not None and (last := kept_rows_text(query.running)):
        yield "", f"each key: {last}; kept for ever"
    yield (
        "stage 2",
        "rows become results" if len(names) == 1 and query.passes else EVALUATIONS[run.join.evaluate].words,
    )
    if run.join.met:
        met = joined([names[n] for n in run.join.met])
        yield (
            "",
            f"{met} meet once for all joins that begin so ({short_id(run.join.sub)}), where most of their rows are new",
        )
    if len(names) > 2:
        yield "", f"inputs meet in the order {order_text(view, run.cost)}"
    if run.join.invalidate != "slot":
        yield "", f"rows that have left their window are forgotten by {run.join.invalidate}"
    if query.every is not None:
        yield "shuffle", "partial results by their group"
        yield (
            "stage 3",
            "what enters is added to the totals of its groups, and those that changed are told"
            if query.accumulates
            else "groups of all partitions to results"
            + (", compared with those of the instant before" if query.changes else ""),
        )
    if query.accumulates:
        yield "state", f"a row of totals for each group{_remembered(query)}"


OPEN = ", of windows that are open"
BOUNDED = ", but for WITH (ttl = '1 day')"


def _remembered(query: Query) -> str:
    if query.told:
        return f" and window, until {duration_text(query.forgets or 0)} after its last row"
    if query.ttl is None:
        return f", for ever: it grows with the groups{'' if query.of_changes else BOUNDED}"
    return f", until none of its rows has come for {duration_text(query.ttl)}"


def _state(view: JoinView, run: JoinRun, n: int) -> str:
    """What is kept of an input, for how long, how much that is, and for whom; once where two inputs have the same state."""
    query, asked, side = view.query, run.join.asked, run.sides[n]
    first = next(k for k, s in enumerate(run.sides) if s.id == side.id)
    if first < n and asked.inputs[first].length == asked.inputs[n].length:
        return f"the state of {query.inputs[first].alias}"
    rows = (
        f" ({number(side.expected.state_rows)} rows)"
        if side.expected.state_rows and not side.fragment.static
        else ""
    )
    shared = f"; one state for {listed(side.queries, 50)}" if len(side.queries) > 1 else ""
    return f"{kept_text(query, asked, n, side)}{rows}{shared}"


def shuffle_text(run: JoinRun, names: list[str]) -> str:
    """How rows are spread over partitions."""
    pairs = list(zip(names, run.sides, strict=True))
    spread = [
        f"{n} by hash of {joined([_routed(s, a) for a in s.fragment.route if a is not None])}"
        for n, s in pairs
        if s.fragment.route
    ]
    whole = [n for n, side in pairs if not side.fragment.route and side.fragment.place is None]
    common = [n for n, side in pairs if side.fragment.place is not None]
    is_grid = any(len(side.fragment.route) > 1 for side in run.sides)
    gathered = (
        f"{joined(common)} to one partition, where joins by other columns read the same rows"
        if common
        else ""
    )
    said = [
        ", ".join(spread),
        gathered,
        "a grid of partitions, each copied along what it has no column of" if is_grid else "",
        _split(pairs),
    ]
    return "; ".join(filter(None, [*said, f"{joined(whole)} broadcast to every partition" if whole else ""]))


def _split(pairs: list[tuple[str, NodeView]]) -> str:
    """Which inputs have frequent values that all partitions have, and how."""
    found = [(name, side.fragment.split) for name, side in pairs if side.fragment.split is not None]
    if not found:
        return ""
    values, gain = len(found[0][1].hot), found[0][1].gain
    one = f"{values} frequent value{'s' if values > 1 else ''} split over all partitions"
    dealt, copied = (joined([n for n, s in found if s.dealt is so]) for so in (True, False))
    return f"{one}, rows of {dealt} dealt out, of {copied} copied ({gain:.3g} times as fast expected)"


def _routed(side: NodeView, axis: tuple[int, ...]) -> str:
    columns = columns_text(side, axis)
    return f"({columns})" if len(axis) > 1 else columns or "the event time"


def run_title(run: JoinRun) -> str:
    """A plan by its name and by how partners are found."""
    if run.join.asked.of_single_rows:
        return "rows" if run.join.asked.running is None else "rows in order"
    return f"{run.choice.plain if run.join.evaluate != 'rows' else 'rows'} by {'nested loops' if run.join.method == 'loop' else 'hash join'}"


def span_text(view: JoinView, run: JoinRun) -> str:
    """Which instants a plan gives out, where not all."""
    every, given = view.query.every, run.emission
    if every is None:
        starts = [
            f"{i.given.alias} {moment(b)}"
            for i, b in zip(view.inputs, run.join.begins, strict=True)
            if b is not None
        ]
        return f" (begins in mid-stream: rows from {', '.join(starts)} on)" if starts else ""
    if given.until is not None:
        return f" (handing over: gives out the instants before {moment(given.until * every)})"
    if len(view.runs) > 1 and given.begin is not None:
        return f" (taking over: gives out the instants from {moment(given.begin * every)} on)"
    return (
        f" (begins in mid-stream: instants from {moment(given.begin * every)} on)"
        if given.begin is not None
        else ""
    )
