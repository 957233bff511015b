"""Many queries on one engine in a process of its own, with a time limit: what is run, what comes back, as JSON between processes."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.runner import RunFailed, process
from benchmarks.sharing_run import Measured


@dataclass(frozen=True)
class ManyRun:
    """Queries over files that are in place, one of each stream a micro-batch.

    engine: a module of `benchmarks.engines`. form: the mode of Thalweg, the way in which native Spark is used. directory: where `in`
    with a folder for each stream is, and `run` for all that the run writes. streams: as Thalweg declares them. queries: in the
    engine's own SQL. events: of a batch.
    """

    engine: str
    form: str
    directory: str
    streams: str
    queries: tuple[str, ...]
    events: int
    warmup: int
    measured: int

    @property
    def own(self) -> Path:
        """The folder that only this run uses."""
        return Path(self.directory, "run")


def run_apart(run: ManyRun, timeout: float) -> Measured:
    """Run an engine; what it wrote is gone afterwards, also where it did not come to its end."""
    run.own.mkdir()
    try:
        (run.own / "run.json").write_text(json.dumps(asdict(run)))
        process("benchmarks.sharing_apart", run.own, timeout)
        return measured_of(json.loads((run.own / "outcome.json").read_text()))
    except RunFailed as e:
        return Measured(run.events, len(run.queries), failure=str(e))
    finally:
        shutil.rmtree(run.own, ignore_errors=True)


def measured_of(data: dict[str, Any]) -> Measured:
    """What was measured, from its JSON."""
    results = data["results"] and {
        name: (rows, checksum) for name, (rows, checksum) in data["results"].items()
    }
    given = {name: tuple(data[name]) for name in ("ms", "cpu_ms")}
    return Measured(**{**data, **given, "results": results, "nodes": data["nodes"] and tuple(data["nodes"])})


def main(path: str) -> None:
    """The other process: run what the file describes and write the outcome beside it."""
    data = json.loads(Path(path).read_text())
    run = ManyRun(**{**data, "queries": tuple(data["queries"])})
    found: Measured = import_module(f"benchmarks.engines.{run.engine}").execute(run)
    Path(path).with_name("outcome.json").write_text(json.dumps(asdict(found)))


if __name__ == "__main__":
    main(sys.argv[1])
