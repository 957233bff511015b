"""What a session knows of its batches so far: from what runs, or from its directory."""

from __future__ import annotations

from thalweg.api.running import Running
from thalweg.engine.ledger import Ledger
from thalweg.model.query import Query
from thalweg.optimizer.retiring import is_retired
from thalweg.plan.nodes import Plan
from thalweg.state.directory import Directory
from thalweg.state.history import latest_at
from thalweg.state.lives import Lives
from thalweg.state.lives import read as read_lives
from thalweg.state.manifest import Manifest
from thalweg.state.switches import Switches
from thalweg.state.switches import read as read_switches


class Past:
    """What the last committed batch left behind. While nothing runs, its queries are read once."""

    def __init__(self, directory: Directory, running: Running) -> None:
        self._directory, self._running = directory, running
        self._ran_before: dict[str, Query] | None = None

    def last(self) -> tuple[Manifest, Plan]:
        """The last batch, and the plan that it ran."""
        if (runner := self._running.runner) is not None:
            return runner.last
        ledger = Ledger(self._directory)
        if (manifest := ledger.latest()).plan:
            self._directory.check_format()
        return manifest, ledger.plan_of(manifest)

    def manifest(self) -> Manifest:
        """The last batch."""
        return (
            runner.manifest
            if (runner := self._running.runner) is not None
            else latest_at(self._directory.manifests)
        )

    def lives(self) -> Lives:
        """When the queries were part of batches, oldest first."""
        if (runner := self._running.runner) is not None:
            return runner.lives
        return read_lives(self._directory.queries, latest_at(self._directory.manifests).batch)

    def switches(self, settled: bool = True) -> Switches:
        """What changed in the plan, oldest first; `settled` is when all of it has its costs."""
        if (runner := self._running.runner) is not None:
            batch = runner.manifest.batch
            if settled:
                runner.chronicle.settle()
            return tuple(s for s in runner.chronicle.switches if s.batch <= batch)
        return read_switches(self._directory.root, latest_at(self._directory.manifests).batch)

    def ran(self) -> dict[str, Query]:
        """The queries of the last batch."""
        if (runner := self._running.runner) is not None:
            return _live(runner.last[1])
        if self._ran_before is None:
            self._ran_before = _live(self.last()[1])
        return self._ran_before

    def forget(self) -> None:
        """Read the directory again when something is asked."""
        self._ran_before = None


def _live(plan: Plan) -> dict[str, Query]:
    return {q.name: q for q in plan.queries if not is_retired(q.name)}
