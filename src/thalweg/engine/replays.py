"""The queries with a history that have not caught up with the batches, and who runs the earlier batches again for them."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

from thalweg.engine.arrivals import Arrival, Coming
from thalweg.engine.beginning import Beginning, beginning, gone_of, logged
from thalweg.engine.blame import Blamed
from thalweg.engine.culprits import failure_of
from thalweg.engine.faults import Aborted
from thalweg.engine.mishaps import mishap
from thalweg.engine.replay import Chunks, Replay
from thalweg.engine.runner import Runner
from thalweg.engine.workload import Workload
from thalweg.errors import EnvironmentProblem, StateError
from thalweg.model.query import Query
from thalweg.plan.codec import dumps as query_text
from thalweg.plan.nodes import Plan
from thalweg.state.checks import damaged, digest, opened, sealed
from thalweg.state.course import Mark, marks_after
from thalweg.state.directory import Directory
from thalweg.state.local import LocalStore
from thalweg.state.records import dumps, loads
from thalweg.state.store import Taken

BEGINNING = "beginning.json"
# The last few batches are run again before a batch begins; what is further behind is run beside the batches.
NEAR = 2


@dataclass(frozen=True)
class Begun:
    """What a directory of a replay says of it: whose it is, and where it begins."""

    query: str
    begins: Beginning


class Replays(Coming):
    """Replays of one runner. Any thread may ask; one step is done at a time.

    `frame_of` makes a job's input of files. Who is told to look (`changed`) has the steps done.
    """

    def __init__(self, live: Runner, frame_of: Callable[[Chunks], Any]) -> None:
        self._live, self.frame_of = live, frame_of
        self._found: dict[str, Replay] = {}
        self._broken: dict[str, tuple[Query, Workload, Exception]] = {}
        self._lock, self._stepping = threading.RLock(), threading.Lock()
        self._looked: Workload | None = None
        self.changed: Callable[[], None] = lambda: None
        self.trouble: Exception | None = None
        self.has_begun = False
        live.coming = self

    def offer(self, workload: Workload) -> None:
        """Begin replays for those who need them, and forget those of queries that are no more. What went wrong is the query's failure.

        Before a run has begun, not all may be said of what is to run.
        """
        if not self.has_begun:
            return
        with self._lock:
            if workload is not self._looked:
                self._looked = workload
                self._forget(workload)
        for query in self._needing(workload):
            try:
                with self._stepping, self._lock:
                    if query.name not in self._found:
                        self._found[query.name] = self._begun(query, workload)
            except Exception as e:
                self._broken[query.name] = query, workload, e
        self.changed()

    def _needing(self, workload: Workload) -> list[Query]:
        """The queries that must be replayed: they ask for a history, are no part of batches, and rows of their streams were read."""
        early = {q.name for q in workload.queries if q.history is not None}
        if not early:
            return []
        manifest, plan = self._live.last
        asked = [q for q in workload.queries if q.name in early and not _runs(plan, q)]
        seen = [q for q in asked if any(manifest.tops.get(s) is not None for s in q.sources)]
        return [q for q in seen if q.name not in self._found and q.name not in self._broken]

    def _begun(self, query: Query, workload: Workload) -> Replay:
        directory = self.directory_of(query, workload.outputs[query.name])
        return Replay(
            self._live,
            directory,
            query,
            workload,
            self._beginning(directory, query, workload),
            lambda c: self.frame_of(c),
        )

    def directory_of(self, query: Query, output: str) -> Directory:
        """Where a replay is kept: by what is asked, and where its results go."""
        text = query_text(replace(query, text="")) + output
        return Directory(self._live.directory.replays / f"{query.name}-{digest(text.encode())[:16]}")

    def _beginning(self, directory: Directory, query: Query, workload: Workload) -> Beginning:
        """Where a replay begins: as was said when it was first asked."""
        if (found := read_begun(directory.root)) is not None:
            return found.begins
        made = self.beginning_of(query, workload)
        directory.root.mkdir(parents=True, exist_ok=True)
        with suppress(Taken):
            LocalStore(directory.root, self._live.ledger.durable).put(
                BEGINNING, sealed(dumps(Begun(query.name, made)))
            )
        return made

    def beginning_of(self, query: Query, workload: Workload) -> Beginning:
        """Where a query would begin now."""
        last = self._live.last[0]
        turns = self._live.ledger.turns(last)
        marks, gone = marks_after({}, turns), {}
        for stream in (s for s in workload.streams if s.name in query.sources):
            taken = logged(
                self._live.directory.checkpoint, stream.name, 0, marks.get(stream.name, Mark()).offset
            )
            gone[stream.name] = gone_of(stream, taken)
        assert query.history is not None
        return beginning(turns, query.sources, query.history, gone)

    def _forget(self, workload: Workload) -> None:
        """Remove the replays of queries that are no more, and what is left of others."""
        asked = {q.name: q for q in workload.queries}
        self._found = {n: r for n, r in self._found.items() if asked.get(n) is r.query}
        root = self._live.directory.replays
        early = [q for q in asked.values() if q.history is not None]
        plan = self._live.last[1]
        coming = (q for q in early if not _runs(plan, q))
        kept = {self.directory_of(q, workload.outputs[q.name]).root for q in coming}
        for path in root.iterdir() if root.exists() else ():
            if path not in kept:
                _removed(path)

    # ---- what the batches ask ----

    def pending(self, workload: Workload) -> frozenset[str]:
        """Those that have not caught up, and those that must begin to."""
        needing = {q.name for q in self._needing(workload)} | {
            n for n, (q, *_) in list(self._broken.items()) if q in workload.queries
        }
        return frozenset(
            needing | {n for n, r in list(self._found.items()) if any(q is r.query for q in workload.queries)}
        )

    def arrived(self, workload: Workload) -> tuple[Arrival, ...]:
        """Those that have caught up; what is only a little behind is run now, unless a step is under way."""
        self._offer_again(workload)
        if not self._stepping.acquire(blocking=False):
            return ()
        try:
            near = [r for r in self._of(workload) if r.lag <= NEAR]
            return tuple(r.arrival() for r in near if self._caught_up(r))
        finally:
            self._stepping.release()

    def _caught_up(self, replay: Replay) -> bool:
        while replay.lag and self._stepped(replay):
            pass
        return not replay.lag

    def _of(self, workload: Workload) -> list[Replay]:
        return [r for r in list(self._found.values()) if any(q is r.query for q in workload.queries)]

    def passed(self, adopted: Collection[str]) -> None:
        """Those that are part of the batches by now are forgotten; others have one more to run."""
        with self._lock:
            gone = [r for n, r in self._found.items() if n in adopted]
            self._found = {n: r for n, r in self._found.items() if n not in adopted}
        for replay in gone:
            _removed(replay.directory.root)
        if self._looked is not None:
            self._offer_again(self._looked)
        if self._found:
            self.changed()

    def _offer_again(self, workload: Workload) -> None:
        """Begin replays of those that were offered before any row was read, and came too late for the batch that read it."""
        if not self._stepping.locked() and self._needing(workload):
            self.offer(workload)

    # ---- what is done beside them ----

    @property
    def lagging(self) -> int:
        """How many batches the one furthest behind has still to run."""
        return max((r.lag for r in list(self._found.values())), default=0) or len(self._broken)

    def step(self) -> bool:
        """One step of the replay that is nearest to the batches; False where there is none to do. Those that can't go on are told first."""
        while self._broken:
            with suppress(KeyError):
                self._fail(*self._broken.popitem()[1])
        with self._stepping:
            behind = [r for r in list(self._found.values()) if r.lag]
            done = bool(behind) and self._stepped(min(behind, key=lambda r: r.lag))
        return done or bool(self._broken)

    def _stepped(self, replay: Replay) -> bool:
        try:
            done = replay.step()
            self.trouble = None
        except Aborted:
            raise
        except Exception as e:
            said = e.error if isinstance(e, Blamed) else mishap(e)
            if (
                isinstance(said, EnvironmentProblem)
                and not isinstance(said, StateError)
                and not isinstance(e, Blamed)
            ):
                self.trouble = said
            elif self._found.get(replay.query.name) is replay:
                self._broken[replay.query.name] = replay.query, replay.workload, said
            return False
        return done

    def _fail(self, query: Query, workload: Workload, error: Exception) -> None:
        """A query that can't be replayed is stopped as one that makes a batch fail."""
        with self._lock:
            replay = self._found.pop(query.name, None)
        manifest, batch = replay.manifest if replay else None, self._live.manifest.batch + 1
        failure = failure_of(query, workload, batch, manifest, error)
        self._live.on_failed([failure])

    def knows(self, query: Query, output: str) -> bool:
        """Whether results of a query may be there already, as its replay has begun."""
        return read_begun(self.directory_of(query, output).root) is not None

    def of(self, query: Query) -> Replay | None:
        """The replay of a query that has not caught up."""
        found = self._found.get(query.name)
        return found if found is not None and found.query is query else None


def _runs(plan: Plan, query: Query) -> bool:
    return (before := plan.find(query.name)) is not None and before.is_one_with(query)


def _removed(path: Path) -> None:
    """Remove the directory of a replay, whatever a step that is still under way does with it."""
    hidden = path.with_name(f".gone-{uuid.uuid4().hex[:12]}")
    with suppress(OSError):
        path.rename(hidden)
    rmtree(hidden, ignore_errors=True)


def read_begun(root: Path) -> Begun | None:
    """What the directory of a replay says of it; None where it says nothing yet."""
    try:
        data = (root / BEGINNING).read_bytes()
    except FileNotFoundError:
        return None
    try:
        return loads(Begun, opened(str(root / BEGINNING), data)[1])
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise damaged(str(root / BEGINNING), str(e)) from e
