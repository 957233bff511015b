"""The session that a command talks to: one of its own, or one of a running service, by the same few methods."""

from __future__ import annotations

import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from thalweg.api.outcomes import Outcomes
from thalweg.cli.screen import Screen
from thalweg.cli.script import default_directory, open_session, read_script, show_outcomes
from thalweg.cli.spark_process import start_spark
from thalweg.client.remote import RemoteSession, connect
from thalweg.errors import UsageError
from thalweg.model.stream import Relation, Stream, View
from thalweg.sql import statements as st
from thalweg.state.runs import is_held, last_run

if TYPE_CHECKING:
    from thalweg.api.session import Session

LOCAL = "http://127.0.0.1:8642"
ADDRESS, TOKEN = "address", "token"
"""Files of a directory that is served: where, and with which token."""
LOOK = 0.3
"""Seconds between two looks for new results."""
Columns = Mapping[str, str]


@dataclass(frozen=True)
class Names:
    """What statements may name: streams, tables, views and queries, each with its columns and their types."""

    streams: Mapping[str, Columns] = field(default_factory=dict)
    tables: Mapping[str, Columns] = field(default_factory=dict)
    views: Mapping[str, Columns] = field(default_factory=dict)
    queries: Mapping[str, Columns] = field(default_factory=dict)

    @property
    def sources(self) -> dict[str, Columns]:
        """All that a query may read."""
        return {**self.streams, **self.tables, **self.views}


class Site(Protocol):
    """A session, here or elsewhere."""

    place: str

    def sql(self, text: str, origin: str = "") -> Outcomes:
        """Carry out statements."""

    def names(self) -> Names:
        """What there is to name."""

    def state(self) -> str:
        """How it is, in a few words."""

    def trouble(self) -> Exception | None:
        """What has stopped it since this was asked last."""

    def results(self, query: str) -> pa.Table:
        """All results of a query so far."""

    def follow(self, query: str) -> Iterator[pa.Table]:
        """New results of a query as they come, until it is dropped."""

    def text(self, query: str) -> str:
        """The SELECT of a query."""

    def close(self) -> None:
        """Leave it; one of this process is stopped between two batches."""


class RemoteSite:
    """A session of a running service."""

    def __init__(self, session: RemoteSession) -> None:
        self._session, self.place = session, session.url

    def sql(self, text: str, origin: str = "") -> Outcomes:
        """Carry out statements there."""
        return self._session.sql(text)

    def names(self) -> Names:
        """What there is to name."""
        found = [self._session.streams, self._session.tables, self._session.views, self._session.listed]
        return Names(*({one["name"]: _typed(one["columns"]) for one in many} for many in found))

    def state(self) -> str:
        """How it is, in a few words."""
        told = self._session.status_data()
        batch = "no batch yet" if told["batch"] is None else f"batch {told['batch']:,}"
        return f"{told['status']}, {batch}, {told['events_per_second']:,.0f} events/s"

    def trouble(self) -> Exception | None:
        """A service tells it to whoever asks, and goes on by itself."""
        return None

    def results(self, query: str) -> pa.Table:
        """All results of a query so far."""
        return self._session.handle(query).results()

    def follow(self, query: str) -> Iterator[pa.Table]:
        """New results of a query as they come."""
        return self._session.handle(query).follow()

    def text(self, query: str) -> str:
        """The SELECT of a query."""
        return str(self._session.handle(query).data["sql"])

    def close(self) -> None:
        """Nothing is held."""


class OwnSite:
    """A session of this process. Spark is started, and the directory taken, by the first statement that changes something; from the first
    query on batches run in the background."""

    def __init__(self, session: Session, screen: Screen, runs: bool = True) -> None:
        self._session, self._screen, self._runs = session, screen, runs
        self._held, self._told = False, session.error
        self.place = str(session.directory.root)
        session.console = None

    def begin(self, script: Path | None) -> None:
        """Carry out a script before anything runs, and go on with what is remembered."""
        if script is not None:
            outcomes = self._session.sql(read_script(script), str(script))
            show_outcomes(self._screen, outcomes)
        if self._runs and self._session.catalog.queries:
            self._hold()
            self._keep_running()

    def sql(self, text: str, origin: str = "") -> Outcomes:
        """Carry out statements whole: Ctrl-C waits for their end."""
        changes = any(not isinstance(s, st.Show | st.Explain) for s in st.parse_script(text, origin))
        if changes:
            self._hold()
        with _uninterrupted():
            found = self._session.sql(text, origin)
            if changes:
                self._keep_running()
        return found

    def _hold(self) -> None:
        """Take the directory, so that what is changed is on disk before it is acknowledged."""
        if self._held:
            return
        with _uninterrupted():  # Spark would take Ctrl-C for a wish to cancel its jobs
            if self._runs:
                if self._screen.err.is_terminal:
                    self._screen.note("starting Spark ...")
                start_spark(self._session)
            self._session.hold()
        self._held = True

    def _keep_running(self) -> None:
        """Run once there is a query, and again where a statement may have mended what stopped it."""
        if not self._runs or not self._session.catalog.queries or self._session.status == "running":
            return
        if self._session.status == "failed":
            self._session.stop()
            self._session.hold()
        self._session.start()

    def names(self) -> Names:
        """What there is to name."""
        c = self._session.catalog
        asked = {n: handle.columns for n, handle in self._session.queries.items()}
        return Names(_declared(c.streams), _declared(c.relations), _declared(c.views), asked)

    def state(self) -> str:
        """How it is, in a few words."""
        batch = self._session.latest_manifest().batch
        told = f"{self._session.status}, {f'batch {batch:,}' if batch >= 0 else 'no batch yet'}"
        return f"{told}: {self._session.error}" if self._session.error is not None else told

    def trouble(self) -> Exception | None:
        """What has stopped the batches, once."""
        found = self._session.error
        known, self._told = self._told, found
        return found if found is not known else None

    def results(self, query: str) -> pa.Table:
        """All results of a query so far."""
        return self._session.handle(query).results()

    def follow(self, query: str) -> Iterator[pa.Table]:
        """New results of a query as they come."""
        handle = self._session.handle(query)
        seen = {f.path for f in handle.files()}
        while handle.is_live and self._session.status == "running":
            for file in handle.files():
                if file.path not in seen:
                    seen.add(file.path)
                    if (rows := file.read(query)) is not None and rows.num_rows:
                        yield rows
            time.sleep(LOOK)
        if self._session.error is not None:
            raise self._session.error

    def text(self, query: str) -> str:
        """The SELECT of a query."""
        return self._session.handle(query).text

    def close(self) -> None:
        """Stop between two batches."""
        if self._session.status == "running" and self._screen.err.is_terminal:
            self._screen.note("stopping after this batch")
        with _uninterrupted():
            self._session.close()


def opened(url: str | None, directory: Path | None) -> RemoteSession:
    """The session of a service; the token is in the link, in THALWEG_TOKEN, or in the directory of a service of this machine."""
    token = None
    if directory is not None:
        try:
            token = (directory / TOKEN).read_text().split()[0]
        except (OSError, IndexError):
            if url is None or "#token=" not in url:
                raise UsageError(
                    f"{directory}: no token of a service", "give the link that it printed with --url"
                ) from None
    return connect(url or (served_at(directory) if directory is not None else None) or LOCAL, token)


def served_at(directory: Path) -> str | None:
    """Where a directory is served, if a service runs in it."""
    try:
        found = (directory / ADDRESS).read_text().strip()
    except OSError:
        return None
    return found if found and is_held(directory, last_run(directory).process) else None


def site(
    screen: Screen, url: str | None, directory: Path | None, script: Path | None = None, runs: bool = True
) -> Site:
    """The session that is meant: that of a URL, that of a service which runs in a directory, or one of this process."""
    if url is not None or (directory is not None and served_at(directory) is not None):
        if script is not None:
            raise UsageError(
                f"{script}: a script begins a session of one's own",
                r"leave --url out, or run it there with \i",
            )
        return RemoteSite(opened(url, directory))
    kept = directory or (default_directory(script) if script is not None else None)
    if kept is None:
        kept = Path(tempfile.mkdtemp(prefix="thalweg-"))
        screen.note("nothing of this session is kept; --dir DIR keeps it")
    made = OwnSite(open_session(kept), screen, runs)
    made.begin(script)
    return made


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        raise KeyboardInterrupt


def _declared(
    sources: Mapping[str, Stream] | Mapping[str, Relation] | Mapping[str, View],
) -> dict[str, Columns]:
    return {name: {c.name: c.type for c in source.columns} for name, source in sources.items()}


def _typed(columns: list[dict[str, str]]) -> Columns:
    return {c["name"]: c["type"] for c in columns}
