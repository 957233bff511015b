"""What a session directory says about itself, without Spark: the last batch, its counts and its state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from thalweg.api.usage import key_text, users
from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.retention import changes_id
from thalweg.errors import StateError
from thalweg.model.query import Query
from thalweg.model.stream import Stream
from thalweg.model.target import address_of
from thalweg.plan.nodes import Fragment, Plan
from thalweg.plan.trees import column_trees
from thalweg.state import history, lives
from thalweg.state.directory import Directory
from thalweg.state.lives import Life
from thalweg.state.manifest import Counts, Manifest, StateFile
from thalweg.state.plans import plan_at
from thalweg.state.runs import NEW, Run, last_run

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TRIES = 3


@dataclass(frozen=True)
class StreamStatus:
    """A stream: its rows so far, and the event time below which all of them are known."""

    name: str
    rows: int
    frontier: datetime | None
    late: int
    untimed: int
    bad_files: tuple[str, ...]
    late_rows: str | None


@dataclass(frozen=True)
class QueryStatus:
    """A query: its result rows so far, the late rows it left out, and where the results are."""

    name: str
    stream: str
    rows: int
    late: int
    directory: str


@dataclass(frozen=True)
class FragmentStatus:
    """A piece of state: the partial aggregates of one window by its keys, or what a join keeps of a stream or of its results."""

    id: str
    stream: str
    window: str
    keys: tuple[str, ...]
    files: int
    rows: int
    bytes: int
    queries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Status:
    """A session directory after its last committed batch (None: no batch yet), what became of its last run, and files that it lacks."""

    directory: str
    batch: int | None
    committed: datetime | None
    streams: tuple[StreamStatus, ...]
    queries: tuple[QueryStatus, ...]
    fragments: tuple[FragmentStatus, ...]
    run: Run = field(default_factory=lambda: Run(NEW))
    damaged: tuple[str, ...] = ()


def read_status(directory: str | Path) -> Status:
    """The status of a session directory, also while a session runs in it."""
    session = Directory(directory)
    session.check_format()
    for left in reversed(range(TRIES)):
        try:
            return _read(session)
        except (FileNotFoundError, StateError):  # a running session replaced the file between our looking and our reading
            if not left:
                raise
    raise AssertionError


def _read(session: Directory) -> Status:
    manifest = history.latest_at(session.manifests)
    if manifest.batch < 0:
        return Status(str(session.root), None, None, (), (), (), last_run(session.root))
    plan = plan_at(session.plans / manifest.plan)
    places = _places(session, plan, manifest.batch)
    committed = (session.manifests / history.change_name(manifest.batch)).stat().st_mtime
    return Status(
        directory=str(session.root),
        batch=manifest.batch,
        committed=datetime.fromtimestamp(committed, UTC),
        streams=tuple(_stream(s, manifest) for s in plan.streams),
        queries=tuple(_query(q, manifest, places) for q in plan.queries),
        fragments=_fragments(plan, manifest),
        run=last_run(session.root),
        damaged=tuple(_damaged(session, manifest)),
    )


def _damaged(session: Directory, manifest: Manifest) -> Iterator[str]:
    """The files that the last batch left and that are not as it left them, as far as their lengths tell."""
    for file in manifest.files:
        path = session.state / file.path
        try:
            if (size := path.stat().st_size) != file.bytes:
                yield f"{path}: {size:,} bytes instead of {file.bytes:,}"
        except FileNotFoundError:
            yield f"{path}: missing"


def _stream(stream: Stream, manifest: Manifest) -> StreamStatus:
    counts = manifest.streams.get(stream.name, Counts())
    frontier = manifest.frontiers.get(stream.name)
    bad = tuple(f for f in manifest.bad_files if stream.path and Path(f).is_relative_to(Path(stream.path).resolve()))
    return StreamStatus(
        name=stream.name,
        rows=counts.rows,
        frontier=None if frontier is None else instant(frontier),
        late=counts.late,
        untimed=counts.untimed,
        bad_files=bad,
        late_rows=stream.late_rows,
    )


def _query(query: Query, manifest: Manifest, places: Mapping[str, str]) -> QueryStatus:
    counts = manifest.queries.get(query.name, Counts())
    return QueryStatus(query.name, ", ".join(query.streams), counts.rows, counts.late, places[query.name])


def _places(session: Directory, plan: Plan, batch: int) -> dict[str, str]:
    """Where results are, by query."""
    asked = {q.name: address_of(q.into, str(session.results / q.name)) for q in plan.queries}
    return asked | {v.name: _place(session, v) for v in lives.read(session.queries, batch) if v.ended is None}


def _place(session: Directory, life: Life) -> str:
    """Where results of a query are: in a directory of its own, or in files that it shares with others, one directory a pool."""
    shared = [str(session.shared / pool) for pool in life.pools if (session.shared / pool).is_dir()]
    return life.directory if not shared or Path(life.directory).is_dir() else shared[-1]


def _fragments(plan: Plan, manifest: Manifest) -> tuple[FragmentStatus, ...]:
    used, files = users(plan), defaultdict[str, list[StateFile]](list)
    for file in manifest.files:
        files[file.fragment].append(file)

    def kept(id: str, stream: str, what: str, keys: tuple[str, ...] = ()) -> FragmentStatus:
        mine = files[id]
        return FragmentStatus(id, stream, what, keys, len(mine), sum(f.rows for f in mine), sum(f.bytes for f in mine), used.get(id, ()))

    keys = {f.id: tuple(map(key_text, column_trees(plan, f))) for f in plan.fragments}
    lifted = [kept(f.id, f.source, _kept_as(plan, f), keys[f.id]) for f in plan.fragments if not f.static]
    derived = [kept(d.id, plan.fragment(d.base).source, str(d.window), keys[d.base]) for d in plan.derived]
    keeping = [j for j in plan.joins if EVALUATIONS[j.evaluate].keeps is not None]
    results = [kept(j.id, ", ".join(e.query for e in plan.users(j.id)), j.evaluate) for j in keeping]
    changes = [kept(changes_id(plan, q), q.name, "last results") for q in plan.queries if q.changes]
    return (*lifted, *derived, *results, *changes)


def _kept_as(plan: Plan, fragment: Fragment) -> str:
    """What is kept of a stream's rows."""
    if plan.has_windows(fragment):
        return str(fragment.window)
    return "aggregation set" if fragment.early else "rows"


def instant(micros: int) -> datetime:
    """Microseconds since the epoch as a time in UTC, as near as a datetime can say it.

    >>> instant(1_700_000_000_000_000).isoformat()
    '2023-11-14T22:13:20+00:00'
    """
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return (datetime.max if micros > 0 else datetime.min).replace(tzinfo=UTC)
