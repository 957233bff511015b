"""The committed batches of a session directory: how one is written, shown and cleaned up after."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from shutil import rmtree

from thalweg.connectors.base import Sink, by_address, sink_at
from thalweg.connectors.source_log import check_log
from thalweg.engine.blame import Blamed, blaming_sink
from thalweg.engine.checkpoint import check_marks, files_of, forget_uncommitted, marks
from thalweg.engine.faults import reach
from thalweg.errors import EnvironmentProblem, StateError
from thalweg.plan.nodes import Plan
from thalweg.state import history
from thalweg.state.clock import moment_of
from thalweg.state.course import Course, Turn
from thalweg.state.directory import Directory
from thalweg.state.files import sweep
from thalweg.state.local import LocalStore, flush
from thalweg.state.manifest import Manifest
from thalweg.state.plans import PlanLog

# A base is written after so many changes, once they have as many bytes as the last base.
CHANGES = 32


class Ledger:
    """What a session directory says of its batches. A batch has happened once its change of the manifest is there.

    With `durable` everything that a batch wrote is on disk before that, so that a power cut finds all or nothing of it.
    """

    def __init__(self, directory: Directory, durable: bool = True) -> None:
        self.directory, self.durable = directory, durable
        self.manifests, self.plans, self.state = (
            LocalStore(d, durable) for d in (directory.manifests, directory.plans, directory.state)
        )
        self.course = Course(LocalStore(directory.course, durable), self.manifests, str(directory.course))
        self._turn = threading.Lock()
        self.log = PlanLog(self.plans, str(directory.plans))
        self._changes, self._bytes, self._base = 0, 0, 0

    def latest(self) -> Manifest:
        """The manifest of the last committed batch, or an empty one."""
        return history.latest(self.manifests, str(self.directory.manifests))

    def manifest_path(self, manifest: Manifest) -> str:
        """Where what a batch changed stands."""
        return str(self.directory.manifests / history.change_name(manifest.batch))

    def plan_of(self, manifest: Manifest) -> Plan:
        """The plan that a batch ran."""
        return self.log.read(manifest.plan) if manifest.plan else Plan()

    def moment(self, batch: int) -> int:
        """When the rows of a batch are read: the same whenever it is run again."""
        return moment_of(self.directory.root, batch, self.durable)

    def write_plan(self, plan: Plan, batch: int, fault: str | None = None) -> Path:
        """Log the plan that is new in a batch."""
        reach("driver:before-plan", fault)
        name = self.log.write(plan, batch)
        reach("driver:after-plan", fault)
        return self.directory.plans / name

    def commit(
        self, before: Manifest, made: Manifest, fault: str | None = None, live: Collection[str] = ()
    ) -> Manifest:
        """Write what a batch changed, at once: from here on the batch has happened. Returns it as it was written.

        `live` are the addresses of the queries that run: what is wrong at one of them is told, at others it is nobody's business.
        """
        reach("driver:before-manifest", fault)
        self.directory.guard()
        made = replace(made, checkpoint=marks(self.directory.checkpoint, before, made))
        if self.durable:
            self._flush(before, made, live)
        digest, size = history.append(self.manifests, before, made, str(self.directory.manifests))
        self._changes, self._bytes = self._changes + 1, self._bytes + size
        reach("driver:after-manifest", fault)
        return replace(made, digest=digest)

    def _flush(self, before: Manifest, made: Manifest, live: Collection[str]) -> None:
        """Put on disk the names of what the tasks wrote and flushed, and what Spark wrote of this batch.

        So too what the batch before has shown: its manifest, by which a restart would show it again, ceases to be the last.
        """
        folders = {a: _folders(a) for a in by_address((*before.publish, *made.publish))}
        spark = files_of(self.directory.checkpoint, before, made)
        own = [self.directory.state, *spark, *(path.parent for path in spark)]
        try:
            flush([*own, *(f for some in folders.values() for f in some)])
        except EnvironmentProblem:
            for address, some in folders.items():
                with self._at(address) if address in live else suppress(EnvironmentProblem):
                    flush(some)
            flush(own)

    def _at(self, address: str) -> AbstractContextManager[None]:
        """What goes wrong at the place of a query is its fault: `Blamed` names the place. What the session has in common is nobody's."""
        shared = Path(address).is_relative_to(self.directory.shared)
        return nullcontext() if shared else blaming_sink(address, address, str(self.directory.state))

    def show(self, made: Manifest, fault: str | None = None) -> dict[str, Exception]:
        """Make the results of a committed batch visible, and return where that can't be done. Doing it twice is doing it once."""
        reach("driver:before-publish", fault)
        refused: dict[str, Exception] = {}
        for address, staged in by_address(made.publish).items():
            self._try(address, methodcaller("commit", staged), refused)
            reach("driver:during-publish", fault)
        reach("driver:after-publish", fault)
        return refused

    def _try(self, address: str, act: Callable[[Sink], None], refused: dict[str, Exception]) -> None:
        try:
            with self._at(address):
                act(sink_at(address))
        except Blamed as e:
            refused[address] = e.error

    def clean(self, before: Manifest, made: Manifest, fault: str | None = None) -> None:
        """Forget what no restart can need: files that only the last manifest named, old changes, old plans."""
        reach("driver:before-cleanup", fault)
        self.directory.guard()
        named = {f.path for f in made.files}
        for file in before.files:
            if file.path not in named:
                self.state.delete(file.path)
        if before.plan != made.plan:
            self.log.forget()
        if self._changes >= CHANGES and self._bytes >= self._base:
            self._write_base(made)
        reach("driver:after-cleanup", fault)

    def _write_base(self, made: Manifest) -> None:
        with self._turn:
            self.course.keep(made)
            self._base, self._changes, self._bytes = history.write_base(self.manifests, made), 0, 0
            history.forget(self.manifests, made.batch)

    def turns(self, last: Manifest, since: int = -1) -> tuple[Turn, ...]:
        """The course of the batches after `since` up to one of the last few."""
        with self._turn:
            return self.course.turns(last, since)

    def sweep(self, made: Manifest, outputs: Iterable[str]) -> None:
        """Remove what attempts at a batch left behind that were not committed. Only once the batch is shown, and no task runs."""
        sweep(self.state, {f.path for f in made.files})
        for output in outputs:
            self._try(output, methodcaller("sweep"), {})

    def recover(
        self, last: Manifest, outputs: Iterable[str], streams: Iterable[str] = ()
    ) -> dict[str, Exception]:
        """Finish what a crash interrupted: show committed results, sweep what was never committed; `streams` are those of files.
        Returns where that can't be done."""
        self.directory.guard()
        refused: dict[str, Exception] = {}
        for address, staged in by_address(last.publish).items():
            self._try(address, methodcaller("recover", staged), refused)
        for store in (self.manifests, self.plans):
            store.tidy()
        sweep(self.state, {f.path for f in last.files})
        rmtree(self.directory.spill, ignore_errors=True)
        for output in outputs:
            self._try(output, methodcaller("sweep"), refused)
        self.log.forget()
        if last.batch >= 0:
            self._write_base(last)
        if last.batch >= 0 and not (self.directory.checkpoint / "metadata").exists():
            raise StateError(
                f"{self.directory.checkpoint}: Spark's checkpoint is missing",
                "restore it, or start anew in another directory",
            )
        check_marks(self.directory.checkpoint, last)
        forget_uncommitted(self.directory.checkpoint, last, streams)
        check_log(self.directory.checkpoint, last.consumed)
        return refused


def _folders(address: str) -> list[Path]:
    return [f for f in sink_at(address).staged_folders() if f.exists()]
