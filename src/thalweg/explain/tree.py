"""The chosen plan of a group as a tree, with what each window takes in columns beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from thalweg.explain.model import NodeView, WindowGroup
from thalweg.explain.words import WIDTH, counted, cut, listed, number, window_text

GAP = 2
LEAST = 20
"""The least width of the last column where it has that much to say."""

INSIDE = "·"
"""Stands for what is measured with the results of a query only."""

Column = tuple[str, Callable[[NodeView], str]]
"""A header and the text of a cell."""

EXPECTED: tuple[Column, ...] = (
    ("how", lambda s: s.how),
    ("combines", lambda s: "" if s.source is None else f"{s.combined:,}"),
    ("rows in", lambda s: number(s.expected.rows_in)),
    ("rows out", lambda s: number(s.expected.rows_out)),
    ("state rows", lambda s: _nonzero(s.expected.state_rows)),
    ("cost", lambda s: number(s.expected.cost)),
)
MEASURED: tuple[Column, ...] = (
    ("how", lambda s: s.how),
    ("combines", lambda s: "" if s.source is None else f"{s.combined:,}"),
    ("rows out", lambda s: number(s.expected.rows_out)),
    ("measured", lambda s: _measured(s, s.measured.rows if s.measured else None)),
    ("state", lambda s: _nonzero(s.expected.state_rows)),
    ("measured", lambda s: _nonzero(s.measured.state_rows if s.measured else 0)),
    ("cost", lambda s: number(s.expected.cost)),
    ("ms", lambda s: _measured(s, s.measured.millis if s.measured else None)),
)


def tree(view: WindowGroup, measured: bool, width: int = WIDTH, most: int | None = None) -> Iterator[str]:
    """Lines: a header, the rows, and every window below what it is computed from; of more than so many only the first."""
    drawn = list(branches(view))
    left_out = max(len(drawn) - most, 0) if most is not None else 0
    drawn = drawn[: len(drawn) - left_out]
    columns = [
        [head, "", *(cell(s) for _, s in drawn)] for head, cell in (MEASURED if measured else EXPECTED)
    ]
    middle = [
        "".join(" " * GAP + text for text in line) for line in zip(*map(_aligned, columns), strict=True)
    ]
    room = width - len(middle[0]) - GAP
    wanted = max((len(users(s, LEAST)) for _, s in drawn), default=0)
    names = ["", f"rows of {view.group.stream}", *_names(drawn, room - wanted)]
    left = max(map(len, names))
    right = ["for", "", *(users(s, room - left) for _, s in drawn)]
    for line in zip(names, middle, right, strict=True):
        yield f"{line[0]:<{left}}{line[1]}{' ' * GAP}{line[2]}".rstrip()
    if left_out:
        yield f"... and {counted(left_out, 'more window')}, in the verbose form"


def branches(view: WindowGroup, id: str | None = None, stem: str = "") -> Iterator[tuple[str, NodeView]]:
    """Each window with the box characters that lead to it, sources before the windows that read them."""
    children = view.children(id)
    for i, step in enumerate(children):
        last = i == len(children) - 1
        yield stem + ("└─ " if last else "├─ "), step
        yield from branches(view, step.id, stem + ("   " if last else "│  "))


def users(step: NodeView, width: int) -> str:
    """The queries that a window is for, or that it is a factor window."""
    mark = " (old)" if step.ending else ""
    return (
        "(factor)"
        if step.factor
        else cut(listed(step.given or step.queries, width - len(mark)) + mark, width)
    )


def _names(drawn: Sequence[tuple[str, NodeView]], room: int) -> list[str]:
    """The windows in full, or all of them in short where one would be too long."""
    full = [stem + str(s.window) for stem, s in drawn]
    if max(map(len, full), default=0) <= room:
        return full
    return [cut(stem + window_text(s.window), room) for stem, s in drawn]


def _aligned(column: list[str]) -> list[str]:
    """Words at the left, numbers at the right."""
    width = max(map(len, column))
    return [text.ljust(width) if column[0] == "how" else text.rjust(width) for text in column]


def _nonzero(value: float) -> str:
    return number(value) if value else ""


def _measured(step: NodeView, value: float | None) -> str:
    """A measured value; a window that is computed inside a result step has none of its own."""
    return number(value) if value is not None else INSIDE if step.inside else ""
