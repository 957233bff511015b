"""`make bench-joins`: joins of streams and aggregates over them, after the three papers, and against native Spark.

sweeps: every LAP and EAP plan at every point of figures 6 to 10 of the early-aggregation paper, predicted beside measured.
stream-join: nested loops against hash, buckets and invalidation, figures 4 to 8 of the stream-join paper.
incremental: snapshot, delta (IC), expiry (TC) and materialize (PC) against the length of the window, and a sliding MAX.
wide: what an instant costs against the length of the window, figure 6(a). Only if it is asked for.
hour: the same for one hour by one second, 20,000 rows/s and 10,000 keys; it takes 8 GB of memory. Only if it is asked for.
free: queries drawn by a seed, and the free choice of a session beside all plans. Only if it is asked for.
native: Spark's own stream-stream joins on the same files.
All but native run the engine without Spark's scheduler; times are those of its steps as manifests have them, reading files
left out, on one core. Result rows of all plans are compared with each other, on small points with the definition.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import (
    join_free,
    join_incremental,
    join_native,
    join_plots,
    join_streams,
    join_sweeps,
    join_wide,
    report,
)
from benchmarks.data import ROOT
from benchmarks.runner import workspace
from thalweg.statistics.constants import join_constants

PARTS = ("sweeps", "stream-join", "incremental", "native")
APART = ("free", "wide", "hour")
"""Parts that are run only if they are asked for."""


def main(
    quick: Annotated[
        bool, typer.Option(help="fewer points, each plan once; in native a tenth of the events")
    ] = False,
    parts: Annotated[str, typer.Option(help="what to run, separated by commas")] = ",".join(PARTS),
    repeats: Annotated[
        int | None, typer.Option(help="how often a plan is run, the least time counts; 2 unless quick")
    ] = None,
    timeout: Annotated[float, typer.Option(help="seconds until an engine of part native is given up")] = 300,
    only: Annotated[
        str,
        typer.Option(
            help="in part native only engines whose name has one of these in it, separated by commas"
        ),
    ] = "",
    json: Annotated[Path | None, typer.Option(help="write all figures to this file, as they come")] = None,
    plot: Annotated[Path, typer.Option(help="directory of the plots")] = ROOT / "results",
    draws: Annotated[int, typer.Option(help="queries of part free")] = 20,
    seed: Annotated[int, typer.Option(help="the first of their seeds")] = 1,
    within: Annotated[
        float, typer.Option(help="of part free only plans expected to cost so many times the least, at most")
    ] = 1e9,
) -> None:
    """Plans of joins against each other, against the papers and against native Spark."""
    wanted = parts.split(",")
    parts_there = (*PARTS, *APART)
    if unknown := set(wanted) - set(parts_there):
        raise typer.BadParameter(f"no part {', '.join(sorted(unknown))}; there are {', '.join(parts_there)}")
    bench = Bench(quick, repeats or (1 if quick else 2), json, plot)
    with workspace("joins") as root:
        if "sweeps" in wanted:
            bench.sweeps(root)
        if "stream-join" in wanted:
            bench.stream_joins(root)
        if "incremental" in wanted:
            bench.incremental(root)
        if "wide" in wanted:
            bench.wide(root)
        if "hour" in wanted:
            bench.wide(root, hour=True)
        if "free" in wanted:
            bench.free(root, draws, seed, within)
        if "native" in wanted:
            bench.native(root, timeout, only)
    bench.console.print(f"plots: {plot}", *([f"figures: {json}"] if json else []))
    if bench.wrong:
        bench.console.print(f"[red]results differ in: {', '.join(bench.wrong)}[/]")
        raise typer.Exit(1)


class Bench:
    """The parts, each with its tables, its plots, and its figures in the JSON file."""

    def __init__(self, quick: bool, repeats: int, json: Path | None, plot: Path) -> None:
        self.quick, self.repeats, self.json, self.plot = quick, repeats, json, plot
        self.console = report.console()
        machine = report.machine()
        self.data: dict[str, Any] = {
            "benchmark": "joins",
            "quick": quick,
            "repeats": repeats,
            "machine": machine,
        }
        self.data["constants"] = asdict(join_constants())
        self.wrong: list[str] = []
        self.console.print(
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, load {machine['load_before']:.1f} before"
        )

    def sweeps(self, root: Path) -> None:
        """Early aggregation."""
        compared = join_sweeps.check_definition(root)
        figures = join_sweeps.measure(root, self.repeats, self.quick, self.console)
        join_sweeps.show(figures, compared, self.console)
        join_plots.sweeps(figures, self.plot)
        join_plots.showcases(figures, self.plot / "joins-figure-10.png")
        join_plots.predictions(figures, self.plot / "joins-predictions.png")
        self._done("sweeps", join_sweeps.as_data(figures, compared), any(f.differing for f in figures))

    def stream_joins(self, root: Path) -> None:
        """Row joins and invalidation."""
        figures = join_streams.measure(root, self.repeats, self.quick, self.console)
        strategies = join_streams.invalidations(root, self.quick, self.console)
        join_streams.show(figures, strategies, self.console)
        join_plots.stream_joins(figures, strategies, self.plot / "joins-stream-join.png")
        wrong = any(f.differs for f in figures) or any(s.differs for s in strategies)
        self._done("stream-join", join_streams.as_data(figures, strategies), wrong)

    def incremental(self, root: Path) -> None:
        """Evaluations."""
        figures = join_incremental.measure(root, self.repeats, self.quick, self.console)
        join_incremental.show(figures, self.console)
        join_plots.incremental(figures, self.plot / "joins-incremental.png")
        self._done("incremental", join_incremental.as_data(figures), any(f.differs for f in figures))

    def wide(self, root: Path, hour: bool = False) -> None:
        """What is kept of whole windows."""
        figures = join_wide.measure(root, self.quick, self.console, hour)
        join_wide.show(figures, self.console)
        self._done("hour" if hour else "wide", join_wide.as_data(figures), any(f.differs for f in figures))

    def free(self, root: Path, draws: int, seed: int, within: float) -> None:
        """The free choice of a session."""
        figures = join_free.measure(root, draws, seed, within, self.console)
        join_free.show(figures, self.console)
        self._done("free", join_free.as_data(figures), any(f.differing for f in figures))

    def native(self, root: Path, timeout: float, only: str) -> None:
        """Against Spark alone."""
        held = join_native.measure(root, self.quick, timeout, self.console, only)
        join_native.show(held, self.console)
        join_plots.native(held, self.plot / "joins-native.png")
        ours = [c for c in held if c.entrant.engine == "thalweg_join"]
        self._done("native", join_native.as_data(held), any(c.wrong or c.failure for c in ours))

    def _done(self, part: str, data: Any, wrong: bool) -> None:
        self.data[part] = data
        self.wrong += [part] if wrong else []
        report.write_json(self.json, self.data)


if __name__ == "__main__":
    typer.run(main)
