"""What the last batch measured of a join's steps and of what they keep, beside what was expected of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from thalweg.explain.join_costs_text import times
from thalweg.explain.model import Expected, JoinView, Measured
from thalweg.explain.words import cut, number, short_id

NAME = 38
HEADS = (
    ("rows", 9),
    ("expected", 10),
    ("ms", 9),
    ("expected", 10),
    ("state rows", 12),
    ("expected", 10),
    ("bytes", 8),
)
PAIRS = "joined rows"
FAR = 2.0
"""How many times what is expected is worth a word."""
Row = tuple[str, tuple[float | None, ...]]
"""The name of a step, and a cell for each column."""


def measured_lines(view: JoinView) -> Iterator[str]:
    """A line per step, then what was measured and expected of all."""
    rows = list(measured_rows(view))
    yield f"{'measured':<{NAME}}" + "".join(f"{head:>{width}}" for head, width in HEADS)
    yield from (_line(name, cells) for name, cells in rows)
    e, seconds = view.run.cost.estimate, view.statistics.batch / 1e6
    sums = [sum(c[n] or 0 for _, c in rows) for n in (2, 4, 6)]
    yield _line("in all", (None, None, sums[0], e.nanos / 1e6 * seconds, sums[1], e.state_rows, sums[2]))
    if said := furthest_off(rows):
        yield said


def measured_rows(view: JoinView) -> Iterator[Row]:
    """Every step that ran, in order; the state stands with the last step of what keeps it."""
    aliases = {s.id: i.given.alias for r in view.runs for s, i in zip(r.sides, view.inputs, strict=True)}
    seconds = view.statistics.batch / 1e6
    for side in view.sides:
        if side.measured is not None:
            name = f"{aliases[side.id]} ({short_id(side.id)})"
            if "lift" in side.measured.times:
                yield (
                    f"lift {name}",
                    _ran(side.measured, "lift", side.expected.rows_out, side.expected.nanos / 1e6 * seconds),
                )
            yield f"keep {name}", _kept(side.measured, side.expected)
    for run in view.runs:
        if run.measured is not None:
            evaluate = run.join.evaluate
            yield evaluate, _ran(run.measured, evaluate, None, run.expected.nanos / 1e6 * seconds)
            if "pairs" in run.measured.times:
                pairs = run.measured.times["pairs"][0], run.cost.estimate.pairs * seconds
                yield PAIRS, (*pairs, None, None, None, None, None)
            if run.measured.state_rows or "keep" in run.measured.times:
                yield f"keep {short_id(run.join.id)}", _kept(run.measured, run.expected)
    if view.finished is not None:
        yield "finish", (view.finished[0], None, view.finished[1], None, None, None, None)
    if view.changes is not None:
        yield "keep what changes are told from", _kept(view.changes, Expected())


def furthest_off(rows: Iterable[Row]) -> str:
    """Of all that was measured, what is furthest from what is expected, if it is far.

    >>> furthest_off([("lift a", (100, 90, 5.0, 20.0, None, None, None)), ("joined rows", (9000, 1000, None, None, None, None, None))])
    'furthest off: 9,000 joined rows, 9.00 times what is expected'
    """
    found = [
        (
            max(is_ / was, was / is_),
            f"{number(is_)} {_figure(name, what)}, {times(is_, was)} times what is expected",
        )
        for name, cells in rows
        for (what, _), is_, was in zip(HEADS[::2], cells[::2], cells[1::2], strict=False)
        if is_ and was
    ]
    far, said = max(found, default=(1.0, ""))
    return f"furthest off: {said}" if far >= FAR else ""


def _figure(name: str, what: str) -> str:
    return name if name == PAIRS else f"{what} of {name}"


def _ran(state: Measured, action: str, rows: float | None, millis: float) -> tuple[float | None, ...]:
    count, took = state.times.get(action, (None, None))
    return count, rows, took, millis, None, None, None


def _kept(state: Measured, expected: Expected) -> tuple[float | None, ...]:
    rows, took = state.times.get("keep", (None, None))
    return rows, None, took, None, state.state_rows, expected.state_rows or None, state.state_bytes


def _line(name: str, cells: tuple[float | None, ...]) -> str:
    texts = ("" if c is None else number(c) for c in cells)
    return (
        f"{cut(name, NAME - 1):<{NAME}}"
        + "".join(f"{t:>{w}}" for t, (_, w) in zip(texts, HEADS, strict=True))
    ).rstrip()
