"""Thalweg's chosen plan against native Spark on window sets of the paper, and on a window that slides by a second.

Every engine runs in a process of its own. Native Spark gets fewer batches where it takes long, and may not end at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks import report
from benchmarks.check import compare
from benchmarks.data import Feed, files
from benchmarks.report import Ratio
from benchmarks.runner import RunFailed, forget, run_apart
from benchmarks.spec import Outcome, Run
from benchmarks.window_rows import WindowSet
from thalweg.model.windows import SECOND, Window

NATIVE = ("spark_union", "spark_exploded")
TARGETS = {
    ("S-20-tumbling", "spark_union"): 40.0,
    ("S-20-tumbling", "spark_exploded"): 15.0,
    ("S-10-hopping", "spark_union"): 20.0,
    ("S-10-hopping", "spark_exploded"): 8.0,
    ("sliding", "spark_union"): 20.0,
    ("sliding", "spark_exploded"): 20.0,
}
SLIDING = WindowSet("sliding", 0, (Window(3_600 * SECOND, SECOND),))
# The definition of such a window is too slow for all keys.
CHECKED_KEYS = 2
SLIDING_FEED = Feed(500_000, keys=100, rate=10_000)
SLIDING_NATIVE_FEED = Feed(10_000, keys=100, rate=10_000)


@dataclass(frozen=True)
class Contest:
    """One engine's part: what it ran, or why it did not come to an end.

    at_most: where it ran out of time, more events/s than it did on the whole, its start and warm-up included.
    """

    row: str
    aggregate: str
    engine: str
    outcome: Outcome | None
    failure: str | None = None
    at_most: float | None = None

    @property
    def events_per_second(self) -> float | None:
        """Measured, or a bound, or unknown."""
        return self.at_most if self.outcome is None else self.outcome.events_per_second


@dataclass(frozen=True)
class Entry:
    """How an engine is run: files a batch, warm-up and measured batches, seconds until it is given up."""

    feed: Feed
    batch_files: int
    warmup: int
    measured: int
    timeout: float


def contest(
    root: Path,
    windows: WindowSet,
    aggregate: str,
    feed: Feed,
    batch_files: int,
    timeout: float,
    console: Console,
) -> list[Contest]:
    """A window set of the paper on all engines, the same files in the same batches."""
    ours, theirs = Entry(feed, batch_files, 3, 3, timeout), Entry(feed, batch_files, 1, 2, timeout)
    return _held(root, windows, aggregate, {"thalweg_engine": ours, **dict.fromkeys(NATIVE, theirs)}, console)


def sliding(root: Path, aggregate: str, timeout: float, console: Console) -> list[Contest]:
    """One hour by one second at 10,000 events/s: 3,600 instances an event.

    Thalweg takes 10 minutes of events a batch. Native Spark writes every event 3,600 times, so its batches hold 2 seconds.
    """
    ours, theirs = Entry(SLIDING_FEED, 12, 8, 3, timeout), Entry(SLIDING_NATIVE_FEED, 2, 1, 2, timeout)
    return _held(root, SLIDING, aggregate, {"thalweg_engine": ours, **dict.fromkeys(NATIVE, theirs)}, console)


def _held(
    root: Path, windows: WindowSet, aggregate: str, entries: dict[str, Entry], console: Console
) -> list[Contest]:
    held = []
    for engine, entry in entries.items():
        found = _entered(root, windows, aggregate, engine, entry)
        held.append(found)
        speed = f"{report.rate(found.outcome.events_per_second)} events/s" if found.outcome else "no figure"
        console.print(
            f"{windows.row} {aggregate}: {report.NAMES[engine]} {speed}{', ' + found.failure if found.failure else ''}",
            markup=False,
        )
    return held


def _entered(root: Path, windows: WindowSet, aggregate: str, engine: str, entry: Entry) -> Contest:
    folder = root / f"{windows.row}-{aggregate}-{engine}"
    run = Run(
        engine,
        str(folder),
        windows.windows,
        entry.batch_files,
        entry.feed.file_events,
        entry.warmup,
        entry.measured,
        aggregate,
    )
    try:
        outcome = run_apart(run, entry.feed, entry.timeout)
        paths = files(entry.feed, run.files)
        agreement = compare(
            {engine: folder / "out"},
            paths,
            windows.windows,
            aggregate,
            CHECKED_KEYS if windows is SLIDING else None,
        )
        failure = (
            None
            if agreement.holds
            else f"{agreement.differing[engine]} of {agreement.compared} rows differ from the definition"
        )
        return Contest(windows.row, aggregate, engine, outcome, failure)
    except RunFailed as e:
        late = "not ended in" in str(e)
        return Contest(
            windows.row, aggregate, engine, None, str(e), run.events / entry.timeout if late else None
        )
    finally:
        forget(run)


def ratios(held: list[Contest]) -> list[tuple[Contest, Contest, Ratio | None]]:
    """Thalweg against each native engine on the same row and aggregate."""
    pairs = [(a, b) for a in held for b in held if a.engine == "thalweg_engine" and b.engine != a.engine]
    return [(a, b, _ratio(a, b)) for a, b in pairs if (a.row, a.aggregate) == (b.row, b.aggregate)]


def _ratio(ours: Contest, theirs: Contest) -> Ratio | None:
    if ours.events_per_second is None or theirs.events_per_second is None:
        return None
    what = f"{theirs.row} {theirs.aggregate}, {report.NAMES[theirs.engine]}"
    target = TARGETS.get((theirs.row, theirs.engine)) if theirs.outcome is not None else None
    return Ratio(what, ours.events_per_second / theirs.events_per_second, target)
