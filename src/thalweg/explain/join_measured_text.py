"""What the last batch measured of a join's steps, and what its sides and its evaluation keep."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.explain.join_model import JoinView, KeptState
from thalweg.explain.words import cut, number

NAME = 44
Row = tuple[str, tuple[int, float] | None, KeptState | None]
"""A step, its rows and milliseconds, and the state that it leaves."""


def measured_lines(view: JoinView) -> Iterator[str]:
    """A line per step, then what was expected of all."""
    rows = list(measured_rows(view))
    yield f"{'measured':<{NAME}}{'rows':>10}{'ms':>10}{'state rows':>12}{'bytes':>10}"
    for name, time, state in rows:
        yield _line(name, time, state.rows if state else None, state.bytes if state else None)
    kept = [s for _, _, s in rows if s is not None]
    yield _line("in all", (None, sum(t[1] for _, t, _ in rows if t)), sum(s.rows for s in kept), sum(s.bytes for s in kept))
    e = view.run.cost.estimate
    yield _line(f"expected of {view.run.choice.name}", (None, e.nanos / 1e6 * view.statistics.batch / 1e6), e.state_rows, e.state_bytes)


def measured_rows(view: JoinView) -> Iterator[Row]:
    """Every step that ran, in order; the state stands with the last step of what keeps it."""
    aliases = {s.side.id: i.given.alias for r in view.runs for s, i in zip(r.sides, view.inputs, strict=True)}
    for side in view.sides:
        if side.measured is not None:
            yield from _kept(f"{aliases[side.side.id]} ({side.side.id})", side.measured)
    for run in view.runs:
        if run.measured is not None:
            evaluate = run.join.evaluate
            yield evaluate, run.measured.times.get(evaluate), None
            if run.measured.rows or "keep" in run.measured.times:
                yield f"keep {run.join.id}", run.measured.times.get("keep"), run.measured
    if view.finished is not None:
        yield "finish", view.finished, None
    if view.changes is not None:
        yield "keep what changes are told from", view.changes.times.get("keep"), view.changes


def _kept(name: str, state: KeptState) -> Iterator[Row]:
    if "lift" in state.times:
        yield f"lift {name}", state.times["lift"], None
    yield f"keep {name}", state.times.get("keep"), state


def _line(name: str, time: tuple[float | None, float] | None, rows: float | None, size: float | None) -> str:
    count, millis = time if time is not None else (None, None)
    return f"{cut(name, NAME - 1):<{NAME}}{_text(count):>10}{_text(millis):>10}{_text(rows):>12}{_text(size):>10}".rstrip()


def _text(value: float | None) -> str:
    return "" if value is None else number(value)
