"""Part `wide`: what an instant costs against the length of the window (figure 6(a) of the early-aggregation paper), of sums and of least and
greatest values: by what is kept of whole windows, and by the slots that windows have. All inputs are aggregated early; processor time of a
batch with reading and state. Windows are filled by the plan that is flat, then each plan takes over in turn."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True)
class Load:
    """What is asked of which rows. evaluations: the flat one first. seconds: of a batch before the measured ones, and of one of these. once:
    windows are filled once for all of them."""

    name: str
    aggregates: tuple[str, ...]
    evaluations: tuple[str, ...]
    rate: int = 2_000
    keys: int = 500
    groups: int = 4
    seconds: tuple[int, int] = (60, 2)
    measured: int = 5
    once: bool = False


SUMS, EXTREMES = (
    ("COUNT(*) AS n", "SUM(a.x) AS first", "SUM(b.x) AS second"),
    ("MAX(a.x) AS first", "MIN(b.x) AS second"),
)
LOADS = (
    Load("sums", SUMS, ("wide", "delta", "snapshot")),
    Load("extremes", EXTREMES, ("stairs", "expiry", "snapshot")),
)
HOUR = (
    Load("sums", SUMS, ("wide", "snapshot"), 20_000, 10_000, 1, (60, 2), 2, True),
    Load("extremes", EXTREMES, ("stairs", "snapshot"), 20_000, 10_000, 1, (60, 2), 2, True),
)
WINDOWS, QUICK, ONE_HOUR = (25, 100, 400), (25, 100), (3_600,)
WARM = 2
"""Batches after a plan has taken over that count for nothing."""


@dataclass(frozen=True)
class WideFigures:
    """A window: processor ms of an instant by evaluation, least and median of some batches."""

    load: Load
    window: int
    least: dict[str, float]
    median: dict[str, float]
    differs: bool


def measure(root: Path, quick: bool, console: Console, hour: bool = False) -> list[WideFigures]:
    """All windows of all loads; a line each."""
    found = []
    for load in HOUR if hour else LOADS:
        for window in ONE_HOUR if hour else QUICK if quick else WINDOWS:
            found.append(_measured(load, window, root))
            console.print(
                f"{load.name}, window of {window} s: {found[-1].least}", markup=False, soft_wrap=True
            )
    return found


def _measured(load: Load, window: int, root: Path) -> WideFigures:
    taken: dict[str, list[float]] = {}
    rows = [fingerprint(found) for found in _run(load, window, root, taken)]
    least, middle = ({e: f(ms) for e, ms in taken.items()} for f in (min, median))
    return WideFigures(load, window, least, middle, len({*rows}) > 1)


def _run(load: Load, window: int, root: Path, taken: dict[str, list[float]]) -> Iterator[Any]:
    """Fills windows, then measures each evaluation: on the same batches, or where they are filled once, on those that follow. The results."""
    for evaluations in [load.evaluations] if load.once else [(e,) for e in load.evaluations]:
        point = _point(load, window, len(evaluations))
        engine, bound = _engine(point, root, load.evaluations[0]), point.bound()
        paths = zip(*(files(f, point.spans, root / "data") for f in point.feeds), strict=True)
        for n, some in enumerate(paths):
            turn, since = divmod(n - point.fills, load.measured + WARM)
            if turn >= 0 and since == 0:
                engine.replan(_planner(evaluations[turn]))
            started = time.process_time()
            engine.batch([(f"s{i}", str(path)) for i, path in enumerate(some)])
            if turn >= 0 and since >= WARM:
                ms = 1000 * (time.process_time() - started) / load.seconds[1]
                taken.setdefault(evaluations[turn], []).append(ms)
        yield engine.results(bound.queries[QUERY])


def _point(load: Load, window: int, turns: int) -> Point:
    fill, batch = load.seconds
    fills = -(-(window + 2 * batch) // fill)
    inputs = (Given(load.rate, window, load.groups), Given(load.rate, window))
    measured = turns * (load.measured + WARM)
    return Point(
        "figure 6(a)",
        window,
        inputs,
        load.keys,
        1,
        fills * fill,
        batch,
        measured,
        fills=fills,
        aggregates=load.aggregates,
    )


def _planner(evaluate: str) -> Any:
    return planner_for(Config(early_aggregation="EAP11", evaluate=evaluate, join="hash"))


def _engine(point: Point, root: Path, evaluate: str) -> LocalEngine:
    home, bound = root / "wide", point.bound()
    shutil.rmtree(home, ignore_errors=True)
    streams = tuple(replace(s, path=str(root / "data")) for s in bound.streams.values())
    engine = LocalEngine(home, streams, tuple(bound.queries.values()), _planner(evaluate), 1)
    engine.changed()
    return engine


def show(figures: Sequence[WideFigures], console: Console) -> None:
    """A table for each load: a row per window, and how much the longest takes of the shortest."""
    for load in dict.fromkeys(f.load for f in figures):
        own = [f for f in figures if f.load == load]
        rows = [
            [f"{f.window} s", *(f"{f.least[e]:.1f} ({f.median[e]:.1f})" for e in load.evaluations)]
            for f in own
        ]
        rows.append(["growth", *(f"{own[-1].least[e] / own[0].least[e]:.2f}" for e in load.evaluations)])
        title = f"{load.name}: EAP11, {load.rate:,} rows/s a stream, {load.keys:,} keys: processor ms of an instant, least (median)"
        console.print(report.table(title, ["window", *load.evaluations], rows))


def as_data(figures: Sequence[WideFigures]) -> list[dict[str, Any]]:
    """The figures as JSON holds them."""
    return [asdict(f) for f in figures]
