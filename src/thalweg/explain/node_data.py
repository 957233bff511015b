"""A node of the plan as plain values, whether windows or joins read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thalweg.explain.model import Expected, Measured, NodeView, Times
from thalweg.plan.nodes import Fragment


def node_data(view: NodeView) -> dict[str, Any]:
    """A node: what it keeps of what, how it is made, who uses it, and what it takes."""
    node = view.node
    return {
        "id": view.id,
        **(_kept_of(node) if isinstance(node, Fragment) else {"base": node.base}),
        "window": str(view.window),
        "from": view.source or "rows",
        "how": view.how,
        **({"rolled_up_from": view.rolled.id} if view.rolled is not None else {}),
        "combined": view.combined,
        "factor": view.factor,
        "inside_result": view.inside,
        "ending": view.ending,
        "parts": list(view.words.parts_sql),
        "queries": sorted(view.queries),
        "given_to": list(view.given),
        "joined_by": list(view.joined),
        "predicted": expected_data(view.expected),
        **({"measured": measured_data(view.measured)} if view.measured is not None else {}),
        "sql": view.sql,
    }


def _kept_of(node: Fragment) -> dict[str, Any]:
    return {
        "source": node.source,
        "static": node.static,
        "where": [c.sql for c in node.where],
        "columns": [c.sql for c in node.columns],
        "early": node.early,
        "slot_seconds": node.slot / 1e6,
        "hashed": hashed(node),
    }


def hashed(node: Fragment) -> list[list[str] | None]:
    """Per axis of the partitions the columns by whose hash rows are spread; None where they are copied."""
    return [None if axis is None else [node.columns[i].sql for i in axis] for axis in node.route]


def expected_data(e: Expected) -> dict[str, float]:
    """What is expected per batch; `work_ms` per second of stream."""
    found = {
        "rows_in": e.rows_in,
        "rows_out": e.rows_out,
        "state_rows": e.state_rows,
        "cost": e.cost,
        "work_ms": e.nanos / 1e6,
    }
    return rounded(found)


def measured_data(measured: Measured) -> dict[str, Any]:
    """What was measured in the last batch."""
    return {
        "rows": measured.rows,
        "milliseconds": None if measured.millis is None else round(measured.millis, 3),
        "state_rows": measured.state_rows,
        "state_bytes": measured.state_bytes,
        "steps": times_data(measured.times),
    }


def times_data(times: Times) -> dict[str, list[float]]:
    """Rows and milliseconds by step."""
    return {name: [rows, millis] for name, (rows, millis) in times.items()}


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Numbers with no more digits than mean something."""
    return {k: round(v, 3) for k, v in values.items()}
