"""EXPLAIN of joins for programs: plain values that JSON can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg.explain.endless import endless_text
from thalweg.explain.join_costs_text import all_plans, join_reason
from thalweg.explain.join_words import aggregate_text, condition_texts, having_text, key_texts
from thalweg.explain.model import InputView, JoinRun, JoinView, NodeView
from thalweg.explain.node_data import expected_data, hashed, measured_data, node_data
from thalweg.optimizer.join_plans import Considered, JoinChoice
from thalweg.plan.join_order import Meeting
from thalweg.plan.nodes import Fragment
from thalweg.statistics.known import Figure
from thalweg.statistics.records import Heavy


def join_data(view: JoinView) -> dict[str, Any]:
    """Everything that is known of a join query."""
    q = view.query
    found: dict[str, Any] = {
        "query": q.name,
        "inputs": [_input(i, s) for i, s in zip(view.inputs, view.run.sides, strict=True)],
        "on": list(condition_texts(q)),
        "keys": key_texts(q),
        "aggregates": [aggregate_text(q, a) for a in q.aggregates],
        "having": having_text(q),
        "every_seconds": None if q.every is None else q.every / 1e6,
        "changes": q.changes,
        "statistics": _statistics(view),
        "partitioning": _partitioning(view),
        "plan": _choice(view, view.run.choice),
        "runs": [_run(r, view) for r in view.runs],
        "plans": [_plan(view, p) for p in all_plans(view)],
        "settings": list(view.settings),
        "without_effect": list(view.idle),
        "best": _choice(view, view.freely.choice),
        "reason": join_reason(view),
        "paper_costs": {name: round(cost, 3) for name, cost in view.paper.items()},
        "sides": [{**node_data(s), "shared_by": [o for o in s.queries if o != q.name]} for s in view.sides],
    }
    if q.told:
        found["windows"] = [w.id for w in q.told]
    if notice := endless_text(q):
        found["notice"] = notice
    if view.is_measured:
        changes = None if view.changes is None else measured_data(view.changes)
        found["measured"] = {"finish": list(view.finished or (0, 0.0)), "changes": changes}
    return found


def _input(view: InputView, side: NodeView) -> dict[str, Any]:
    given, s, f = view.given, view.statistics, view.figures
    return {
        "alias": given.alias,
        "source": given.source,
        "window": given.kind,
        "length_seconds": None if given.length is None else given.length / 1e6,
        "where": [c.sql for c in given.where],
        "rate": s.rate,
        **({} if given.is_stream else {"rows": s.rows}),
        "keys": s.keys,
        "sets": s.sets,
        "equated": [_values(columns, count, heavy) for columns, count, heavy in f.equated],
        "share": float(f"{f.share.value:.2g}"),
        "origins": {
            "rate" if given.is_stream else "rows": f.rows.origin.value,
            "share": f.share.origin.value,
            "keys": f.keys.origin.value,
            "sets": f.sets.origin.value,
        },
        "side": side.id,
    }


def _values(columns: tuple[str, ...], count: Figure, heavy: Heavy) -> dict[str, Any]:
    """Distinct values of equated columns, and the shares of rows that the frequent ones have."""
    frequent = [float(f"{share:.2g}") for _, share in heavy]
    return {
        "columns": list(columns),
        "values": float(f"{count.value:.2g}"),
        "frequent": frequent,
        "origin": count.origin.value,
    }


def _statistics(view: JoinView) -> dict[str, Any]:
    s = view.statistics
    origins = {"groups": view.groups.origin.value, "batch_seconds": view.batch.origin.value}
    return {"groups": s.groups, "batch_seconds": s.batch / 1e6, "origins": origins}


def _partitioning(view: JoinView) -> dict[str, Any]:
    """Per axis of the grid the hashed columns of each input that has some, and the inputs that every partition has whole."""
    pairs = [(i.given.alias, s.fragment) for i, s in zip(view.inputs, view.run.sides, strict=True)]
    axes = range(max((len(side.route) for _, side in pairs), default=0))
    return {
        "axes": [
            {alias: by for alias, side in pairs if side.route and (by := hashed(side)[n]) is not None}
            for n in axes
        ],
        "whole": [alias for alias, side in pairs if not side.route],
        **_split(pairs),
    }


def _split(pairs: Sequence[tuple[str, Fragment]]) -> dict[str, Any]:
    """How many frequent values all partitions have: which inputs' rows are dealt out, and which are copied."""
    found = [(alias, side.split) for alias, side in pairs if side.split is not None]
    if not found:
        return {}
    dealt, copied = ([alias for alias, s in found if s.dealt is so] for so in (True, False))
    first = found[0][1]
    return {"split": {"values": len(first.hot), "dealt": dealt, "copied": copied, "gain": first.gain}}


def _choice(view: JoinView, choice: JoinChoice) -> dict[str, Any]:
    """A plan; `order` is that of its inputs where there are three or more, by the one whose new rows meet the others."""
    return {
        "early": list(choice.early),
        "evaluate": choice.evaluate,
        "method": choice.method,
        "order": [_meeting(view, m) for m in choice.order],
        "name": choice.name,
    }


def _meeting(view: JoinView, meeting: Meeting) -> dict[str, Any]:
    names = [i.alias for i in view.query.inputs]
    return {
        "fresh": None if meeting.fresh is None else names[meeting.fresh],
        "inputs": [names[n] for n in meeting.inputs],
    }


def _run(run: JoinRun, view: JoinView) -> dict[str, Any]:
    """A running plan; `begin` and `until` are event times in microseconds between which instants are given out."""
    every = view.query.every or 1
    begin, until = (None if i is None else i * every for i in (run.emission.begin, run.emission.until))
    return {
        "id": run.join.id,
        **_choice(view, run.choice),
        "begin": begin,
        "until": until,
        "handing_over": until is not None,
        "sides": list(run.join.sides),
        "queries": list(run.queries),
        "steps": [{"name": f"{s.action} {s.about}", "sql": s.sql} for s in run.steps],
        "predicted": expected_data(run.expected),
        **({"measured": measured_data(run.measured)} if run.measured is not None else {}),
    }


def _plan(view: JoinView, plan: Considered) -> dict[str, Any]:
    """A plan with its cost in milliseconds per second of stream."""
    e = plan.estimate
    return {
        **_choice(view, plan.choice),
        "work_ms": round(e.nanos / 1e6, 6),
        "terms": {name: round(n / 1e6, 6) for name, n in e.terms},
        "state_rows": round(e.state_rows, 3),
        "state_bytes": round(e.state_bytes, 3),
        "pairs": round(e.pairs, 3),
    }
