"""Part `native`, the Spark lines of figure 15: the joins of part `joins` without predicates, Thalweg and plain Spark on the same files.

Every engine runs on Spark in a process of its own. One that did not come to its end is not tried with more queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.sharing_apart import ManyRun, run_apart
from benchmarks.sharing_feeds import Attributes, written
from benchmarks.sharing_points import Point, compared
from benchmarks.sharing_run import Measured
from benchmarks.sharing_template import no_conditions
from benchmarks.sharing_workloads import WITHOUT, drawn

FORMS = {"Spark, a query each": "each", "Spark, union": "union", "Spark, foreachBatch by hand": "by hand"}
WARMUP = 3


def measure(
    counts: Sequence[int], modes: Sequence[str], quick: bool, root: Path, timeout: float
) -> Iterator[Point]:
    """All engines for each number of queries."""
    lost: dict[str, str] = {}
    feed, measured = Attributes((0, 1)), 2 if quick else 5
    written(feed, WARMUP + measured, root / "in")
    for count in counts:
        found: dict[str, Measured] = {}
        for name, run in _entered(count, modes, feed, measured, root).items():
            found[name] = (
                Measured(run.events, count, failure=lost[name]) if name in lost else run_apart(run, timeout)
            )
            if found[name].failure and name in FORMS:
                lost.setdefault(name, f"not tried: with {count} queries {_last_line(found[name])}")
            yield Point("native", WITHOUT, count, name, found[name], compared(found, name))


def _entered(
    count: int, modes: Sequence[str], feed: Attributes, measured: int, root: Path
) -> dict[str, ManyRun]:
    """By name, what is run for a number of queries."""
    asked = drawn(count, conditions=no_conditions)
    ours, theirs = tuple(a.sql for a in asked), tuple(a.spark_sql for a in asked)
    batches = feed.events, WARMUP, measured
    found = {mode: ManyRun("thalweg_many", mode, str(root), feed.sql, ours, *batches) for mode in modes}
    return found | {
        name: ManyRun("spark_many", form, str(root), feed.sql, theirs, *batches)
        for name, form in FORMS.items()
    }


def _last_line(found: Measured) -> str:
    return (found.failure or "").splitlines()[-1]
