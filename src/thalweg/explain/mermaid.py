"""EXPLAIN as a Mermaid flowchart, which many pages and editors draw."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.explain.diagrams import Box, Diagram, diagrams
from thalweg.explain.model import PlanView
from thalweg.explain.words import quoted

STYLES = {
    "rows": "fill:#334155,color:#ffffff,stroke:none",
    "results": "fill:#334155,color:#ffffff,stroke:none",
    "asked": "fill:#1d4ed8,color:#ffffff,stroke:none",
    "factor": "fill:#ffffff,color:#1f2937,stroke:#475569,stroke-dasharray:6 4",
    "kept": "fill:#ffffff,color:#1f2937,stroke:#475569",
    "set": "fill:#0f766e,color:#ffffff,stroke:none",
    "old": "fill:#64748b,color:#ffffff,stroke:none",
}


def flowchart(view: PlanView) -> str:
    """A subgraph per group of windows and per join."""
    shown = list(diagrams(view))
    kinds = {b.kind for d in shown for b in d.boxes}
    lines = [line for d in shown for line in _subgraph(d)]
    return "\n".join(
        [
            "flowchart TB",
            *lines,
            *_same(shown),
            *(f"  classDef {k} {style}" for k, style in STYLES.items() if k in kinds),
        ]
    )


def _same(shown: list[Diagram]) -> Iterator[str]:
    """A dotted line between boxes that stand for the same node."""
    first: dict[str, str] = {}
    for b in (b for d in shown for b in d.boxes if b.node is not None):
        if (other := first.setdefault(b.node or "", b.key)) != b.key:
            yield f"  {other} -. the same .- {b.key}"


def _subgraph(diagram: Diagram) -> Iterator[str]:
    yield f'  subgraph {diagram.root.removesuffix("rows").removesuffix("out")}["{quoted(diagram.title)}"]'
    yield "    direction TB"
    for b in diagram.boxes:
        open_, close = ("([", "])") if b.kind in ("rows", "results") else ("[", "]")
        yield f'    {b.key}{open_}"{_label(b)}"{close}:::{b.kind}'
    for e in diagram.edges:
        yield f"    {e.source} -->{f'|{chr(34)}{quoted(e.label)}{chr(34)}|' if e.label else ''} {e.target}"
    yield "  end"


def _label(b: Box) -> str:
    """The name bold, how many share it, and what is said below."""
    shared = f"shared by {b.shared} queries" if b.shared > 1 else ""
    return "<br/>".join([f"<b>{quoted(b.name)}</b>", *map(quoted, b.lines), *filter(None, [shared])])
