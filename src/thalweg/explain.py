"""EXPLAIN: what runs, why, and what the alternatives would cost."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from thalweg.config import Config
from thalweg.plan.build import TIME
from thalweg.plan.compile import derive_sql, emission_steps, lift_sql
from thalweg.plan.nodes import Fragment, Plan
from thalweg.state.manifest import Manifest


@dataclass(frozen=True)
class Explanation:
    """A plan for people (`str`) and for programs (`data`)."""

    text: str
    data: dict[str, Any]

    def __str__(self) -> str:
        return self.text

    def json(self) -> str:
        """The plan as JSON."""
        return json.dumps(self.data, indent=2)


def explain(plan: Plan, config: Config, query: str | None = None, measured: Manifest | None = None) -> Explanation:
    """Explain a plan, or the part of it that one query uses."""
    shown = plan if query is None else _part_of(plan, query)
    data = {"mode": config.windows, "queries": _queries(shown), "fragments": [_fragment(shown, f, measured) for f in shown.fragments]}
    return Explanation(_text(shown, data), data)


def _part_of(plan: Plan, query: str) -> Plan:
    emissions = tuple(e for e in plan.emissions if e.query == query)
    wanted = {id for e in emissions for id in e.fragments}
    while more := {f.source for f in plan.fragments if f.id in wanted and f.source} - wanted:
        wanted |= more
    return Plan(plan.streams, plan.queries, tuple(f for f in plan.fragments if f.id in wanted), emissions)


def _queries(plan: Plan) -> list[dict[str, Any]]:
    steps = emission_steps(plan)
    return [
        {"query": e.query, "window": e.window_id, "from": list(e.fragments), "begin": e.begin, "until": e.until, "sql": steps[i].sql}
        for i, e in enumerate(plan.emissions)
    ]


def _fragment(plan: Plan, fragment: Fragment, measured: Manifest | None) -> dict[str, Any]:
    source = plan.fragment(fragment.source) if fragment.source else None
    facts: dict[str, Any] = {
        "id": fragment.id,
        "stream": fragment.stream,
        "where": list(fragment.where),
        "keys": list(fragment.keys),
        "window": str(fragment.window),
        "from": fragment.source or "rows",
        "how": fragment.how,
        "combined": len(fragment.pieces),
        "factor": fragment.factor,
        "parts": [p.lift.replace(TIME, "event time") for p in fragment.parts],
        "queries": sorted({e.query for e in plan.emissions if fragment.id in e.fragments}),
        "sql": derive_sql(fragment, source.window) if source else lift_sql(fragment),
    }
    if measured is not None:
        facts["state_rows"] = sum(f.rows for f in measured.files if f.fragment == fragment.id)
        facts["measured"] = {k.partition(" ")[0]: v for k, v in measured.steps.items() if k.endswith(fragment.id)}
    return facts


def _text(plan: Plan, data: dict[str, Any]) -> str:
    lines = [f"plan ({data['mode']})"]
    roots = [f for f in plan.fragments if f.source is None]
    by_id = {f["id"]: f for f in data["fragments"]}
    for root in roots:
        where = f" where {' and '.join(root.where)}" if root.where else ""
        keys = f" by {', '.join(root.keys)}" if root.keys else ""
        lines.append(f"{root.stream}{where}{keys}")
        _tree(plan, root, by_id, "", lines)
    return "\n".join(lines)


def _tree(plan: Plan, fragment: Fragment, by_id: dict[str, Any], indent: str, lines: list[str]) -> None:
    facts = by_id[fragment.id]
    how = "from the rows" if fragment.source is None else f"{len(fragment.pieces)} combined"
    users = f" -> {', '.join(facts['queries'])}" if facts["queries"] else ""
    state = f", state {facts['state_rows']:,} rows" if "state_rows" in facts else ""
    times = "".join(f", {k} {int(v[0]):,} rows {v[1]:.1f} ms" for k, v in facts.get("measured", {}).items())
    mark = " (factor)" if fragment.factor else ""
    lines.append(f"{indent}└─ {fragment.window}{mark}: {how}; {', '.join(facts['parts']) or 'groups'}{users}{state}{times}")
    for child in plan.fragments:
        if child.source == fragment.id:
            _tree(plan, child, by_id, indent + "   ", lines)
