"""`make bench-windows`: tumbling windows of 20, 40, 60 ... seconds, MIN by key, against native Spark and DuckDB alone.

Every engine reads the same files in micro-batches of the same size, in a process of its own, and writes its results as
Parquet (DuckDB alone, the limit, keeps them in memory). Times are those of the whole trigger as Spark reports it; warm-up
batches are dropped, and the median of the rest counts. Result rows are compared in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby, product
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks import plots, report
from benchmarks.check import Agreement, compare
from benchmarks.data import ROOT, Feed, files
from benchmarks.report import Ratio
from benchmarks.runner import forget, run_apart, workspace
from benchmarks.spec import Outcome, Run, tumbling

THALWEG, UNION, EXPLODED, DUCKDB = "thalweg_engine", "spark_union", "spark_exploded", "duckdb_alone"
FEED, SMALL_FEED = Feed(500_000), Feed(10_000)
M = 1_000_000
TARGETS = {(1, UNION): 3.0, (5, UNION): 8.0, (5, EXPLODED): 6.0, (20, UNION): 30.0, (20, EXPLODED): 10.0}
LIMIT_TARGET, SMALL_TARGET = 0.2, 450.0
# Warm-up and measured batches. Native Spark gets fewer where it takes long, but ten seconds or more to warm up.
COUNTS = {M: (10, 10), 5 * M: (4, 4), 10 * M: (3, 3)}
NATIVE_COUNTS = {
    (1, M): (10, 5), (1, 5 * M): (3, 3), (1, 10 * M): (2, 2),
    (5, M): (5, 3), (5, 5 * M): (2, 2), (5, 10 * M): (1, 2),
    (20, M): (3, 3), (20, 5 * M): (1, 2), (20, 10 * M): (1, 2),
}  # fmt: skip
SMALL_COUNTS = (30, 30)


@dataclass(frozen=True)
class Case:
    """One engine with a number of windows and a size of batch."""

    engine: str
    windows: int
    batch: int
    warmup: int
    measured: int

    @property
    def key(self) -> tuple[int, int]:
        """What makes cases comparable."""
        return self.windows, self.batch

    @property
    def feed(self) -> Feed:
        """The files that it reads."""
        return FEED if self.batch >= FEED.file_events else SMALL_FEED


def cases(quick: bool) -> Iterator[Case]:
    """What is run, comparable cases one after another."""
    sizes = [(n, b) for n in (1, 5, 20) for b in (M, 5 * M, 10 * M) if not quick or b == M]
    for n, b in sizes:
        yield Case(THALWEG, n, b, *(COUNTS[b] if not quick else (5, 5)))
        for engine in (UNION, EXPLODED):
            if (n, engine) in TARGETS:
                yield Case(engine, n, b, *(NATIVE_COUNTS[n, b] if not quick else (1, 2)))
        if n == 1:
            yield Case(DUCKDB, n, b, 2, 5)
    if quick:
        yield Case(THALWEG, 1, 10 * M, 1, 2)
        yield Case(DUCKDB, 1, 10 * M, 1, 2)
    small = SMALL_COUNTS if not quick else (30, 10)
    yield Case(THALWEG, 5, SMALL_FEED.file_events, *small)
    if not quick:
        yield Case(UNION, 5, SMALL_FEED.file_events, *small)
        yield Case(EXPLODED, 5, SMALL_FEED.file_events, *small)


@dataclass
class Results:
    """What was measured so far."""

    outcomes: dict[Case, Outcome]
    agreements: dict[tuple[int, int], Agreement]

    def find(self, engine: str, key: tuple[int, int]) -> Outcome | None:
        """The outcome of an engine for a number of windows and a size of batch."""
        return next((o for c, o in self.outcomes.items() if c.engine == engine and c.key == key), None)

    def ratio(self, key: tuple[int, int], over: str) -> Ratio | None:
        """How many times another engine's events/s Thalweg does."""
        ours, theirs = self.find(THALWEG, key), self.find(over, key)
        if ours is None or theirs is None:
            return None
        target = TARGETS.get((key[0], over)) if key[1] >= M else None
        if over == DUCKDB:
            target = LIMIT_TARGET if key == (1, 10 * M) else None
        what = f"{report.NAMES[over]}, {key[0]} windows, batches of {report.count(key[1])}"
        return Ratio(what, ours.events_per_second / theirs.events_per_second, target)

    def ratios(self) -> list[Ratio]:
        """All of them."""
        keys = dict.fromkeys(c.key for c in self.outcomes)
        found = [self.ratio(key, over) for key in keys for over in (UNION, EXPLODED, DUCKDB)]
        return [r for r in found if r is not None]


def main(
    quick: Annotated[
        bool, typer.Option(help="batches of 1 M only and fewer of them, in about three minutes")
    ] = False,
    json: Annotated[Path | None, typer.Option(help="write all figures to this file")] = None,
    plot: Annotated[Path, typer.Option(help="write the plot to this file")] = ROOT
    / "results"
    / "windows.png",
    state: Annotated[str, typer.Option(help="state store of native Spark: rocksdb or memory")] = "rocksdb",
    only: Annotated[
        str, typer.Option(help="only these engines, separated by commas: thalweg_engine, spark_union, ...")
    ] = "",
    windows: Annotated[str, typer.Option(help="only these numbers of windows, separated by commas")] = "",
    batches: Annotated[
        str, typer.Option(help="only batches of these sizes, separated by commas: 1000000, ...")
    ] = "",
    rounds: Annotated[
        int, typer.Option(help="how often everything is run, engines in turns; the middle run counts")
    ] = 1,
) -> None:
    """Windows against native Spark and DuckDB alone."""
    console = report.console()
    machine = report.machine()
    console.print(
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, load {machine['load_before']:.1f} before"
    )
    chosen = [
        c
        for c in cases(quick)
        if _wanted(c.engine, only) and _wanted(str(c.windows), windows) and _wanted(str(c.batch), batches)
    ]
    results = measure(chosen, state, console, rounds)
    show(results, console)
    data = {"benchmark": "windows", "quick": quick, "machine": machine, **as_data(results)}
    report.write_json(json, data)
    plots.throughput(
        {
            (report.NAMES[c.engine], *c.key): o.events_per_second
            for c, o in results.outcomes.items()
            if c.batch >= M
        },
        plot,
    )
    console.print(f"plot: {plot}", *([f"figures: {json}"] if json else []))
    if not all(a.holds for a in results.agreements.values()):
        raise typer.Exit(1)


def _wanted(name: str, chosen: str) -> bool:
    return not chosen or name in chosen.split(",")


def measure(chosen: list[Case], state: str, console: Console, rounds: int = 1) -> Results:
    """Run the cases one after another, comparable ones in turns and `rounds` times; of several runs the middle one counts.

    When the last of the comparable ones has ended, their rows are compared.
    """
    results = Results({}, {})
    with workspace("windows") as root:
        for key, same in groupby(chosen, lambda c: c.key):
            cases, found = list(same), dict[Case, list[Outcome]]()
            for number, case in product(range(rounds), cases):
                folder = root / f"{case.windows}-{case.batch}-{case.engine}-{number}"
                outcome = _measured(case, folder, state)
                found.setdefault(case, []).append(outcome)
                console.print(_line(case, outcome))
                forget(outcome.run, results=number + 1 < rounds)
            results.outcomes |= {c: os[-1] for c, os in found.items()}
            agree(results, key)
            results.outcomes |= {
                c: sorted(os, key=lambda o: o.batch_ms)[len(os) // 2] for c, os in found.items()
            }
    return results


def _measured(case: Case, folder: Path, state: str) -> Outcome:
    """One run of a case, in a process of its own."""
    run = Run(case.engine, str(folder), tumbling(case.windows), case.batch // case.feed.file_events, case.feed.file_events,
              case.warmup, case.measured, state=state, sink="noop" if case.engine == DUCKDB else "parquet")  # fmt: skip
    return run_apart(run, case.feed)


def _line(case: Case, outcome: Outcome) -> str:
    return (
        f"{report.NAMES[case.engine]:<15} {case.windows:>3} windows, batches of {report.count(case.batch):>6}: "
        f"{report.rate(outcome.events_per_second):>8} events/s, {outcome.batch_ms:>8,.0f} ms a batch "
        f"({case.measured} after {case.warmup} of warm-up, {outcome.seconds:.0f} s in all)"
    )


def agree(results: Results, key: tuple[int, int]) -> None:
    """Compare the result rows of all engines that wrote some, then remove them."""
    same = {c: o.run for c, o in results.outcomes.items() if c.key == key and o.run.sink == "parquet"}
    if same:
        longest = max(same.values(), key=lambda run: run.files)
        feed = next(iter(same)).feed
        folders = {report.NAMES[c.engine]: Path(run.directory, "out") for c, run in same.items()}
        results.agreements[key] = compare(folders, files(feed, longest.files), longest.windows)
        for run in same.values():
            forget(run)


def show(results: Results, console: Console) -> None:
    """All tables."""
    console.print(throughput_table(results))
    console.print(agreement_table(results))
    limit = results.ratio((1, 10 * M), DUCKDB)
    if limit is not None:
        console.print(f"of the limit, DuckDB alone with one window and batches of 10 M: {limit}")
    small = (5, SMALL_FEED.file_events)
    found = {
        report.NAMES[e]: o for e in (THALWEG, UNION, EXPLODED) if (o := results.find(e, small)) is not None
    }
    if (ours := found.get("Thalweg")) is not None:
        verdict = "[green]<=[/]" if ours.batch_ms <= SMALL_TARGET else "[red]>[/]"
        console.print(
            f"a whole micro-batch of {small[1]:,} events, {small[0]} windows: {ours.batch_ms:.0f} ms {verdict} {SMALL_TARGET:.0f} ms"
        )
        console.print(report.parts_table("where a small batch goes (medians)", found))
    large = {
        f"{c.windows} x {report.count(c.batch)}": o
        for c, o in results.outcomes.items()
        if c.engine == THALWEG and c.batch >= M
    }
    if large:
        console.print(report.parts_table("where a batch of Thalweg goes (medians; windows x events)", large))


def throughput_table(results: Results) -> Any:
    """Events/s of each engine, and the ratios beside their targets."""
    engines = [THALWEG, UNION, EXPLODED, DUCKDB]
    rows = []
    for key in dict.fromkeys(c.key for c in results.outcomes):
        speeds = [report.rate(o.events_per_second) if (o := results.find(e, key)) else "" for e in engines]
        ratios = [str(results.ratio(key, e) or "") for e in (UNION, EXPLODED, DUCKDB)]
        rows.append([f"{key[0]} x {report.count(key[1])}", *speeds, *ratios])
    columns = [
        "windows x batch",
        *(report.NAMES[e] for e in engines),
        "over union",
        "over exploded",
        "of DuckDB",
    ]
    return report.table("events/s, and Thalweg over the others with the target", columns, rows)


def agreement_table(results: Results) -> Any:
    """How many rows were compared, and whether all are equal."""
    rows = []
    for key, a in results.agreements.items():
        emitted = ", ".join(f"{name} {n:,}" for name, n in a.emitted.items())
        verdict = "[green]equal[/]" if a.holds else f"[red]differ: {a.differing}[/]"
        rows.append([f"{key[0]} x {report.count(key[1])}", f"{a.compared:,}", verdict, emitted])
    title = "result rows of the windows that all engines emitted, against each other and the definition"
    return report.table(title, ["windows x batch", "compared", "", "emitted"], rows)


def as_data(results: Results) -> dict[str, Any]:
    """The figures as JSON holds them."""
    checks = [
        {"windows": n, "batch": b, **asdict(a), "equal": a.holds} for (n, b), a in results.agreements.items()
    ]
    small = results.find(THALWEG, (5, SMALL_FEED.file_events))
    return {
        "runs": [{"case": asdict(c), **report.outcome_data(o)} for c, o in results.outcomes.items()],
        "ratios": [{**asdict(r), "reached": r.reached} for r in results.ratios()],
        "small_batch": None
        if small is None
        else {"ms": small.batch_ms, "target": SMALL_TARGET, "reached": small.batch_ms <= SMALL_TARGET},
        "checks": checks,
    }


if __name__ == "__main__":
    typer.run(main)
