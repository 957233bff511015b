"""The committed batches of a session directory: how one is written, shown and cleaned up after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

from thalweg.connectors.base import by_address, sink_at
from thalweg.connectors.source_log import check_log
from thalweg.engine.checkpoint import files_of, mend
from thalweg.engine.faults import reach
from thalweg.errors import StateError
from thalweg.plan.nodes import Plan
from thalweg.state import history
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
        self.manifests, self.plans, self.state = (LocalStore(d, durable) for d in (directory.manifests, directory.plans, directory.state))
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

    def write_plan(self, plan: Plan, batch: int, fault: str | None = None) -> Path:
        """Log the plan that is new in a batch."""
        reach("driver:before-plan", fault)
        name = self.log.write(plan, batch)
        reach("driver:after-plan", fault)
        return self.directory.plans / name

    def commit(self, before: Manifest, made: Manifest, fault: str | None = None) -> Manifest:
        """Write what a batch changed, at once: from here on the batch has happened. Returns it as it was written."""
        reach("driver:before-manifest", fault)
        self.directory.guard()
        if self.durable:
            self._flush(before, made)
        digest, size = history.append(self.manifests, before, made, str(self.directory.manifests))
        self._changes, self._bytes = self._changes + 1, self._bytes + size
        reach("driver:after-manifest", fault)
        return replace(made, digest=digest)

    def _flush(self, before: Manifest, made: Manifest) -> None:
        """Put on disk the names of what the tasks wrote and flushed, and what Spark wrote of this batch.

        So too what the batch before has shown: its manifest, by which a restart would show it again, ceases to be the last.
        """
        folders = [f for a in by_address((*before.publish, *made.publish)) for f in sink_at(a).staged_folders() if f.exists()]
        spark = files_of(self.directory.checkpoint, before, made)
        flush([self.directory.state, *folders, *spark, *(path.parent for path in spark)])

    def show(self, made: Manifest, fault: str | None = None) -> None:
        """Make the results of a committed batch visible. Doing it twice is doing it once."""
        reach("driver:before-publish", fault)
        for address, staged in by_address(made.publish).items():
            sink_at(address).commit(staged)
            reach("driver:during-publish", fault)
        reach("driver:after-publish", fault)

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
        self._base, self._changes, self._bytes = history.write_base(self.manifests, made), 0, 0
        history.forget(self.manifests, made.batch)

    def recover(self, last: Manifest, outputs: Iterable[str]) -> None:
        """Finish what a crash interrupted: show committed results, sweep what was never committed."""
        self.directory.guard()
        for address, staged in by_address(last.publish).items():
            sink_at(address).recover(staged)
        for store in (self.manifests, self.plans):
            store.tidy()
        sweep(self.state, {f.path for f in last.files})
        rmtree(self.directory.spill, ignore_errors=True)
        for output in outputs:
            sink_at(output).sweep()
        self.log.forget()
        if last.batch >= 0:
            self._write_base(last)
        if last.batch >= 0 and not (self.directory.checkpoint / "metadata").exists():
            raise StateError(
                f"{self.directory.checkpoint}: Spark's checkpoint is missing", "restore it, or start anew in another directory"
            )
        mend(self.directory.checkpoint, last)
        check_log(self.directory.checkpoint, last.consumed)
