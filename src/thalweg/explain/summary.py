"""What many queries cost together: streams, what is shared by how many of them, and each query with its share."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.explain.join_costs_text import millis
from thalweg.explain.join_words import columns_text
from thalweg.explain.model import NodeView, PlanView, Share
from thalweg.explain.pools import pool_lines
from thalweg.explain.words import (
    INDENT,
    LABEL,
    WIDTH,
    counted,
    cut,
    joined,
    labelled,
    listed,
    number,
    short_id,
    window_text,
)
from thalweg.plan.nodes import Derived, Fragment

FOLDED = 8
"""With more queries than these only the summary is said."""

MOST = 6
"""Sets of queries that are listed, of those that are alike or share something."""

QUERIES = 60
"""Queries that are listed."""

ROOM = WIDTH - LABEL - 2


def shares(view: PlanView) -> dict[str, Share]:
    """The share of each query: of windows in updates, of joins in nanoseconds, of state whoever uses it."""
    found = dict.fromkeys(view.queries, Share())
    work = [(n.queries, set(n.joined), n.expected) for n in view.nodes] + [
        (r.queries, set(r.queries), r.expected) for r in view.runs
    ]
    for queries, joining, e in (w for w in work if w[0]):
        of_join = Share(0.0, e.nanos / max(len(joining), 1), e.state_rows / len(queries))
        of_window = Share(e.cost / max(len(queries) - len(joining), 1), 0.0, e.state_rows / len(queries))
        for q in (q for q in queries if q in found):
            found[q] += of_join if q in joining else of_window
    return found


def title(view: PlanView) -> str:
    """What is explained, in a line."""
    asked = len({(g.group, s.window) for g in view.groups for s in g.steps if s.given})
    factors = len({s.id for g in view.groups for s in g.steps if s.factor})
    unions = sum(bool(n.unites) for n in view.nested)
    nested = len(view.nested) - unions
    parts = [counted(len(view.queries) - nested, "query", "queries")]
    parts += [f"{nested} nested"] if nested else []
    parts += [counted(unions, "union")] if unions else []
    parts += [counted(asked, "window")] if view.groups or not view.joins else []
    parts += [counted(factors, "factor window")] if factors else []
    alone = sum(j.query.of_single_rows for j in view.joins)
    parts += [counted(len(view.joins) - alone, "join")] if len(view.joins) > alone else []
    parts += [f"{alone} of rows"] if alone else []
    measured = f"; measured in batch {view.batch}" if view.batch is not None else ""
    mode = f" ({view.mode})" if view.groups or not view.joins else ""
    return f"plan{mode}: {', '.join(parts)}{measured}"


def is_folded(view: PlanView) -> bool:
    """Whether there are too many queries to say everything of each."""
    return len(view.queries) > FOLDED


def summary_lines(view: PlanView) -> Iterator[str]:
    """Of several queries streams, state and cost; what is shared, what runs once; with many queries each with its share."""
    if len(view.queries) > 1:
        yield from labelled("streams", ", ".join(_streams(view)))
        yield from labelled(
            "state", f"{number(sum(s.state_rows for s in shares(view).values()))} rows expected"
        )
        yield from labelled("cost", joined(_costs(view)))
    yield from nested_lines(view)
    yield from alike_lines(view)
    yield from pool_lines(view.pools)
    yield from shared_lines(view)
    yield from added_lines(view)
    if is_folded(view):
        yield ""
        yield from query_lines(view)


def added_lines(view: PlanView) -> Iterator[str]:
    """What the one query that is explained adds to all others: what would be saved if it were gone."""
    others, more = view.added or (0, Share())
    if others:
        costs = [
            *([f"{number(max(more.cost, 0.0))} hash-table updates a batch"] if view.groups else []),
            *([f"joins {millis(max(more.nanos, 0.0))} ms/s"] if view.joins else []),
            f"{number(max(more.state_rows, 0.0))} state rows",
        ]
        yield from labelled(
            "adds", f"{', '.join(costs)} to {counted(others, 'other query', 'other queries')}"
        )


def _streams(view: PlanView) -> Iterator[str]:
    sources: dict[str, dict[str, None]] = {}
    for node in (n for n in view.nodes if isinstance(n.node, Fragment) and not n.node.static):
        sources.setdefault(node.fragment.source, {}).update(dict.fromkeys(node.queries))
    for source, queries in sources.items():
        yield f"{source} (read once for {counted(len(queries), 'query', 'queries')})"


def _costs(view: PlanView) -> list[str]:
    found = shares(view).values()
    cost, nanos = sum(s.cost for s in found), sum(s.nanos for s in found)
    return [
        *([f"windows {number(cost)} hash-table updates a batch"] if view.groups else []),
        *([f"joins {millis(nanos)} ms/s"] if view.joins else []),
    ]


def nested_lines(view: PlanView) -> Iterator[str]:
    """What is computed for others to read, in the same batch."""
    for i, inner in enumerate(view.nested):
        union = f", the union of {listed(inner.unites, 40)}" if inner.unites else ""
        said = f"{inner.name} ({listed(inner.columns, 40)}){union}, read by {listed(inner.readers, 40)}"
        yield from labelled("" if i else "nested", said)


def alike_lines(view: PlanView) -> Iterator[str]:
    """The queries that ask the same."""
    found = [names for names in view.alike if len(names) > 1]
    for i, names in enumerate(found[:MOST]):
        yield from labelled("" if i else "alike", f"{listed(names, ROOM - 35)} ask the same: they run once")
    if len(found) > MOST:
        yield from labelled("", f"... and {counted(len(found) - MOST, 'more set')} of queries")


def shared_lines(view: PlanView) -> Iterator[str]:
    """What several queries use, what most use first; what the same ones use in a line."""
    found: dict[tuple[str, ...], list[str]] = {}
    for n in (n for n in view.nodes if len(n.queries) > 1):
        found.setdefault(n.queries, []).append(node_text(n))
    for r in (r for r in view.runs if len(r.queries) > 1):
        found.setdefault(r.queries, []).append(f"join {short_id(r.join.id)}")
    sets = sorted(found.items(), key=lambda f: -len(f[0]))
    for i, (queries, texts) in enumerate(sets[:MOST]):
        users = f"by {counted(len(queries), 'query', 'queries')} ({listed(queries, 40)})"
        yield from labelled("" if i else "shared", f"{users}: {listed(texts, 2 * ROOM - len(users) - 12)}")
    if len(sets) > MOST:
        yield from labelled("", f"... and by {counted(len(sets) - MOST, 'more set')} of queries")


def node_text(view: NodeView) -> str:
    """A node in a line: its name, what it is, and whether windows or joins read it."""
    node = view.node
    if isinstance(node, Derived):
        return f"{short_id(node.id)} {window_text(node.window)}"
    if node.static:
        return f"{short_id(node.id)} table ({columns_text(view)})"
    if not node.early:
        return f"{short_id(node.id)} rows ({columns_text(view)})"
    return f"{short_id(node.id)} {window_text(node.window)}" + (
        f" by ({columns_text(view)})" if node.columns else ""
    )


def query_lines(view: PlanView) -> Iterator[str]:
    """A table of the queries, the dearest first."""
    found = shares(view)
    windows, joins = sum(s.cost for s in found.values()) or 1.0, sum(s.nanos for s in found.values()) or 1.0
    names = min(max(map(len, found)), 50)
    asked = {q: sum(r.emission.query == q for r in view.results) for q in view.windowed}
    rows = sorted(
        ((s.cost / windows + s.nanos / joins, q, s) for q, s in found.items()), key=lambda r: (-r[0], r[1])
    )
    yield f"{INDENT}{'queries':<{names}}{'of':>14}{'state rows':>13}{'cost':>13}{'share':>9} "
    for share, q, s in rows[:QUERIES]:
        kind = counted(asked[q], "window") if q in asked else "join"
        cost = number(s.cost) if q in asked else f"{millis(s.nanos)} ms/s"
        yield f"{INDENT}{cut(q, names):<{names}}{kind:>14}{number(s.state_rows):>13}{cost:>13}{100 * share:>7.1f} %"
    if len(rows) > QUERIES:
        yield f"{INDENT}... and {counted(len(rows) - QUERIES, 'more query', 'more queries')}"
    yield ""
    yield f"{INDENT}EXPLAIN QUERY name says all of one query; thalweg explain --verbose, explain().verbose: of all"
