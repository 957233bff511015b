"""A query with a history on its way to the batches: those that were committed before it came, run again for it alone.

A replay is a runner of its own, over a directory of its own, with the files, the frontiers and so the late rows that the batches had.
What a step finds is shown at once; the state that the last step leaves is what the batches go on with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from typing import Any

from thalweg.connectors.base import sink_at
from thalweg.engine.arrivals import Arrival
from thalweg.engine.beginning import Beginning, gone_of, logged
from thalweg.engine.blame import Blamed
from thalweg.engine.planning import Planning
from thalweg.engine.progress import Attempt
from thalweg.engine.runner import Runner
from thalweg.engine.stages import worked_here
from thalweg.engine.task import Instants, Task
from thalweg.engine.workload import BAD, LATE, Workload
from thalweg.errors import DataError
from thalweg.model.query import Query
from thalweg.model.recorded import Failure
from thalweg.plan.nodes import Plan
from thalweg.state.course import Marks, Turn, marks_after
from thalweg.state.directory import Directory
from thalweg.state.local import flush
from thalweg.state.manifest import Counts

# A step takes so many seconds at most, where it is more than one batch; and so many batches.
STEP_SECONDS, STEP_BATCHES = 0.5, 64
Chunks = list[tuple[str, str]]


class Replay(Runner):
    """Batches run again for one query, up to the last of those that `live` has committed."""

    def __init__(
        self,
        live: Runner,
        directory: Directory,
        query: Query,
        whole: Workload,
        start: Beginning,
        frame_of: Callable[[Chunks], Any],
    ) -> None:
        directory.create()
        (directory.checkpoint / "metadata").touch()
        job = lambda frame, task: live.job(frame, task) if frame is not None else worked_here([], task)  # noqa: E731
        how = (live.exchange, live.scan, live.ledger.durable)
        super().__init__(
            directory,
            live.partitions,
            lambda w, _: live.planning.fresh_planner_of(w, live.manifest),
            job,
            *how,
        )
        self.planning = Planning(self.planning.planner_of, looking=False)
        self.query, self.start, self._live, self._frame_of = query, start, live, frame_of
        if self.manifest.batch < 0:
            self.manifest = start.manifest
        self.workload = _alone(query, whole, directory)
        self.recover()
        (directory.checkpoint / "metadata").touch()
        self._position = self.manifest.replayed if self.manifest.replayed is not None else start.after
        earlier = [t for t in live.ledger.turns(live.last[0], start.after) if t.batch <= self._position]
        self._marks: Marks = self._within(marks_after(start.marks, earlier))
        self._ahead: list[Turn] = []
        self._goal: tuple[int, Marks] = self._position, self._marks
        self._stride, self._has_files = 1, False
        self.readable = self.manifest.batch

    @property
    def position(self) -> int:
        """The last batch that it has run again."""
        return self._position

    @property
    def lag(self) -> int:
        """The batches that it has still to run."""
        return self._live.manifest.batch - self._position

    def step(self) -> bool:
        """Run the next batches again, as one where none of them had late rows; False where there are none."""
        self._live.directory.guard()
        turns = self._following()
        if not turns:
            return False
        files = {
            s: (self._marks[s].offset, m.offset)
            for s, m in marks_after(self._marks, turns).items()
            if s in self._marks
        }
        chunks = [
            (s, path) for s, (before, last) in files.items() for path in self._files(s, before + 1, last)
        ]
        after = self._within(marks_after(self._marks, turns))
        if chunks or _frontiers(after) != _frontiers(self._marks):
            self._run(chunks, turns[-1].batch, after, len(turns))
        self.readable = self.manifest.batch
        self._position, self._marks = turns[-1].batch, after
        return True

    def _run(self, chunks: Chunks, batch: int, after: Marks, turns: int) -> None:
        """Run files as one batch; where only frontiers have moved, here and without a job."""
        started, self._goal, self._has_files = time.perf_counter(), (batch, after), bool(chunks)
        self._batch(self._frame_of(chunks) if chunks else None, self.manifest.batch + 1)
        seconds = time.perf_counter() - started
        if turns >= self._stride and seconds < STEP_SECONDS / 2:
            self._stride = min(2 * self._stride, STEP_BATCHES)
        elif seconds > STEP_SECONDS:
            self._stride = max(1, self._stride // 2)

    def _following(self) -> list[Turn]:
        """The next batches that can be run as one: rows that were late in one of them are late by the frontier before that one."""
        self._ahead = [t for t in self._ahead if t.batch > self._position]
        self._ahead = ahead = self._ahead or list(self._live.ledger.turns(self._live.last[0], self._position))
        taken, marks = ahead[:1], marks_after(self._marks, ahead[:1])
        for turn in ahead[1 : self._stride]:
            if any(m.late > marks[s].late for s, m in turn.marks.items() if s in self._marks):
                break
            taken.append(turn)
            marks = marks_after(marks, [turn])
        return taken

    def _within(self, marks: Marks) -> Marks:
        return {s: marks[s] for s in self.query.sources if s in marks}

    def _files(self, stream: str, first: int, last: int) -> list[str]:
        """The files of some numbers of a stream's log, all of which must be there."""
        if first > last:
            return []
        found = logged(self._live.directory.checkpoint, stream, first, last)
        declared = next(s for s in self.workload.streams if s.name == stream)
        for entry in gone_of(declared, found):
            hint = f"query {self.query.name} can be created again: it begins after what is gone"
            raise DataError(f"{entry.file}: gone before query {self.query.name} has read it again", hint)
        return [e.file for e in found]

    def arrival(self) -> Arrival:
        """What the batches go on with, once there is no lag."""
        counts = self.manifest.queries.get(self.query.name, Counts())
        return Arrival(
            self.query, self.start.begins, self._ended_plan(), self.manifest.files, counts, self._install
        )

    def _ended_plan(self) -> Plan:
        """The plan of the last step; of none, where no step had anything to do, as it would be."""
        return self.plan if self.plan.queries else self._planned_for(self.workload)

    def _install(self) -> None:
        """Give the state files a name in the session's directory. What no manifest names is swept there, and stays here."""
        for file in self.manifest.files:
            path = self._live.directory.state / file.path
            if not path.exists():
                _linked(self.directory.state / file.path, path)
        if self.ledger.durable:
            shown = sink_at(self.workload.outputs[self.query.name]).staged_folders()
            flush([self._live.directory.state, *(f for f in shown if f.exists())])

    # ---- where a replay is not like other runners ----

    def _stop(self, workload: Workload, found: Mapping[str, Exception], batch: int) -> tuple[Failure, ...]:
        """A query that makes a step fail ends the replay."""
        for name, error in found.items():
            raise Blamed(error, (name,))
        return ()

    def _attempt(self, frame: Any, batch: int, workload: Workload) -> Attempt:
        done = super()._attempt(frame, batch, workload)
        return replace(done, made=replace(done.made, replayed=self._goal[0]))

    def _task(self, plan: Plan, path: Path, batch: int, workload: Workload) -> Task:
        marks = self._goal[1]
        tops: Instants = {s: marks[s].top for s in self.query.sources}
        task = replace(
            super()._task(plan, path, batch, workload),
            moved=(tops, _frontiers(marks)),
            idle=(),
            look=False,
            yields=True,
        )
        return task if self._has_files else replace(task, near=True, partitions=1)


def _frontiers(marks: Marks) -> Instants:
    return {s: m.frontier for s, m in marks.items()}


def _alone(query: Query, whole: Workload, directory: Directory) -> Workload:
    """What a replay runs: one query that shares nothing, and beside its results nothing that anybody reads."""
    streams = tuple(s for s in whole.streams if s.name in query.sources)
    beside = {f"{BAD}{s.name}": str(directory.bad / s.name) for s in streams}
    beside |= {f"{LATE}{s.name}": str(directory.root / "late" / s.name) for s in streams if s.late_rows}
    outputs = {query.name: whole.outputs[query.name], **beside}
    relations = tuple(r for r in whole.relations if r.name in query.tables)
    return Workload(
        streams, (query,), outputs, 0, relations, replace(whole.config, sharing="off", split="off")
    )


def _linked(source: Path, path: Path) -> None:
    try:
        path.hardlink_to(source)
    except OSError:
        copyfile(source, path)
