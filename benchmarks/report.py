"""Figures to tables, ratios and JSON. Nothing here measures; nothing here is known before a run."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.spec import Outcome

NAMES = {
    "thalweg_engine": "Thalweg",
    "spark_union": "Spark union",
    "spark_exploded": "Spark exploded",
    "duckdb_alone": "DuckDB alone",
}
PACKAGES = ("pyspark", "duckdb", "pyarrow", "numpy")


@dataclass(frozen=True)
class Ratio:
    """How many times one figure is another, and how many times it should be at least (None: no target)."""

    what: str
    value: float
    target: float | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; None where there is none."""
        return None if self.target is None else self.value >= self.target

    def __str__(self) -> str:
        digits = 1 if self.value >= 10 else 2
        text = f"{self.value:.{digits}f}x"
        return text if self.target is None else f"{text} {mark(self.value >= self.target)} {self.target:g}x"


def console() -> Console:
    """The terminal, or wide enough for every table where the output goes elsewhere."""
    shown = Console()
    return shown if shown.is_terminal else Console(width=160)


def mark(reached: bool) -> str:
    """A verdict in one sign.

    >>> mark(True), mark(False)
    ('[green]>=[/]', '[red]<[/]')
    """
    return "[green]>=[/]" if reached else "[red]<[/]"


def rate(events_per_second: float) -> str:
    """Events per second for people.

    >>> rate(1_234_567), rate(45_600)
    ('1.23 M', '45.6 k')
    """
    if events_per_second >= 1_000_000:
        return f"{events_per_second / 1e6:.2f} M"
    return f"{events_per_second / 1e3:.1f} k"


def count(events: int) -> str:
    """A number of events for people.

    >>> count(10_000_000), count(10_000)
    ('10 M', '10,000')
    """
    return f"{events / 1e6:g} M" if events >= 1_000_000 else f"{events:,}"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A Rich table, numbers to the right."""
    made = Table(title=title, title_justify="left", title_style="bold")
    for i, column in enumerate(columns):
        made.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        made.add_row(*row)
    return made


def parts_table(title: str, outcomes: Mapping[str, Outcome]) -> Table:
    """Where the time of a batch goes: medians over the measured batches, in ms.

    The parts come from Spark (`addBatch` holds the job), `thalweg` is the driver's own time inside it, and the steps are
    added over the tasks, which run side by side.
    """
    spread = {name: parts(o) for name, o in outcomes.items()}
    order = list(dict.fromkeys(p for found in spread.values() for p in found))
    return table(
        title, ["ms", *outcomes], ([p, *(_ms(spread[name].get(p)) for name in outcomes)] for p in order)
    )


def parts(outcome: Outcome) -> dict[str, float]:
    """The median of each part and step over the measured batches, the whole first."""
    found: dict[str, list[float]] = {}
    for batch in outcome.measured:
        named = {"whole batch": batch.ms, **batch.parts, **{f"step {k}": ms for k, ms in batch.steps.items()}}
        for name, ms in named.items():
            found.setdefault(name, []).append(ms)
    found.pop("triggerExecution", None)
    return {name: median(values) for name, values in found.items()}


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def outcome_data(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON holds it: what ran, every batch, the figures drawn from it."""
    run = asdict(outcome.run)
    run.pop("directory")
    figures = {
        "batch_ms": outcome.batch_ms,
        "events_per_second": outcome.events_per_second,
        "process_seconds": outcome.seconds,
    }
    return {
        **run,
        "batch_events": outcome.run.batch_events,
        **figures,
        "parts": parts(outcome),
        "ms": [b.ms for b in outcome.batches],
    }


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    busy = os.getloadavg()[0]
    packages = {name: version(name) for name in PACKAGES}
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "load_before": busy,
        "python": platform.python_version(),
        **packages,
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    names = (
        [
            line.partition(":")[2].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        if info.exists()
        else []
    )
    return names[0] if names else platform.processor()


def write_json(path: Path | None, data: Mapping[str, Any]) -> None:
    """Write the figures where the user asked for them."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data, indent=2))
