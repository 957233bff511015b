"""Part `wide`: what an instant costs against the length of the window (figure 6(a) of the early-aggregation paper): by sets of whole windows,
by differences of slots, and by joining again. All inputs are aggregated early; processor time of a batch with reading and state."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from benchmarks import report
from benchmarks.join_data import files
from benchmarks.join_engine import fingerprint
from benchmarks.join_points import QUERY, Given, Point
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.local import LocalEngine

EVALUATIONS = ("wide", "delta", "snapshot")
WINDOWS, QUICK = (25, 100, 400), (25, 100)
RATE, KEYS, GROUPS, BATCH, MEASURED = 2_000, 500, 4, 2, 8


@dataclass(frozen=True)
class WideFigures:
    """A window: processor ms of an instant by evaluation, least and median of some batches, and whether results are equal."""

    window: int
    least: dict[str, float]
    median: dict[str, float]
    differs: bool


def point(window: int, evaluate: str) -> Point:
    """Results every second, two of them a batch, after a window that is full."""
    inputs, fills = (Given(RATE, window, GROUPS), Given(RATE, window)), max(4, window // 60)
    return Point("figure 6(a)", window, inputs, KEYS, 1, window + 4, BATCH, MEASURED, "hash", evaluate, fills)


def measure(root: Path, quick: bool, console: Console) -> list[WideFigures]:
    """All windows; a line each."""
    found = []
    for window in QUICK if quick else WINDOWS:
        runs = {e: _run(point(window, e), root) for e in EVALUATIONS}
        took = {e: ms for e, (ms, _) in runs.items()}
        differs = len({rows for _, rows in runs.values()}) > 1
        found.append(
            WideFigures(
                window,
                {e: min(ms) for e, ms in took.items()},
                {e: median(ms) for e, ms in took.items()},
                differs,
            )
        )
        console.print(f"window of {window} s: {found[-1].least}", markup=False, soft_wrap=True)
    return found


def _run(given: Point, root: Path) -> tuple[list[float], tuple[int, int]]:
    """Processor milliseconds of an instant in each batch that counts, and the results."""
    bound, home = given.bound(), root / "wide"
    shutil.rmtree(home, ignore_errors=True)
    streams = tuple(replace(s, path=str(root / "data")) for s in bound.streams.values())
    planner = planner_for(Config(early_aggregation="EAP11", evaluate=given.evaluate, join="hash"))
    engine, took = LocalEngine(home, streams, tuple(bound.queries.values()), planner, 1), []
    engine.changed()
    for paths in zip(*(files(f, given.spans, root / "data") for f in given.feeds), strict=True):
        started = time.process_time()
        engine.batch([(f"s{n}", str(path)) for n, path in enumerate(paths)])
        took.append(1000 * (time.process_time() - started) / BATCH)
    return took[given.fills :], fingerprint(engine.results(bound.queries[QUERY]))


def show(figures: Sequence[WideFigures], console: Console) -> None:
    """A row per window, and how much the longest takes of the shortest."""
    rows = [
        [f"{f.window} s", *(f"{f.least[e]:.1f} ({f.median[e]:.1f})" for e in EVALUATIONS)] for f in figures
    ]
    first, last = figures[0], figures[-1]
    rows.append(["growth", *(f"{last.least[e] / first.least[e]:.2f}" for e in EVALUATIONS)])
    title = f"EAP11, {RATE:,} rows/s a stream, {KEYS:,} keys: processor ms of an instant, least (median)"
    console.print(report.table(title, ["window", *EVALUATIONS], rows))


def as_data(figures: Sequence[WideFigures]) -> list[dict[str, Any]]:
    """The figures as JSON holds them."""
    return [asdict(f) for f in figures]
