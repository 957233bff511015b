"""The engine without Spark's scheduler: the same ingest and work functions, with the exchange done in this process.

Many small cases run in the time of one Spark batch; that Spark moves the same buckets is tested with Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from thalweg.api.results import read_results
from thalweg.api.session import Session
from thalweg.engine.audience import Audience
from thalweg.engine.kernel.finish import finish
from thalweg.engine.kernel.ingest import ingest
from thalweg.engine.kernel.work import work
from thalweg.engine.runner import Runner
from thalweg.engine.stages import reports_of
from thalweg.engine.task import Report, Task
from thalweg.engine.workload import Workload, outputs_beside
from thalweg.model.query import Query
from thalweg.model.stream import Relation, Stream
from thalweg.optimizer.workload import Planner
from thalweg.state.directory import Directory
from thalweg.state.manifest import Manifest

Chunk = tuple[str, str]


def local_job(chunks: Sequence[Chunk], task: Task, tasks: int = 2) -> list[Report]:
    """What the Spark job does: ingest tasks over the chunks, buckets to their partitions, work tasks."""
    sent: list[pa.RecordBatch] = []
    for i in range(tasks):
        mine = chunks[i::tasks]
        if mine:
            rows = {
                "stream": [c[0] for c in mine],
                "path": [c[1] for c in mine],
                "data": pa.array([None] * len(mine), pa.binary()),
            }
            sent.extend(ingest([pa.RecordBatch.from_pydict(rows)], task))
    worked = [b for part in range(task.partitions) for b in work(_mine(sent, part), task, part)]
    for _ in range(task.last):
        worked = [b for part in range(task.partitions) for b in finish(_mine(worked, part), task, part)]
    return reports_of(worked)


def _mine(batches: Sequence[pa.RecordBatch], part: int) -> list[pa.RecordBatch]:
    """What the exchange gives to a partition."""
    return [b.filter(pa.compute.equal(b.column("partition"), part)) for b in batches]


@dataclass
class LocalEngine:
    """A session directory and its batches, restartable at any point."""

    root: Path
    streams: tuple[Stream, ...]
    queries: tuple[Query, ...]
    planner: Planner
    partitions: int = 2
    done: int = 0
    fault: str | None = None
    replans: int = 0
    relations: tuple[Relation, ...] = ()
    exchange: str = "always"
    durable: bool = False
    _runner: Runner | None = field(default=None, repr=False)

    def output(self, name: str) -> str:
        """Where a query's results go."""
        return str(self.root / "results" / name)

    def restart(self, partitions: int | None = None) -> None:
        """Forget everything that is not on disk."""
        self.stop()
        self.partitions = partitions or self.partitions
        self._runner = None

    def stop(self) -> None:
        """Wait until what is found out beside the batches is on disk, as a session does that stops."""
        if self._runner is not None:
            self._runner.chronicle.settle()

    @property
    def runner(self) -> Runner:
        """The runner, opened anew after a restart."""
        if self._runner is None:
            directory = Directory(self.root)
            directory.create()
            (directory.checkpoint / "metadata").touch()
            self._runner = Runner(
                directory,
                self.partitions,
                lambda *_: self.planner,
                local_job,
                self.exchange,
                durable=self.durable,
            )
            self.changed()
            self._runner.recover()
        return self._runner

    def replan(self, planner: Planner) -> None:
        """Plan the workload anew from the next batch on, by another planner."""
        self.planner = planner
        self.replans += 1
        self.changed()

    def changed(self) -> None:
        """Tell the runner the workload as it is now."""
        outputs = {q.name: self.output(q.name) for q in self.queries}
        outputs |= outputs_beside(self.streams, self.root / "bad")
        if self._runner is not None:
            self._runner.workload = Workload(
                self.streams, self.queries, outputs, self.replans, self.relations
            )

    def batch(self, chunks: Iterable[Chunk]) -> None:
        """Run one micro-batch over files."""
        runner = self.runner
        runner.fault = self.fault
        runner.on_batch(list(chunks), self.done)
        self.done += 1

    def results(self, query: Query) -> Any:
        """All results of a query so far."""
        life = next((v for v in reversed(self.runner.lives) if v.name == query.name), None)
        return read_results(query, self.output(query.name), self.runner.directory.shared, life)


class LocalSession(Session):
    """A session whose batches are run one by one, by whoever calls `batch`, without Spark. With `logged` files are logged as Spark logs
    them, so that they can be read again; that is done by whoever calls `replay`."""

    def __init__(self, dir: Path, partitions: int = 2, logged: bool = False) -> None:
        super().__init__(dir, settings={"partitions": str(partitions)})
        self._logged, self._cores = logged, partitions

    def begin(self) -> None:
        """Hold the directory, and finish what a crash interrupted."""
        with self._declarations.lock:
            runner = self.runner
            runner.job, runner.audience = local_job, Audience(self.listeners)
            runner.cores = lambda config: self._cores
            self.directory.checkpoint.mkdir(exist_ok=True)
            (self.directory.checkpoint / "metadata").touch()
            self._begin(runner)
            if (replays := self._running.replays) is not None:
                replays.frame_of, replays.has_begun = lambda chunks: chunks, True
                self._running.offer(self._declarations.workload)
            runner.recover()

    def batch(self, chunks: Iterable[Chunk], settled: bool = True) -> None:
        """Run the next micro-batch over files, when all that was asked for is planned unless it is told not to wait."""
        with self._declarations.lock:
            if is_new := self.runner.job is not local_job:
                self.begin()
        if settled or is_new:
            self._running.settle()
        runner = self.runner
        chunks = list(chunks)
        if self._logged:
            log_files(self.directory.checkpoint, runner.manifest, chunks)
        runner.on_batch(chunks, runner.manifest.batch + 1)

    def replay(self, steps: int | None = None) -> int:
        """Run earlier batches again for those who ask for a history: so many steps, or all. Returns how many were done."""
        replays, done = self._running.replays, 0
        while replays is not None and done != steps and replays.step():
            done += 1
        return done


def log_files(checkpoint: Path, last: Manifest, chunks: Sequence[Chunk]) -> None:
    """Log the files of the next batch as Spark does."""
    ends = {s: c.offset for s, c in last.consumed.items()}
    for stream in dict.fromkeys(s for s, _ in chunks):
        ends[stream] = ends.get(stream, -1) + 1
        paths = [Path(path).resolve().as_uri() for s, path in chunks if s == stream]
        lines = [json.dumps({"path": path, "timestamp": 0, "batchId": ends[stream]}) for path in paths]
        _written(checkpoint / "sources" / stream / str(ends[stream]), ["v1", *lines])
    offsets = [f"{s}:{json.dumps({'logOffset': end})}" for s, end in ends.items()]
    _written(checkpoint / "offsets" / str(last.batch + 1), ["v1", "{}", *offsets])


def _written(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))
