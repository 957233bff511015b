"""The figures of the sharing benchmark as tables and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import report
from benchmarks.plots import _panels, _save
from benchmarks.sharing_points import MODES, Point, ratio

COLORS = ("#0b6e99", "#c2703d", "#e0b04c", "#9a9a9a", "#6a4c93", "#4c9a6a")
BEST = MODES[0]
VALUES = {
    "similarity": "% similar",
    "ways": "streams joined",
    "shared-data": "% of the data shared",
    "groups": "patterns",
    "keys": "values",
    "selectivity": "% of the rows taken",
}
COLUMNS = (
    "",
    "ms a batch",
    "of the CPU",
    "events/s",
    "overall",
    "best is faster by",
    "state rows",
    "state bytes",
    "result rows",
    "joins, fragments, sub-joins",
    "results",
)


def show(points: Sequence[Point], console: Console) -> None:
    """A table for each case."""
    for (part, case), same in groupby(points, lambda p: (p.part, p.case)):
        found = list(same)
        queries = sorted({p.measured.queries for p in found})
        many = "" if len(queries) > 1 else f", {queries[0]} queries"
        title = f"{part}: {case}{many}, batches of {report.count(found[0].measured.events)} events, medians after the warm-up"
        console.print(report.table(title, COLUMNS, _rows(found)))


def _rows(points: Sequence[Point]) -> Iterator[list[str]]:
    for _, same in groupby(points, lambda p: p.key):
        found = list(same)
        for p in found:
            m = p.measured
            others = (
                [o.mode for o in found if o.mode in MODES and o.mode != BEST] if p.mode == BEST else [p.mode]
            )
            faster = ratio(found, BEST, others)
            yield [
                f"{p.value:g} {VALUES.get(p.part, 'queries')}, {p.mode}",
                "" if m.batch_ms is None else f"{m.batch_ms:,.0f}",
                "" if m.batch_cpu_ms is None else f"{m.batch_cpu_ms:,.0f}",
                "" if m.events_per_second is None else report.rate(m.events_per_second),
                "" if m.overall is None else report.rate(m.overall),
                "" if faster is None else f"{faster:.2f}x",
                *(f"{n:,}" if n is not None else "" for n in (m.state_rows, m.state_bytes, m.result_rows)),
                "" if m.nodes is None else ", ".join(map(str, m.nodes)),
                verdict(p),
            ]


def verdict(point: Point) -> str:
    """Whether the results are those of another mode, or why there are none.

    >>> from benchmarks.sharing_run import Measured
    >>> verdict(Point("joins", "", 1, "off", Measured(10, 1, failure="not ended in 5 s")))
    'not ended in 5 s'
    """
    if point.measured.failure:
        return point.measured.failure.splitlines()[-1]
    if point.compared is None:
        return ""
    return f"{len(point.compared.differing)} QUERIES DIFFER" if point.wrong else "equal"


def plot(points: Sequence[Point], path: Path) -> None:
    """Overall throughput, a panel for each case and a line for each mode; for joins state beside it."""
    drawn = [p for p in points if p.measured.overall]
    if not drawn:
        return
    cases = list(dict.fromkeys(p.case for p in drawn))
    with_state = drawn[0].part == "joins"
    figure, panels = _panels(len(cases) * (1 + with_state), width=4.2, shared=False)
    for panel, case in zip(panels, cases, strict=False):
        _lines(panel, [p for p in drawn if p.case == case], "overall", case)
        panel.set_ylabel("events/s, added over the queries")
    for panel, case in zip(panels[len(cases) :], cases, strict=False):
        _lines(panel, [p for p in drawn if p.case == case], "state_bytes", case)
        panel.set_ylabel("bytes of state")
    panels[0].legend(frameon=False, fontsize=7)
    _save(figure, path)


def _lines(panel: Any, points: Sequence[Point], figure: str, case: str) -> None:
    for color, mode in zip(COLORS, dict.fromkeys(p.mode for p in points), strict=False):
        own = [p for p in points if p.mode == mode]
        panel.plot(
            [p.value for p in own],
            [getattr(p.measured, figure) for p in own],
            "o-",
            markersize=3,
            color=color,
            label=mode,
        )
    varied = VALUES.get(points[0].part, "queries")
    panel.set(title=case, xlabel=varied, yscale="log", xscale="log" if varied == "queries" else "linear")
