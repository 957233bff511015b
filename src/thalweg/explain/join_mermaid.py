"""A join as part of a Mermaid flowchart: streams, sides, the join, results."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.explain.join_boxes import join_lines_of, result_text, side_kind, side_lines
from thalweg.explain.join_model import JoinRun, JoinView
from thalweg.explain.join_text import input_text
from thalweg.explain.words import quoted

JOIN_STYLES = (
    "classDef kept fill:#ffffff,color:#1f2937,stroke:#475569",
    "classDef set fill:#0f766e,color:#ffffff,stroke:none",
)


def join_nodes(view: JoinView, name: str) -> Iterator[str]:
    """Nodes and edges of one query; plans that hand over to each other give into the same results."""
    yield from (f'{name}s{n}(["{quoted(input_text(i))}"]):::rows' for n, i in enumerate(view.inputs))
    yield f'{name}out(["results of {quoted(view.query.name)}<br/>{quoted(result_text(view))}"]):::rows'
    for k, run in enumerate(view.runs):
        yield from _run(view, run, name, f"{name}r{k}")


def _run(view: JoinView, run: JoinRun, name: str, own: str) -> Iterator[str]:
    ending = run.join.until is not None
    yield f'{own}["{_label(join_lines_of(view, run))}"]:::{"old" if ending else "asked"}'
    for n, side in enumerate(run.sides):
        yield f'{own}k{n}["{_label(side_lines(view, run, n))}"]:::{side_kind(run, side.side)}'
        yield f"{name}s{n} --> {own}k{n}"
        yield f"{own}k{n} --> {own}"
    yield f"{own} --> {name}out"


def _label(lines: list[str]) -> str:
    """The first line bold."""
    first, *others = map(quoted, lines)
    return "<br/>".join([f"<b>{first}</b>", *others])
