"""EXPLAIN for programs: plain values that JSON can hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from thalweg.explain.join_data import join_data
from thalweg.explain.model import KnownStatistics, Measured, ModeCosts, PlanView, Result, WindowGroup, WindowStep
from thalweg.explain.times import Times
from thalweg.logical.windows import Window
from thalweg.optimizer.plan_windows import MODES
from thalweg.optimizer.traits import Traits


def plan_data(view: PlanView) -> dict[str, Any]:
    """Everything that is known of a plan."""
    steps = {s.id: (g, s) for g in view.groups for s in g.steps}
    data: dict[str, Any] = {
        "mode": view.mode,
        "queries": [_result(r) for r in view.results],
        "fragments": [_fragment(g, s) for g, s in steps.values()],
        "windows": _windows(view.groups),
    }
    if view.joins:
        data["joins"] = [join_data(j) for j in view.joins]
    if view.batch is not None:
        data["batch"] = view.batch
        data["measured"] = {"emit": _times(view.emitted or {}), "scan": _times(view.scanned or {})}
    return data


def _windows(groups: tuple[WindowGroup, ...]) -> dict[str, Any]:
    """The costs and factor windows of the only group, or the sums and the union over all."""
    units = {g.costs.unit for g in groups}
    return {
        "unit": units.pop() if len(units) == 1 else None,
        "costs": _sums(g.costs.paper for g in groups),
        "engine_costs": _rounded(_sums(g.costs.engine for g in groups)),
        "factors": [list(f) for f in dict.fromkeys(f for g in groups for f in g.costs.factors)],
        "groups": [_group(g) for g in groups],
    }


def _group(view: WindowGroup) -> dict[str, Any]:
    costs, size = view.costs, view.costs.size
    return {
        "stream": view.group.stream,
        "where": list(view.group.where),
        "keys": list(view.group.keys),
        "queries": list(view.queries),
        "aggregates": list(view.aggregates),
        "allows": _traits(view.traits),
        "unit": costs.unit,
        "period": costs.period,
        "costs": dict(costs.paper),
        "factors": [list(f) for f in costs.factors],
        "engine_costs": _rounded(costs.engine),
        "current": _current(costs),
        "statistics": _statistics(view.statistics, bool(view.group.where)),
        "graph": {
            "relation": "covered by" if view.traits.may_overlap else "partitioned by",
            "nodes": [_window(w, size) for w in view.graph.windows],
            "edges": [[str(source), str(window)] for source, window in view.graph.edges],
        },
        "steps": [_step(s, size) for s in view.steps],
    }


def _current(costs: ModeCosts) -> dict[str, Any]:
    return {"engine_cost": round(costs.current, 3), "same_as": list(costs.same)}


def _statistics(known: KnownStatistics, chosen: bool) -> dict[str, Any]:
    """`share` is of the rows that conditions choose, where there are any."""
    v, f = known.values, known.figures
    origins = {"rate": f.rate, **({"share": f.share} if chosen else {}), "keys": f.keys, "batch_seconds": f.batch}
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
    lengths = {"range": window.range, "slide": window.slide, "offset": window.offset}
    return {"window": str(window), **{k: v // size if v % size == 0 else v / size for k, v in lengths.items()}}


def _step(step: WindowStep, size: int) -> dict[str, Any]:
    e = step.expected
    expected = {"rows_in": e.rows_in, "rows_out": e.rows_out, "state_rows": e.state_rows, "cost": e.cost}
    return {
        "id": step.id,
        **_window(step.window, size),
        "from": step.source or "rows",
        "how": step.how,
        "combined": step.combined,
        "factor": step.factor,
        "inside_result": step.inside,
        "ending": step.ending,
        "queries": list(step.queries),
        "predicted": _rounded(expected),
        **({"measured": _measured(step.measured)} if step.measured is not None else {}),
        "sql": step.sql,
    }


def _measured(measured: Measured) -> dict[str, Any]:
    millis = None if measured.millis is None else round(measured.millis, 3)
    return {"rows": measured.rows, "milliseconds": millis, "state_rows": measured.state_rows, "steps": _times(measured.times)}


def _fragment(view: WindowGroup, step: WindowStep) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "id": step.id,
        "stream": view.group.stream,
        "where": list(view.group.where),
        "keys": list(view.group.keys),
        "window": str(step.window),
        "from": step.source or "rows",
        "how": step.how,
        "combined": step.combined,
        "factor": step.factor,
        "parts": list(step.parts),
        "queries": sorted(step.queries),
        "sql": step.sql,
    }
    if step.measured is not None:
        facts["state_rows"] = step.measured.state_rows
        facts["measured"] = _times(step.measured.times)
    return facts


def _result(result: Result) -> dict[str, Any]:
    e = result.emission
    return {
        "query": e.query,
        "window": e.window_id,
        "from": list(e.fragments),
        "begin": e.begin,
        "until": e.until,
        "together": result.together,
        "sql": result.sql,
    }


def _times(times: Times) -> dict[str, list[float]]:
    return {name: [rows, millis] for name, (rows, millis) in times.items()}


def _sums(costs: Iterable[Mapping[str, int | float]]) -> dict[str, int | float]:
    listed = list(costs)
    return {mode: sum(c[mode] for c in listed) for mode in MODES}


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {k: round(v, 3) for k, v in values.items()}
