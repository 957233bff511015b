"""EXPLAIN for programs: plain values that JSON can hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from thalweg.explain.join_data import join_data
from thalweg.explain.model import KnownStatistics, ModeCosts, PlanView, PoolView, Result, Share, WindowGroup
from thalweg.explain.node_data import node_data, rounded, times_data
from thalweg.explain.summary import shares
from thalweg.explain.words import scientific
from thalweg.model.windows import Window
from thalweg.optimizer.plan_windows import COSTED, MODES
from thalweg.optimizer.traits import Traits


def plan_data(view: PlanView) -> dict[str, Any]:
    """Everything that is known of a plan."""
    data: dict[str, Any] = {
        "mode": view.mode,
        "queries": [_result(r) for r in view.results],
        **({"nested": [asdict(n) for n in view.nested]} if view.nested else {}),
        "fragments": [node_data(n) for n in view.nodes],
        "windows": _windows(view.groups),
        "alike": [list(names) for names in view.alike if len(names) > 1],
        "shares": {q: share_data(s) for q, s in shares(view).items()},
    }
    if view.pools:
        data["pools"] = [_pool(p) for p in view.pools]
    if view.added is not None:
        others, more = view.added
        data["adds"] = {"others": others, **share_data(more)}
    if view.joins:
        data["joins"] = [join_data(j) for j in view.joins]
    if view.batch is not None:
        data["batch"] = view.batch
        data["measured"] = {"emit": times_data(view.emitted or {}), "scan": times_data(view.scanned or {})}
    return data


def share_data(share: Share) -> dict[str, float]:
    """A part of the cost as plain values: hash-table updates a batch, milliseconds of work a second of stream, rows of state."""
    return rounded({"cost": share.cost, "work_ms": share.nanos / 1e6, "state_rows": share.state_rows})


def _pool(view: PoolView) -> dict[str, Any]:
    costs = {"together_ms": view.together / 1e6, "apart_ms": view.apart / 1e6}
    marginal = {} if view.marginal is None else {"marginal_ms": view.marginal / 1e6}
    commons = {} if view.commons is None else {"commons": {"id": view.commons[0], "pools": view.commons[1]}}
    every = {} if view.every is None else {"every_seconds": view.every / 1e6}
    return {
        "id": view.id,
        "queries": list(view.queries),
        **rounded({**costs, **marginal}),
        **every,
        **commons,
    }


def _windows(groups: tuple[WindowGroup, ...]) -> dict[str, Any]:
    """The costs and factor windows of the only group, or the sums and the union over all."""
    units = {g.costs.unit for g in groups}
    return {
        "unit": units.pop() if len(units) == 1 else None,
        "costs": _storable_costs(_sums((g.costs.paper for g in groups), COSTED)),
        "engine_costs": rounded(_sums(g.costs.engine for g in groups)),
        "factors": [list(f) for f in dict.fromkeys(f for g in groups for f in g.costs.factors)],
        "groups": [_group(g) for g in groups],
    }


def _group(view: WindowGroup) -> dict[str, Any]:
    costs, size = view.costs, view.costs.size
    return {
        "stream": view.group.stream,
        "where": [c.sql for c in view.group.where],
        "keys": [k.sql for k in view.group.keys],
        "queries": list(view.queries),
        "aggregates": list(view.aggregates),
        "allows": _traits(view.traits),
        "unit": costs.unit,
        "period": _storable(costs.period),
        "costs": _storable_costs(costs.paper),
        "factors": [list(f) for f in costs.factors],
        "engine_costs": rounded(costs.engine),
        "paper_costs": _storable_costs(costs.made),
        "paper_costs_at_rate": _storable_costs(costs.rated),
        "current": _current(costs),
        "statistics": _statistics(view.statistics, bool(view.group.where)),
        "graph": {
            "relation": "covered by" if view.traits.may_overlap else "partitioned by",
            "nodes": [_window(w, size) for w in view.graph.windows],
            "edges": [[str(source), str(window)] for source, window in view.graph.edges],
        },
        "steps": [{**node_data(s), **_window(s.window, size), "queries": list(s.given)} for s in view.steps],
    }


def _current(costs: ModeCosts) -> dict[str, Any]:
    return {
        "engine_cost": round(costs.current, 3),
        "paper_cost": _storable(costs.current_made),
        "paper_cost_at_rate": _storable(costs.current_rated),
        "same_as": list(costs.same),
    }


def _statistics(known: KnownStatistics, chosen: bool) -> dict[str, Any]:
    """`share` is of the rows that conditions choose, where there are any."""
    v, f = known.values, known.figures
    origins = {
        "rate": f.rate,
        **({"share": f.share} if chosen else {}),
        "keys": f.keys,
        "batch_seconds": f.batch,
    }
    return {
        "rate": v.rate,
        **({"share": float(f"{f.share.value:.2g}")} if chosen else {}),
        "keys": v.keys,
        "batch_seconds": v.batch / 1e6,
        "origins": {name: figure.origin.value for name, figure in origins.items()},
    }


def _traits(traits: Traits) -> list[str]:
    return [name for name in ("overlap_safe", "invertible", "holistic") if getattr(traits, name)]


def _window(window: Window, size: int) -> dict[str, Any]:
    if window.session:
        return {
            "window": str(window),
            "gap": window.range // size if window.range % size == 0 else window.range / size,
        }
    lengths = {"range": window.range, "slide": window.slide, "offset": window.offset}
    return {
        "window": str(window),
        **{k: v // size if v % size == 0 else v / size for k, v in lengths.items()},
    }


def _result(result: Result) -> dict[str, Any]:
    e = result.emission
    return {
        "query": e.query,
        "window": e.window_id,
        "from": list(e.nodes),
        "begin": e.begin,
        "until": e.until,
        "together": result.together,
        "sql": result.sql,
    }


def _sums(costs: Iterable[Mapping[str, int | float]], modes: Iterable[str] = MODES) -> dict[str, int | float]:
    listed = list(costs)
    return {mode: sum(c[mode] for c in listed) for mode in modes}


def _storable(value: int | float) -> int | float | str:
    """A number as JSON can hold it: beyond what a float reaches, in text."""
    return value if value < 1e300 else scientific(value)


def _storable_costs(costs: Mapping[str, int | float]) -> dict[str, int | float | str]:
    return {mode: _storable(cost) for mode, cost in costs.items()}
