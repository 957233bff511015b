"""Part `native`: Thalweg against native Spark on two streams of 2 M events, aggregated after a join, and joined rows.

Every engine reads the same eight files of 500,000 events a stream, one of each a micro-batch, in a process of its own. The first four
batches warm it up, the time of the other four counts. What does not end within the limit is reported as such.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import report
from benchmarks.join_check import Agreement, groups_agree, rows_agree
from benchmarks.join_data import JoinFeed, files, place
from benchmarks.join_run import JoinOutcome, JoinRun, run_apart
from benchmarks.report import Ratio
from benchmarks.runner import RunFailed

WINDOW = 10
RATE = 10_000
FILES = 8
WARMUP = 4


@dataclass(frozen=True)
class Entrant:
    """An engine with the way in which the query is written for it, and the form of result rows that it is compared in."""

    name: str
    engine: str
    form: str
    case: str
    state_format: int = 2


ENTRANTS = (
    Entrant("Thalweg", "thalweg_join", "late", "aggregate"),
    Entrant("Spark, early by hand, format 4", "spark_join", "early", "aggregate", 4),
    Entrant("Spark, early by hand, format 2", "spark_join", "early", "aggregate", 2),
    Entrant("Spark, join then aggregate, format 4", "spark_join", "late", "aggregate", 4),
    Entrant("Spark, join then aggregate, format 2", "spark_join", "late", "aggregate", 2),
    Entrant("Thalweg", "thalweg_join", "rows", "rows"),
    Entrant("Spark, format 4", "spark_join", "rows", "rows", 4),
    Entrant("Spark, format 2", "spark_join", "rows", "rows", 2),
)


@dataclass(frozen=True)
class Contest:
    """What an entrant did, or why it did not come to an end."""

    entrant: Entrant
    events: int
    outcome: JoinOutcome | None
    agreement: Agreement | None
    failure: str | None = None
    limit: float = 0.0

    @property
    def seconds(self) -> float | None:
        """Of the batches that count; the limit, where that came first."""
        if self.outcome is not None:
            counted = self.outcome.batches[WARMUP:]
            return sum(b.ms for b in counted) / 1000 if counted else self.outcome.seconds
        return self.limit if self.failure and "not ended" in self.failure else None

    @property
    def wrong(self) -> bool:
        """Whether it gave other results than the definition."""
        return self.agreement is not None and not self.agreement.holds


def feeds(case: str) -> tuple[JoinFeed, JoinFeed]:
    """1,000 keys and 50 groups; for rows so many keys that a row has about one partner in the 20 s around it."""
    if case == "rows":
        return JoinFeed(RATE, 2 * WINDOW * RATE, seed=1), JoinFeed(RATE, 2 * WINDOW * RATE, seed=2)
    return JoinFeed(RATE, 1_000, 50, seed=1), JoinFeed(RATE, 1_000, seed=2)


def measure(root: Path, quick: bool, limit: float, console: Console, only: str = "") -> list[Contest]:
    """All entrants one after another; quick: a tenth of the events."""
    seconds = 40 if quick else 400
    held = []
    for number, entrant in enumerate(
        e for e in ENTRANTS if any(o in f"{e.case} {e.name}" for o in only.split(","))
    ):
        contest = _entered(root, number, entrant, seconds, limit)
        held.append(contest)
        done = contest.failure or f"{contest.seconds:.1f} s, {_verdict(contest.agreement)}"
        console.print(f"{entrant.case}: {entrant.name}: {done}", markup=False)
    return held


def _entered(root: Path, number: int, entrant: Entrant, seconds: int, limit: float) -> Contest:
    folder = root / f"native-{number}"
    paths = [files(feed, (seconds / FILES,) * FILES, root / "data") for feed in feeds(entrant.case)]
    for n, found in enumerate(paths):
        place(found, folder / f"s{n}")
    run = JoinRun(entrant.engine, str(folder), entrant.form, WINDOW, FILES, entrant.state_format)
    events = 2 * seconds * RATE
    try:
        outcome = run_apart(run, limit)
        agree = rows_agree if entrant.case == "rows" else groups_agree
        return Contest(entrant, events, outcome, agree(folder / "out", (paths[0], paths[1]), WINDOW))
    except RunFailed as e:
        return Contest(entrant, events, None, None, str(e), limit)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _verdict(agreement: Agreement | None) -> str:
    if agreement is None:
        return ""
    return f"{agreement.emitted:,} rows equal" if agreement.holds else f"{agreement.differing:,} rows differ"


def ratios(held: list[Contest]) -> list[tuple[Contest, Ratio]]:
    """How many times as fast Thalweg is; where the other did not end it is a bound."""
    found = []
    ours = {c.entrant.case: c.seconds for c in held if c.entrant.engine == "thalweg_join" and c.seconds}
    for c in held:
        own = ours.get(c.entrant.case)
        if own and c.seconds and c.entrant.engine != "thalweg_join":
            found.append((c, Ratio(c.entrant.name, c.seconds / own)))
    return found


def show(held: list[Contest], console: Console) -> None:
    """Times of the whole query, of a batch, and the ratios."""
    by_name = {id(c): r for c, r in ratios(held)}
    rows = []
    for c in held:
        ended = (
            [f"{c.seconds:.1f}", f"{c.outcome.batch_ms(WARMUP):,.0f}"]
            if c.outcome
            else [(c.failure or "").splitlines()[-1], ""]
        )
        ratio = by_name.get(id(c))
        bound = "" if ratio is None else str(ratio) if c.outcome else f"> {ratio}"
        rows.append(
            [f"{c.entrant.case}: {c.entrant.name}", f"{c.events:,}", *ended, bound, _verdict(c.agreement)]
        )
    columns = ["", "events", "s, batches that count", "ms, median of them", "Thalweg is faster by", "results"]
    console.print(report.table("a join of two streams on local[2]", columns, rows))


def as_data(held: list[Contest]) -> list[dict[str, Any]]:
    """The figures as JSON holds them."""
    by_name = {id(c): r for c, r in ratios(held)}
    found = []
    for c in held:
        outcome = (
            None
            if c.outcome is None
            else {"seconds": c.outcome.seconds, "batches_ms": [b.ms for b in c.outcome.batches]}
        )
        ratio = by_name[id(c)].value if id(c) in by_name else None
        agreement = None if c.agreement is None else asdict(c.agreement)
        data = {
            "entrant": asdict(c.entrant),
            "events": c.events,
            "outcome": outcome,
            "agreement": agreement,
            "failure": c.failure,
        }
        found.append({**data, "limit": c.limit, "thalweg_faster_by": ratio})
    return found
