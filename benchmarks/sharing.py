"""`make bench-sharing`: many queries that may share work, each mode of `plan.sharing` against the others, after the AJoin paper.

joins: 1 to 500 joins of two streams, figures 15 and 16. similarity, ways, groups, shared-data: figures 20d, 20a, 20c and 22a, keys and
selectivity: figure 17, all in all three modes, of which `best` should never be slower than the better of the others.
native: plain Spark on the files of `joins`. dashboards: windowed aggregates with filters; dashboards-spark: the most of them on Spark.
realistic: Nexmark's bids and auctions. paces: aggregates over these at instants of their own. mixed: windows, joins and aggregates over
joins together, on Spark.
All but `native`, `mixed` and `dashboards-spark` run the engine without Spark's scheduler, on one core. All modes read the same files, batch
by batch in turns, and are compared by the processor's time; the first batches warm up and are dropped, the median of the others counts.
Result rows of every query are compared between the modes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import report, sharing_native, sharing_report
from benchmarks.data import ROOT
from benchmarks.runner import workspace
from benchmarks.sharing_apart import ManyRun, run_apart
from benchmarks.sharing_feeds import written
from benchmarks.sharing_points import MODES, Point, as_data, compared
from benchmarks.sharing_run import Measured, run_local
from benchmarks.sharing_workloads import COUNTS, PARTS, Workload

NATIVE, ON_SPARK = "native", ("mixed", "dashboards-spark")
EVERY_PART = ("joins", NATIVE, *(name for name in PARTS if name != "joins"))
ALL_MODES = ("similarity", "ways", "shared-data", "groups", "keys", "selectivity")


def main(
    parts: Annotated[str, typer.Option(help="what to run, separated by commas")] = ",".join(EVERY_PART),
    queries: Annotated[
        str,
        typer.Option(help="numbers of queries; parts that vary something else take the largest up to 100"),
    ] = "",
    modes: Annotated[
        str, typer.Option(help=f"of plan.sharing; {', '.join(ALL_MODES)} always take all three")
    ] = "best,off",
    quick: Annotated[bool, typer.Option(help="up to 20 queries, fewer points and batches")] = False,
    timeout: Annotated[
        float, typer.Option(help="seconds until an engine or a mode is given up at one point")
    ] = 300,
    json: Annotated[Path | None, typer.Option(help="write all figures to this file, as they come")] = None,
    plot: Annotated[Path, typer.Option(help="directory of the plots")] = ROOT / "results",
) -> None:
    """Many queries: groups by cost against every query alone, and against plain Spark."""
    wanted, asked = _known(parts, EVERY_PART, "part"), _known(modes, MODES, "mode")
    counts = (
        tuple(int(n) for n in queries.split(","))
        if queries
        else tuple(n for n in COUNTS if not quick or n <= 20)
    )
    bench = Bench(Scale(counts, asked, quick, timeout), json, plot)
    for part in wanted:
        with workspace(f"sharing-{part}") as root:
            bench.run(part, root)
    bench.console.print(f"plots: {plot}", *([f"figures: {json}"] if json else []))
    if bench.wrong:
        bench.console.print(f"[red]results differ in: {', '.join(bench.wrong)}[/]")
        raise typer.Exit(1)


def _known(chosen: str, all_names: Sequence[str], what: str) -> tuple[str, ...]:
    names = tuple(chosen.split(","))
    if unknown := sorted(set(names) - set(all_names)):
        raise typer.BadParameter(f"no {what} {', '.join(unknown)}; there are {', '.join(all_names)}")
    return names


@dataclass(frozen=True)
class Scale:
    """How much is run: numbers of queries, modes, fewer points if quick, seconds until something is given up."""

    counts: tuple[int, ...]
    modes: tuple[str, ...]
    quick: bool
    timeout: float


class Bench:
    """The parts, each with its table, its plot, and its figures in the JSON file."""

    def __init__(self, scale: Scale, json: Path | None, plot: Path) -> None:
        self.scale, self.json, self.plot = scale, json, plot
        self.console, machine = report.console(), report.machine()
        self.data: dict[str, Any] = {"benchmark": "sharing", **asdict(scale), "machine": machine}
        self.wrong: list[str] = []
        self.console.print(
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, load {machine['load_before']:.1f} before"
        )

    def run(self, part: str, root: Path) -> None:
        """One part, with a line for each point as it comes."""
        points = []
        for point in self._points(part, root):
            points.append(point)
            done = (
                "no figure"
                if point.measured.batch_ms is None
                else f"{point.measured.batch_ms:,.0f} ms a batch"
            )
            said = ", ".join(word for word in (done, sharing_report.verdict(point)) if word)
            self.console.print(f"{part}, {point.case}, {point.value:g}, {point.mode}: {said}", markup=False)
        sharing_report.show(points, self.console)
        sharing_report.plot(points, self.plot / f"sharing-{part}.png")
        self.data[part] = as_data(points)
        self.wrong += [part] if any(p.wrong for p in points) else []
        report.write_json(self.json, self.data)

    def _points(self, part: str, root: Path) -> Iterator[Point]:
        s = self.scale
        if part == NATIVE:
            yield from sharing_native.measure(s.counts, s.modes, s.quick, root, s.timeout)
            return
        modes = MODES if part in ALL_MODES else s.modes
        for number, workload in enumerate(PARTS[part](s.counts, s.quick)):
            yield from measure(workload, modes, root / str(number), s.timeout)


def measure(workload: Workload, modes: Sequence[str], root: Path, timeout: float) -> Iterator[Point]:
    """A workload in each mode, on the same files; results of every run are compared with those of the first."""
    files = written(workload.feed, workload.batches, root / "in")
    if workload.part in ON_SPARK:
        runs = {mode: _apart(workload, mode, root, timeout) for mode in modes}
    else:
        runs = run_local(workload, modes, files, root, timeout)
    for mode, found in runs.items():
        yield Point(workload.part, workload.case, workload.value, mode, found, compared(runs, mode))


def _apart(workload: Workload, mode: str, root: Path, timeout: float) -> Measured:
    batches = workload.feed.events, workload.warmup, workload.measured
    return run_apart(
        ManyRun("thalweg_many", mode, str(root), workload.feed.sql, workload.queries, *batches), timeout
    )


if __name__ == "__main__":
    typer.run(main)
