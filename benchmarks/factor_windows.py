"""`make bench-factor-windows`: plans for many windows against each other, as tables I to III and figure 13 of the factor-windows paper.

The window sets are the paper's (RandomGen and SequentialGen, seeds as there), a time unit is a second, and the events come
at a constant pace; in the part `real` they are readings of the DEBS 2012 grand challenge, repeated. Each set is planned in every
mode (naive, shared: algorithm 1, paper: algorithm 3, best, slices: as Scotty and Cutty do) and run as one batch in one Spark
session that stays; modes with the same plan are run once. Boosts are over our own naive plan, on the steps' own time, with the
figure end to end beside it. Result rows are compared with the definition in full.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks import against_native, factor_report, plots, report
from benchmarks.against_native import SLIDING, Contest
from benchmarks.data import ROOT, Feed
from benchmarks.paper_tables import REAL, TABLE_II
from benchmarks.plan_figures import Bench, SetFigures
from benchmarks.runner import workspace
from benchmarks.window_rows import WindowSet, paper_sets, random_lengths, rows_named
from thalweg.engine.spark import start_spark

FILE_EVENTS = 500_000
M = 1_000_000
REAL_RATE = 100
"""Readings a second."""
PARTS = ("tables", "real", "lengths", "native", "sliding")


def main(
    quick: Annotated[
        bool, typer.Option(help="two sets a row, 2 M events, MIN only, each plan once, tables only")
    ] = False,
    sets: Annotated[int, typer.Option(help="window sets a row")] = 10,
    rows: Annotated[
        str, typer.Option(help="only rows whose name contains one of these, separated by commas")
    ] = "",
    parts: Annotated[
        str, typer.Option(help="what to run: tables, real, lengths, native, sliding")
    ] = ",".join(PARTS),
    aggregates: Annotated[str, typer.Option(help="MIN, SUM or both")] = "MIN,SUM",
    repeats: Annotated[
        int, typer.Option(help="how often each plan is run, unless it takes long; the least time counts")
    ] = 3,
    events: Annotated[int | None, typer.Option(help="millions of events, one batch; 10 unless quick")] = None,
    rate: Annotated[int, typer.Option(help="events per time unit, a second; the paper has 1")] = 1_000,
    keys: Annotated[int, typer.Option(help="different keys")] = 1,
    native_rows: Annotated[
        str, typer.Option(help="rows that native Spark runs too")
    ] = "S-20-tumbling,S-10-hopping",
    readings: Annotated[
        Path, typer.Option(help="the readings of table II, repeated to as many events as are asked for")
    ] = ROOT.parent.parent / "shared" / "data" / "debs2012.csv.gz",
    timeout: Annotated[float, typer.Option(help="seconds until native Spark is given up")] = 900,
    json: Annotated[Path | None, typer.Option(help="write all figures to this file, as they come")] = None,
    plot: Annotated[Path, typer.Option(help="directory of the plots")] = ROOT / "results",
) -> None:
    """Plans for many windows against each other and against native Spark."""
    if quick:
        sets, aggregates, repeats, parts = min(sets, 2), "MIN", 1, "tables"
    events = events or (2 if quick else 10)
    console = report.console()
    data: dict[str, Any] = {
        "benchmark": "factor-windows",
        "machine": report.machine(),
        "rate": rate,
        "keys": keys,
        "events": events * M,
    }
    feed, batch_files, wanted, functions = (
        Feed(FILE_EVENTS, keys, rate),
        events * M // FILE_EVENTS,
        parts.split(","),
        aggregates.split(","),
    )
    figures: list[SetFigures] = []
    held: list[Contest] = []

    def save() -> None:
        report.write_json(json, {**data, **factor_report.as_data(figures, held)})

    with workspace("factor-windows") as root:
        measured = (
            [s for row in rows_named(rows) for s in paper_sets(row, sets)] if "tables" in wanted else []
        )
        lengths = [random_lengths(n) for n in (1, 10, 100)] if "lengths" in wanted else []
        of_readings = (
            [s for row in rows_named(rows, TABLE_II) for s in paper_sets(REAL + row, sets)]
            if "real" in wanted
            else []
        )
        if measured or lengths or of_readings:
            spark = start_spark()
            bench = Bench(spark, root, feed, batch_files, repeats)
            data["fixed_ms"] = _warmed_up(bench, console)
            real = replace(bench, feed=Feed(FILE_EVENTS, 1, REAL_RATE, readings=str(readings)))
            for windows in [*measured, *of_readings, *lengths]:
                for aggregate in functions:
                    figures.append(
                        _measured(real if windows in of_readings else bench, windows, aggregate, console)
                    )
                    save()
            spark.stop()
        for aggregate in functions:
            for row in native_rows.split(",") if "native" in wanted else ():
                windows = next(iter(paper_sets(row, 1)))
                held += against_native.contest(root, windows, aggregate, feed, batch_files, timeout, console)
                save()
            if "sliding" in wanted:
                held += against_native.sliding(root, aggregate, timeout, console)
                save()
    factor_report.show(figures, held, data.get("fixed_ms"), console)
    plots.boosts(figures, plot / "factor-windows-boosts.png")
    plots.costs(figures, plot / "factor-windows-costs.png")
    console.print(f"plots: {plot}", *([f"figures: {json}"] if json else []))
    if any(f.differing for f in figures) or any(c.failure for c in held if c.engine == "thalweg_engine"):
        raise typer.Exit(1)


def _warmed_up(bench: Bench, console: Console) -> float:
    """Warm JVM and workers up with batches that count for nothing; what a batch with hardly any rows then takes, in ms."""
    windows = WindowSet("warm-up", 0, SLIDING.windows)
    tiny = Feed(1_000, bench.feed.keys, bench.feed.rate)
    rounds = Bench(bench.spark, bench.root, tiny, 1, repeats=10, modes=("best",), checked=False, enough=inf)
    fixed = rounds.measure(windows, "MIN").plans["best"].batch
    console.print(f"a batch of 1,000 events takes {fixed:,.0f} ms, the fixed cost of a batch")
    return fixed


def _measured(bench: Bench, windows: WindowSet, aggregate: str, console: Console) -> SetFigures:
    found = bench.measure(windows, aggregate)
    times = ", ".join(
        f"{m} {p.own:,.0f}{' (= ' + p.same_as + ')' if p.same_as != m else ''}"
        for m, p in found.plans.items()
    )
    verdict = f"{found.compared:,} rows equal" if not found.differing else f"rows differ: {found.differing}"
    console.print(
        f"{windows.row} {windows.number} {aggregate}: steps in ms: {times}; {verdict}", markup=False
    )
    return found


if __name__ == "__main__":
    typer.run(main)
