"""Part `stream-join`: figures 4 to 8 of the stream-join paper, joins whose rows are the result.

Time windows of 30 s; the first 30 s fill them and are not timed, as in the paper. Its hash buckets are our hash ranges: a
nested loop within each of N ranges is its hash join with N buckets, beside which stands DuckDB's own hash join.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import report
from benchmarks.join_engine import fingerprint, run_plan
from benchmarks.join_points import Given, Point, join_query
from thalweg.model.settings import Config
from thalweg.optimizer.cost.stream_join import (
    OPTIMAL,
    PROBE,
    PROBE_ALL,
    PROBE_AND_INSERT,
    Input,
    memory_total,
    whj_total,
)
from thalweg.optimizer.estimate import estimate
from thalweg.statistics.constants import join_constants

WINDOW = 30
BASE_RATE = 200
KEYS = 100  # selectivity 0.01
BUCKETS = (1, 2, 4, 8, 16, 32)
METHODS = ("hash", "loop")
STRATEGIES = {
    "slot": None,
    "probe": PROBE,
    "probe-and-insert": PROBE_AND_INSERT,
    "probe-all": PROBE_ALL,
    "both-all": OPTIMAL,
}


@dataclass(frozen=True)
class JoinFigures:
    """One method at one point. paper: the cost of its formula, in its unit. predicted: by the engine's model, in ms."""

    figure: str
    value: float
    method: str
    buckets: int
    predicted: float
    paper: float
    measured: float
    rows: int
    differs: bool


@dataclass(frozen=True)
class Invalidation:
    """One strategy: state after every batch, time of all batches in ms, and the rows that the paper expects (None: not its own)."""

    strategy: str
    state_rows: tuple[int, ...]
    state_bytes: tuple[int, ...]
    measured: float
    expected: float | None
    rows: int
    differs: bool


def rows_point(figure: str, value: float, rates: tuple[int, int], keys: int = KEYS) -> Point:
    """A join of two windows of 30 s, 30 s to fill them and 30 s to measure."""
    inputs = tuple(Given(rate, WINDOW) for rate in rates)
    return Point(figure, value, inputs, keys, 0, WINDOW, 5, 6, evaluate="rows")


def cases(quick: bool) -> Iterator[tuple[Point, int]]:
    """Points with the number of buckets: by the rate of the second stream, by buckets, by selectivity and buckets."""
    for part in (0.25, 1, 2) if quick else (0.1, 0.25, 0.5, 1, 2, 3):
        yield rows_point("figure 4: rate", part, (BASE_RATE, round(BASE_RATE * part))), 1
    for n in BUCKETS[::2] if quick else BUCKETS:
        yield rows_point("figure 5: buckets", n, (BASE_RATE, BASE_RATE)), n
    for keys in (10, 1_000) if quick else (10, 100, 1_000):
        for n in (1, 8) if quick else BUCKETS[::2]:
            yield (
                rows_point(
                    f"figure 6: buckets, selectivity {1 / keys:g}", n, (BASE_RATE // 2, BASE_RATE // 2), keys
                ),
                n,
            )


def measure(root: Path, repeats: int, quick: bool, console: Console) -> list[JoinFigures]:
    """Both methods at every point."""
    found: list[JoinFigures] = []
    for point, buckets in cases(quick):
        first = None
        for method in METHODS:
            runs = [run_plan(point, Config(join=method), root, buckets) for _ in range(repeats)]
            made = fingerprint(runs[0].rows)
            first = first or made
            costs = predicted(point, method), paper_cost(point, buckets)
            ms = min(r.ms for r in runs)
            found.append(
                JoinFigures(point.figure, point.value, method, buckets, *costs, ms, made[0], made != first)
            )
        both = ", ".join(f"{f.method} {f.measured:,.0f} ms" for f in found[-2:])
        console.print(
            f"{point.figure} {point.value:g}: {both}, {found[-1].rows:,} rows{_verdict(found[-1].differs)}",
            markup=False,
        )
    return found


def predicted(point: Point, method: str) -> float:
    """By the engine's cost model, in ms of the measured batches."""
    found = estimate(join_query(point), (False, False), "rows", method, point.statistics, join_constants())
    return found.nanos * point.batch * point.measured / 1e6


def paper_cost(point: Point, buckets: int) -> float:
    """Equation 2, per second; with one bucket it is equation 1."""
    a, b = (Input(g.rate, g.window, min(buckets, point.keys)) for g in point.inputs)
    return whj_total(a, b)


def invalidations(root: Path, quick: bool, console: Console) -> list[Invalidation]:
    """Figures 7 and 8: one stream 100 times as fast as the other, state after every 2 s for 90 s (60 s if quick)."""
    slow, fast, buckets = 20, 2_000, 8
    point = replace(
        rows_point("figures 7 and 8", 0, (slow, fast)), fill=2, batch=2, measured=29 if quick else 44
    )
    found: list[Invalidation] = []
    first = None
    for strategy, theirs in STRATEGIES.items():
        run = run_plan(point, Config(join="hash", invalidate=strategy), root, buckets)
        made = fingerprint(run.rows)
        first = first or made
        expected = (
            memory_total(Input(slow, WINDOW, buckets), Input(fast, WINDOW, buckets), theirs)
            if theirs
            else None
        )
        rows, size = tuple(b.state_rows for b in run.batches), tuple(b.state_bytes for b in run.batches)
        found.append(Invalidation(strategy, rows, size, run.ms, expected, made[0], made != first))
        console.print(
            f"{point.figure}: {strategy} {run.ms:,.0f} ms, {rows[-1]:,} rows of state{_verdict(made != first)}",
            markup=False,
        )
    return found


def _verdict(differs: bool) -> str:
    return ", ROWS DIFFER" if differs else ", rows equal"


def show(figures: list[JoinFigures], strategies: list[Invalidation], console: Console) -> None:
    """Both methods side by side, and the strategies."""
    rows = []
    for hashed, loop in zip(figures[::2], figures[1::2], strict=True):
        times = [f"{f.predicted:,.0f}/{f.measured:,.0f}" for f in (hashed, loop)]
        rows.append(
            [
                f"{hashed.figure} {hashed.value:g}",
                *times,
                f"{loop.measured / hashed.measured:.1f}x",
                f"{loop.paper:,.0f}",
            ]
        )
    title = "row joins: predicted/measured ms for 30 s, and the paper's cost of the loop in that many buckets"
    console.print(report.table(title, ["", "hash", "loop", "loop/hash", "paper"], rows))
    kept = [
        [
            s.strategy,
            f"{s.measured:,.0f}",
            f"{s.state_rows[-1]:,}",
            f"{max(s.state_rows):,}",
            f"{s.state_bytes[-1]:,}",
            "" if s.expected is None else f"{s.expected:,.0f}",
        ]
        for s in strategies
    ]
    console.print(
        report.table(
            "invalidation",
            ["", "ms", "rows at the end", "at most", "bytes at the end", "rows by the paper"],
            kept,
        )
    )


def as_data(figures: list[JoinFigures], strategies: list[Invalidation]) -> dict[str, Any]:
    """The figures as JSON holds them."""
    return {"joins": [asdict(f) for f in figures], "invalidation": [asdict(s) for s in strategies]}
