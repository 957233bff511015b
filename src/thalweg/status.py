"""What a session directory says about itself, without Spark: the last batch, its counts and its state."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from thalweg.errors import StateError
from thalweg.logical.join import JoinQuery
from thalweg.logical.query import Query
from thalweg.logical.stream import Stream
from thalweg.plan.codec import loads
from thalweg.plan.instants import changes_id
from thalweg.plan.nodes import Plan
from thalweg.state import manifest as manifests
from thalweg.state.directory import Directory
from thalweg.state.manifest import Counts, Manifest, StateFile

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CONSOLE = "console"
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


@dataclass(frozen=True)
class Status:
    """A session directory after its last committed batch (None: no batch yet)."""

    directory: str
    batch: int | None
    committed: datetime | None
    streams: tuple[StreamStatus, ...]
    queries: tuple[QueryStatus, ...]
    fragments: tuple[FragmentStatus, ...]


def read_status(directory: str | Path) -> Status:
    """The status of a session directory, also while a session runs in it."""
    session = Directory(directory)
    session.check_format()
    for left in reversed(range(TRIES)):
        try:
            return _read(session)
        except FileNotFoundError as e:  # a running session replaced the file between our looking and our reading
            if not left:
                raise StateError(f"{e.filename}: missing", "restore it from a copy, or start anew in another directory") from e
    raise AssertionError


def _read(session: Directory) -> Status:
    manifest = manifests.latest(session.manifests)
    if manifest.batch < 0:
        return Status(str(session.root), None, None, (), (), ())
    plan = _plan(session.plans / manifest.plan)
    committed = manifests.manifest_path(session.manifests, manifest.batch).stat().st_mtime
    return Status(
        directory=str(session.root),
        batch=manifest.batch,
        committed=datetime.fromtimestamp(committed, UTC),
        streams=tuple(_stream(s, manifest) for s in plan.streams),
        queries=tuple(_query(q, manifest, session) for q in plan.queries),
        fragments=_fragments(plan, manifest),
    )


def _plan(path: Path) -> Plan:
    try:
        plan: Plan = loads(path.read_text())
        return plan
    except (ValueError, KeyError, TypeError) as e:
        raise StateError(f"{path}: damaged plan file ({e})", "restore it from a copy, or start anew in another directory") from e


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


def _query(query: Query | JoinQuery, manifest: Manifest, session: Directory) -> QueryStatus:
    counts = manifest.queries.get(query.name, Counts())
    directory = query.into if query.into and query.into != CONSOLE else str(session.results / query.name)
    return QueryStatus(query.name, ", ".join(query.streams), counts.rows, counts.late, directory)


def _fragments(plan: Plan, manifest: Manifest) -> tuple[FragmentStatus, ...]:
    files: dict[str, list[StateFile]] = defaultdict(list)
    for file in manifest.files:
        files[file.fragment].append(file)

    def kept(id: str, stream: str, what: str, keys: tuple[str, ...]) -> FragmentStatus:
        mine = files[id]
        return FragmentStatus(id, stream, what, keys, len(mine), sum(f.rows for f in mine), sum(f.bytes for f in mine))

    windows = [kept(f.id, f.stream, str(f.window), f.keys) for f in plan.fragments]
    sides = [kept(s.id, s.source, "aggregation set" if s.early else "rows", s.columns) for s in plan.sides if not s.static]
    results = [kept(j.id, j.query, j.evaluate, ()) for j in plan.joins if j.evaluate in ("delta", "expiry", "materialize")]
    changes = [kept(changes_id(q), q.name, "last results", ()) for q in plan.queries if isinstance(q, JoinQuery) and q.changes]
    return (*windows, *sides, *results, *changes)


def instant(micros: int) -> datetime:
    """Microseconds since the epoch as a time in UTC, as near as a datetime can say it.

    >>> instant(1_700_000_000_000_000).isoformat()
    '2023-11-14T22:13:20+00:00'
    """
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return (datetime.max if micros > 0 else datetime.min).replace(tzinfo=UTC)
