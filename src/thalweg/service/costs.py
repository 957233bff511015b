"""What queries are expected to cost, and what of it was measured, from the plan as EXPLAIN has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from thalweg.service.shapes import CostView, NodeView


def costs_of(shares: Mapping[str, Mapping[str, float]]) -> Iterator[CostView]:
    """The part of every query, beside those of its kind.

    >>> def paid(cost): return {"cost": cost, "work_ms": 0.0, "state_rows": 1.0}
    >>> [c.share for c in costs_of({"a": paid(30.0), "b": paid(10.0)})]
    [0.75, 0.25]
    """
    updates, work = (sum(s[key] for s in shares.values()) for key in ("cost", "work_ms"))
    for name, s in shares.items():
        is_join = s["work_ms"] > 0
        part = s["work_ms"] / work if is_join else s["cost"] / updates if updates else 0.0
        yield CostView(
            name, "joins" if is_join else "windows", s["cost"], s["work_ms"], s["state_rows"], round(part, 4)
        )


def shares_of(plan: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The part of every query that somebody asked for; that of an inner query is divided among those who read its results."""
    readers, told = readers_of(plan), plan["shares"]
    found = {name: dict(share) for name, share in told.items() if name not in readers}
    for inner, names in readers.items():
        for name, key in ((n, k) for n in names for k in told.get(inner, ())):
            found[name][key] += told[inner][key] / len(names)
    return found


def readers_of(plan: Mapping[str, Any]) -> dict[str, list[str]]:
    """By inner query those who read its results, be it through others.

    >>> readers_of({"nested": [{"name": "in", "readers": ["mid"]}, {"name": "mid", "readers": ["a", "b"]}]})
    {'in': ['a', 'b'], 'mid': ['a', 'b']}
    """
    direct = {n["name"]: n["readers"] for n in plan.get("nested", ())}
    return {name: sorted(set(_outer(direct, name))) for name in direct}


def _outer(direct: Mapping[str, list[str]], name: str) -> Iterator[str]:
    for reader in direct[name]:
        yield from _outer(direct, reader) if reader in direct else (reader,)


def nodes_of(plan: Mapping[str, Any], query: str) -> Iterator[NodeView]:
    """The nodes that a query uses, those of its inner queries too: what is kept and computed of streams, then its joins."""
    sources = {node["id"]: node.get("source", "") for node in plan["fragments"]}
    inner = readers_of(plan)
    for node in plan["fragments"]:
        source = node.get("source") or sources.get(node.get("base", ""), "")
        made = "" if node["from"] == "rows" else f", {node['combined']:,} combined"
        what = f"{'an inner query' if source in inner else source}, {node['window']}{made}"
        yield from _used(node, _kind(node), what, query, inner)
    for join in plan.get("joins", ()):
        for run in join["runs"]:
            yield from _used(run, "join", run["name"], query, inner)


def _used(
    node: Mapping[str, Any], kind: str, what: str, query: str, inner: Mapping[str, list[str]]
) -> Iterator[NodeView]:
    """The node, if the query uses it."""
    users = dict.fromkeys(user for name in node["queries"] for user in inner.get(name, [name]))
    if query in users:
        yield _view(node, kind, what, tuple(users))


def _kind(node: Mapping[str, Any]) -> str:
    if node["factor"]:
        return "factor window"
    return "window" if "base" in node else "table" if node.get("static") else "stream"


def _view(node: Mapping[str, Any], kind: str, what: str, users: tuple[str, ...]) -> NodeView:
    expected, measured = node["predicted"], node.get("measured") or {}
    return NodeView(
        id=node["id"],
        kind=kind,
        what=what,
        queries=users,
        expected_rows=expected.get("rows_out", 0.0),
        expected_state_rows=expected.get("state_rows", 0.0),
        expected_work_ms=expected.get("work_ms", 0.0),
        rows=measured.get("rows"),
        state_rows=measured.get("state_rows"),
        milliseconds=measured.get("milliseconds"),
    )
