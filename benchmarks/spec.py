"""What a benchmark runs and what comes back, as frozen values that travel between processes as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from thalweg.model.windows import SECOND, Window


@dataclass(frozen=True)
class Run:
    """One engine over one stream of files.

    engine: a module of `benchmarks.engines`. directory: where `in` (the files), `out` (result rows as Parquet) and the
    engine's state are. sink: `parquet`, or `noop` to drop the rows. state: Spark's own state store, `rocksdb` with
    changelog checkpointing or `memory`. settings: of a Thalweg session.
    """

    engine: str
    directory: str
    windows: tuple[Window, ...]
    batch_files: int
    file_events: int
    warmup: int
    measured: int
    aggregate: str = "MIN"
    sink: str = "parquet"
    state: str = "rocksdb"
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def batch_events(self) -> int:
        """Events of a micro-batch."""
        return self.batch_files * self.file_events

    @property
    def files(self) -> int:
        """Files that the run reads, warm-up included."""
        return self.batch_files * (self.warmup + self.measured)

    @property
    def events(self) -> int:
        """Events that the run reads, warm-up included."""
        return self.files * self.file_events


@dataclass(frozen=True)
class Batch:
    """A micro-batch: the time of the whole trigger, and of its parts and steps where the engine tells them, in ms."""

    number: int
    ms: float
    parts: dict[str, float] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a run measured: every batch, warm-up included, and the time of the process as a whole."""

    run: Run
    batches: tuple[Batch, ...]
    seconds: float = 0.0

    @property
    def measured(self) -> tuple[Batch, ...]:
        """The batches after the warm-up."""
        return self.batches[self.run.warmup :]

    @property
    def batch_ms(self) -> float:
        """The median time of a measured batch."""
        return median(b.ms for b in self.measured)

    @property
    def events_per_second(self) -> float:
        """Events of a batch over the median time of a measured batch."""
        return self.run.batch_events / self.batch_ms * 1000


def window_id(window: Window) -> str:
    """The id under which every engine reports a window.

    >>> window_id(Window(20 * SECOND, 10 * SECOND))
    '20000000/10000000'
    """
    return f"{window.range}/{window.slide}"


def tumbling(count: int, width: int = 20) -> tuple[Window, ...]:
    """Tumbling windows of one, two, three ... times a width in seconds.

    >>> [w.range // SECOND for w in tumbling(3)]
    [20, 40, 60]
    """
    return tuple(Window(i * width * SECOND, i * width * SECOND) for i in range(1, count + 1))


def dumps(value: Run | Outcome) -> str:
    """A run or its outcome as JSON."""
    return json.dumps(asdict(value))


def run_of(text: str) -> Run:
    """A run from its JSON."""
    return _run(json.loads(text))


def outcome_of(text: str) -> Outcome:
    """An outcome from its JSON."""
    data = json.loads(text)
    return Outcome(_run(data["run"]), tuple(Batch(**b) for b in data["batches"]), data["seconds"])


def _run(data: dict[str, Any]) -> Run:
    return Run(**{**data, "windows": tuple(map(_window, data["windows"]))})


def _window(data: dict[str, Any]) -> Window:
    return Window(**{**data, "edges": tuple(map(tuple, data["edges"]))})
