"""A join on one engine in a process of its own, with a time limit: what is run, what comes back, as JSON between processes."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from statistics import median

from benchmarks.runner import process
from benchmarks.spec import Batch


@dataclass(frozen=True)
class JoinRun:
    """One engine over two streams of files, one file of each a micro-batch.

    engine: a module of `benchmarks.engines`. directory: where `s0`, `s1` (the files), `out` (result rows as Parquet) and the
    engine's state are. form: `late` and `early`, the aggregate over the join and how it is written, or `rows`, the joined rows.
    window: seconds. state_format: of native Spark's join state. settings: of a Thalweg session.
    """

    engine: str
    directory: str
    form: str
    window: int
    files: int
    state_format: int = 2
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JoinOutcome:
    """seconds: from the start of the streaming query to its end. batches: those with input, as Spark reports them."""

    run: JoinRun
    batches: tuple[Batch, ...]
    seconds: float
    process_seconds: float = 0.0

    def batch_ms(self, warmup: int = 2) -> float:
        """The median time of a batch after the warm-up."""
        return median(b.ms for b in self.batches[warmup:] or self.batches)


def run_apart(run: JoinRun, timeout: float) -> JoinOutcome:
    """Run an engine on files that are in place; its result rows stay under the run's directory."""
    folder = Path(run.directory)
    (folder / "run.json").write_text(json.dumps(asdict(run)))
    started = time.perf_counter()
    process("benchmarks.join_run", folder, timeout)
    outcome = outcome_of((folder / "outcome.json").read_text())
    return replace(outcome, process_seconds=time.perf_counter() - started)


def outcome_of(text: str) -> JoinOutcome:
    """An outcome from its JSON."""
    data = json.loads(text)
    batches = tuple(Batch(**b) for b in data["batches"])
    return JoinOutcome(JoinRun(**data["run"]), batches, data["seconds"], data["process_seconds"])


def main(path: str) -> None:
    """The other process: run what the file describes and write the outcome beside it."""
    run = JoinRun(**json.loads(Path(path).read_text()))
    batches, seconds = import_module(f"benchmarks.engines.{run.engine}").execute(run)
    Path(path).with_name("outcome.json").write_text(json.dumps(asdict(JoinOutcome(run, batches, seconds))))


if __name__ == "__main__":
    main(sys.argv[1])
