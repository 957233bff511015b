"""Elements of an SVG picture as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from thalweg.explain.layout import Point

WIDTH = 1320.0
MARGIN = 24.0

STYLE = """
text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2937 }
.title { font-size: 18px; font-weight: 600 }
.group { font-size: 15px; font-weight: 600 }
.quiet { fill: #6b7280 }
.strong { font-weight: 600 }
.number { font-variant-numeric: tabular-nums }
.wire { fill: none; stroke: #94a3b8; stroke-width: 1.4 }
.label { font-size: 11px; fill: #475569 }
.rows, .results { fill: #334155 }
.shared { fill: #f59e0b }
.count { font-size: 10px; font-weight: 600; fill: #1f2937 }
.asked { fill: #1d4ed8 }
.old { fill: #64748b }
.factor { fill: #ffffff; stroke: #475569; stroke-width: 1.5; stroke-dasharray: 6 4 }
.kept { fill: #ffffff; stroke: #475569; stroke-width: 1.5 }
.set { fill: #0f766e }
.on { fill: #ffffff }
.name { font-size: 13px; font-weight: 600 }
.small { font-size: 11px }
.share { fill: #f59e0b }
.bar { fill: #93c5fd }
.chosen { fill: #1d4ed8 }
.line { stroke: #e2e8f0 }
"""


@dataclass(frozen=True)
class Drawn:
    """A piece of the picture and where it ends."""

    parts: tuple[str, ...]
    right: float
    bottom: float


def document(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """A whole picture on white."""
    w, h = round(width), round(height)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
            '<path d="M0,0.5 L8,4 L0,7.5 z" fill="#94a3b8"/></marker></defs>',
            f'<rect width="{w}" height="{h}" fill="#ffffff"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    """A line of text; `anchor` says which end of it x is."""
    return f'<text x="{_n(x)}" y="{_n(y)}" class="{kind}" text-anchor="{anchor}">{escape(content)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str, corner: float = 6) -> str:
    """A filled rectangle."""
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{_n(corner)}" class="{kind}"/>'


def wire(points: Iterable[Point], tip: bool = False) -> str:
    """A line, with an arrow at its end if wanted."""
    path = " L".join(f"{_n(x)},{_n(y)}" for x, y in points)
    return (
        f'<path d="M{path}" class="wire"{" marker-end=" + chr(34) + "url(#tip)" + chr(34) if tip else ""}/>'
    )


def line(x: float, right: float, y: float) -> str:
    """A rule across."""
    return f'<line x1="{_n(x)}" x2="{_n(right)}" y1="{_n(y)}" y2="{_n(y)}" class="line"/>'


def hinted(hint: str, queries: Iterable[str], parts: Iterable[str]) -> str:
    """Elements that say more when pointed at, and whom they are for."""
    users = escape(" ".join(queries))
    return f'<g data-queries="{users}"><title>{escape(hint)}</title>{"".join(parts)}</g>'


def _n(value: float) -> str:
    """A coordinate with no more digits than are seen."""
    return f"{value:.1f}".rstrip("0").rstrip(".")
