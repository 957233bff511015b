"""What a session directory says about itself, without Spark: the last batch, its counts and its state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from thalweg.api.usage import catching_up_text, key_text, users
from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.retention import changes_id
from thalweg.engine.beginning import Beginning
from thalweg.engine.replays import read_begun
from thalweg.errors import StateError
from thalweg.model.query import Query
from thalweg.model.recorded import Failure, Recorded
from thalweg.model.stream import Stream
from thalweg.model.target import address_of
from thalweg.plan.nodes import Fragment, Plan
from thalweg.plan.trees import column_trees
from thalweg.state import history, lives, switches
from thalweg.state.changelog import changelog_of
from thalweg.state.directory import Directory
from thalweg.state.lives import Life
from thalweg.state.manifest import Counts, Manifest, SetAside, StateFile
from thalweg.state.plans import plan_at
from thalweg.state.runs import NEW, Run, last_run
from thalweg.state.switches import Switches

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TRIES = 3


@dataclass(frozen=True)
class StreamStatus:
    """A stream: its rows so far, and the event time below which all of them are known.

    `set_aside` are the first of its bad rows and bad files; all of them are in `bad_rows_in`.
    """

    name: str
    rows: int
    frontier: datetime | None
    late: int
    untimed: int
    bad_rows: int
    bad_files: int
    set_aside: tuple[SetAside, ...]
    late_rows_in: str | None
    bad_rows_in: str


@dataclass(frozen=True)
class QueryStatus:
    """A query: its result rows so far, the late rows it left out, and where the results are; of one that was stopped by an error of its own
    also what that was, and the first batch without it; of one with a history that is not in force yet, how far it has come."""

    name: str
    stream: str
    rows: int
    late: int
    directory: str
    error: str | None = None
    hint: str | None = None
    failed: int | None = None
    catching_up: str | None = None


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
    """A session directory after its last committed batch (None: no batch yet), what became of its last run, files that it lacks, and what
    changed in its plan."""

    directory: str
    batch: int | None
    committed: datetime | None
    streams: tuple[StreamStatus, ...]
    queries: tuple[QueryStatus, ...]
    fragments: tuple[FragmentStatus, ...]
    run: Run = field(default_factory=lambda: Run(NEW))
    damaged: tuple[str, ...] = ()
    changes: Switches = ()


def read_status(directory: str | Path) -> Status:
    """The status of a session directory, also while a session runs in it."""
    session = Directory(directory)
    session.check_format()
    for left in reversed(range(TRIES)):
        try:
            return _read(session)
        except (
            FileNotFoundError,
            StateError,
        ):  # a running session replaced the file between our looking and our reading
            if not left:
                raise
    raise AssertionError


def _read(session: Directory) -> Status:
    manifest = history.latest_at(session.manifests)
    if manifest.batch < 0:
        return Status(str(session.root), None, None, (), (), (), last_run(session.root))
    plan = plan_at(session.plans / manifest.plan)
    places, recorded = _places(session, plan, manifest.batch), changelog_of(session).last.recorded
    failed = recorded.failed
    committed = (session.manifests / history.change_name(manifest.batch)).stat().st_mtime
    return Status(
        directory=str(session.root),
        batch=manifest.batch,
        committed=datetime.fromtimestamp(committed, UTC),
        streams=tuple(_stream(s, manifest, session) for s in plan.streams),
        queries=(
            *(_query(q, manifest, places) for q in plan.queries if q.name not in failed),
            *_coming(session, plan, manifest, recorded),
            *map(_failed, failed.values()),
        ),
        fragments=kept_state(plan, manifest),
        run=last_run(session.root),
        damaged=tuple(_damaged(session, manifest)),
        changes=switches.read(session.root, manifest.batch),
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


def _stream(stream: Stream, manifest: Manifest, session: Directory) -> StreamStatus:
    counts = manifest.streams.get(stream.name, Counts())
    frontier = manifest.frontiers.get(stream.name)
    return StreamStatus(
        name=stream.name,
        rows=counts.rows,
        frontier=None if frontier is None else instant(frontier),
        late=counts.late,
        untimed=counts.untimed,
        bad_rows=counts.bad_rows,
        bad_files=counts.bad_files,
        set_aside=tuple(a for a in manifest.set_aside if a.stream == stream.name),
        late_rows_in=stream.late_rows,
        bad_rows_in=stream.bad_rows or str(session.bad / stream.name),
    )


def _query(query: Query, manifest: Manifest, places: Mapping[str, str]) -> QueryStatus:
    counts = manifest.queries.get(query.name, Counts())
    return QueryStatus(query.name, ", ".join(query.sources), counts.rows, counts.late, places[query.name])


def _coming(session: Directory, plan: Plan, manifest: Manifest, recorded: Recorded) -> Iterator[QueryStatus]:
    """The queries for which earlier batches are run again."""
    running = {q.name for q in plan.queries}
    for path in sorted(session.replays.glob("[!.]*")) if session.replays.exists() else ():
        begun = read_begun(path)
        if begun is None or begun.query in running or begun.query not in recorded.queries:
            continue
        query, found = recorded.queries[begun.query], history.latest_at(path / "manifests")
        done = (begun.begins.after if found.replayed is None else found.replayed) - begun.begins.after
        text, rows = (
            catching_up_text(done, manifest.batch - begun.begins.after),
            found.queries.get(query.name, Counts()).rows,
        )
        yield QueryStatus(
            query.name, ", ".join(query.sources), rows, 0, recorded.places[query.name], catching_up=text
        )


def _failed(failure: Failure) -> QueryStatus:
    streams = ", ".join(failure.query.sources)
    return QueryStatus(
        failure.query.name,
        streams,
        failure.rows,
        0,
        failure.directory,
        failure.message,
        failure.hint,
        failure.batch,
    )


def _places(session: Directory, plan: Plan, batch: int) -> dict[str, str]:
    """Where results are, by query."""
    asked = {q.name: address_of(q.into, str(session.results / q.name)) for q in plan.queries}
    return asked | {v.name: _place(session, v) for v in lives.read(session.queries, batch) if v.ended is None}


def _place(session: Directory, life: Life) -> str:
    """Where results of a query are: in a directory of its own, or in files that it shares with others, one directory a pool."""
    shared = [str(session.shared / pool) for pool in life.pools if (session.shared / pool).is_dir()]
    return life.directory if not shared or Path(life.directory).is_dir() else shared[-1]


def kept_state(plan: Plan, manifest: Manifest) -> tuple[FragmentStatus, ...]:
    """The state that a batch left, piece by piece."""
    used, files = users(plan), defaultdict[str, list[StateFile]](list)
    for file in manifest.files:
        files[file.fragment].append(file)

    def kept(id: str, stream: str, what: str, keys: tuple[str, ...] = ()) -> FragmentStatus:
        mine = files[id]
        return FragmentStatus(
            id,
            stream,
            what,
            keys,
            len(mine),
            sum(f.rows for f in mine),
            sum(f.bytes for f in mine),
            used.get(id, ()),
        )

    keys = {f.id: tuple(map(key_text, column_trees(f))) for f in plan.fragments}
    lifted = [kept(f.id, f.source, _kept_as(plan, f), keys[f.id]) for f in plan.fragments if not f.static]
    derived = [kept(d.id, plan.fragment(d.base).source, str(d.window), keys[d.base]) for d in plan.derived]
    keeping = [j for j in plan.joins if EVALUATIONS[j.evaluate].keeps is not None]
    results = [kept(j.id, ", ".join(e.query for e in plan.users(j.id)), j.evaluate) for j in keeping]
    changes = [
        kept(changes_id(plan, q), q.name, "last results" if not q.accumulates else "totals")
        for q in plan.queries
        if q.changes
    ]
    return (*lifted, *derived, *results, *changes)


def _kept_as(plan: Plan, fragment: Fragment) -> str:
    """What is kept of a stream's rows."""
    if plan.has_windows(fragment):
        return str(fragment.window)
    return "aggregation set" if fragment.early else "rows"


def beginning_text(found: Beginning) -> str:
    """Where a query with a history begins, in words.

    >>> beginning_text(Beginning(-1, {"s": None})), beginning_text(Beginning(3, {"s": 1_700_000_000_000_000}, why="/in/0.csv is gone"))
    ('begins with the first row', 'begins with rows of 2023-11-14 22:13:20 UTC, as /in/0.csv is gone')
    """
    times = {
        s: instant(b).replace(tzinfo=None).isoformat(" ") for s, b in found.begins.items() if b is not None
    }
    said = [f"{time} UTC" if len(found.begins) == 1 else f"{time} UTC ({s})" for s, time in times.items()]
    why = f", as {found.why}" if found.why else ""
    return f"begins with rows of {', '.join(said)}{why}" if said else f"begins with the first row{why}"


def instant(micros: int) -> datetime:
    """Microseconds since the epoch as a time in UTC, as near as a datetime can say it.

    >>> instant(1_700_000_000_000_000).isoformat()
    '2023-11-14T22:13:20+00:00'
    """
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return (datetime.max if micros > 0 else datetime.min).replace(tzinfo=UTC)
