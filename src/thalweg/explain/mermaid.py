"""EXPLAIN as a Mermaid flowchart, which many pages and editors draw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from thalweg.explain.join_mermaid import JOIN_STYLES, join_nodes
from thalweg.explain.join_text import join_heading
from thalweg.explain.model import PlanView, WindowGroup, WindowStep
from thalweg.explain.svg import edge_label
from thalweg.explain.svg_boxes import kind_of
from thalweg.explain.text import heading
from thalweg.explain.words import number, quoted

STYLES = (
    "classDef rows fill:#334155,color:#ffffff,stroke:none",
    "classDef asked fill:#1d4ed8,color:#ffffff,stroke:none",
    "classDef factor fill:#ffffff,color:#1f2937,stroke:#475569,stroke-dasharray:6 4",
    "classDef old fill:#64748b,color:#ffffff,stroke:none",
)


def flowchart(view: PlanView) -> str:
    """A subgraph per group: the rows, the windows, and what is combined into what; and one per join."""
    lines = ["flowchart TB"]
    for i, group in enumerate(view.groups):
        lines += _subgraph(f"g{i}", heading(group), _group(group, f"g{i}"))
    for i, join in enumerate(view.joins):
        lines += _subgraph(f"j{i}", join_heading(join), join_nodes(join, f"j{i}"))
    styles = (*STYLES, *JOIN_STYLES) if view.joins else STYLES
    return "\n".join([*lines, *(f"  {style}" for style in styles)])


def _subgraph(name: str, title: str, nodes: Iterable[str]) -> list[str]:
    return [f'  subgraph {name}["{quoted(title)}"]', "    direction TB", *(f"    {x}" for x in nodes), "  end"]


def _group(view: WindowGroup, name: str) -> Iterator[str]:
    """Nodes in the order of the plan, each with the edge that leads to it."""
    ids = {s.id: f"{name}w{i}" for i, s in enumerate(view.steps)}
    rows = f"{name}rows"
    yield f'{rows}(["rows of {quoted(view.group.stream)}"]):::rows'
    for step in view.steps:
        yield f'{ids[step.id]}["{_label(step)}"]:::{kind_of(step)}'
        yield f'{ids[step.source] if step.source else rows} -->|"{edge_label(step)}"| {ids[step.id]}'


def _label(step: WindowStep) -> str:
    e = step.expected
    kept = f", {number(e.state_rows)} kept" if e.state_rows else ""
    measured = f"<br/>measured {number(step.measured.rows)} rows" if step.measured and step.measured.rows is not None else ""
    users = "factor window" if step.factor else ", ".join(map(quoted, step.queries))
    return f"<b>{step.window}</b><br/>{number(e.rows_out)} rows{kept}<br/>cost {number(e.cost)}{measured}<br/>{users}"
