"""A query of a session: what it asks, since when it runs, what it has found."""

from __future__ import annotations

import time
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from thalweg import errors
from thalweg.api.current import current_rows
from thalweg.api.results import ResultFile, as_format, empty_results, files_of, read_results
from thalweg.api.usage import catching_up_text
from thalweg.errors import ThalwegError, UsageError
from thalweg.model.query import Query
from thalweg.model.recorded import Failure
from thalweg.model.target import into_text
from thalweg.state.lives import Life

if TYPE_CHECKING:
    from thalweg.api.running import Running
    from thalweg.api.session import Session
    from thalweg.engine.replay import Replay

LOOK = 0.25


class QueryHandle:
    """A query that lives or was dropped. Handles of one name are told apart by which creation they are of."""

    def __init__(
        self, session: Session, name: str, query: Query | None = None, life: Life | None = None
    ) -> None:
        self._session, self.name, self._life = session, name, life
        self._query: Query | None = (
            query if query is not None or life is not None else session.catalog.queries[name]
        )
        self._place = session.output_of(self._query) if life is None and self._query else ""

    @property
    def query(self) -> Query:
        """What it asks, as a frozen value."""
        if self._query is None:
            raise UsageError(
                f"query {self.name} was dropped before this session was opened",
                "its results and its times can still be read",
            )
        return self._query

    @property
    def asked(self) -> Query | None:
        """What it asks; None where it was dropped before this session was opened."""
        return self._query

    @property
    def text(self) -> str:
        """Its SELECT, as it was written."""
        if self._query is not None:
            return self._query.text
        return self._life.text if self._life is not None else ""

    @property
    def is_live(self) -> bool:
        """Whether it is part of the workload."""
        found = self._session.catalog.queries.get(self.name)
        return self._query is not None and found is not None and found.number == self._query.number

    @property
    def epoch(self) -> int | None:
        """The first batch that it is part of; None before that is committed."""
        return None if (life := self._found()) is None else life.epoch

    @property
    def begins(self) -> Mapping[str, int | None] | None:
        """Per stream, the event time in microseconds from which its rows count (None: from the first on); None before that is known: with a
        history when it is created, else from the epoch on."""
        if (life := self._found()) is not None:
            return life.begins
        return None if (replay := self._replay) is None else replay.start.begins

    @property
    def _replay(self) -> Replay | None:
        """The replay of earlier batches, as long as it has not caught up with the batches."""
        replays = self._session._running.replays
        return replays.of(self._query) if replays is not None and self._query is not None else None

    @property
    def catching_up(self) -> tuple[int, int] | None:
        """Of a query with a history that is not in force yet: how many of how many earlier batches were run again for it."""
        if (replay := self._replay) is None:
            return None
        done = replay.position - replay.start.after
        return done, done + max(replay.lag, 0)

    def readable(self, shown: int) -> int:
        """The last batch whose results can all be read, `shown` being that of the session. Before a query with a history is in force, it is
        of the earlier batches, several of which may be run again as one."""
        if self._query is None or self._query.history is None or self.epoch is not None:
            return shown
        return -1 if (replay := self._replay) is None else min(replay.readable, shown)

    @property
    def ended(self) -> int | None:
        """The first batch that it is no more part of; None before that is committed."""
        return None if (life := self._found()) is None else life.ended

    @property
    def _failure(self) -> Failure | None:
        """What stopped it, if that was an error of its own and it was not replaced or dropped since."""
        found = self._session.catalog.failed.get(self.name)
        return found if found is not None and found.query == self._query else None

    @property
    def error(self) -> ThalwegError | None:
        """What made it, or the session with it, fail."""
        if (failure := self._failure) is not None:
            made: type[ThalwegError] = getattr(errors, failure.kind, errors.InternalError)
            return made(f"query {self.name}: {failure.message}", failure.hint)
        found = self._session.error if self.is_live else None
        return found if isinstance(found, ThalwegError) else None

    @property
    def status(self) -> str:
        """`waiting` for its first batch, or `catching up: 12 of 60 batches` before that; `running`, `stopped` or `failed` with the session,
        `failed` by itself, `dropped`."""
        if not self.is_live:
            return "dropped" if self._failure is None else "failed"
        if self._session.status != "running":
            return "failed" if self._session.status == "failed" else "stopped"
        if (steps := self.catching_up) is not None and steps[0] < steps[1]:
            return catching_up_text(*steps)
        return "waiting" if self.epoch is None else "running"

    @property
    def directory(self) -> str:
        """Where its result files are."""
        if (failure := self._failure) is not None:
            return failure.directory
        return self._place or ("" if self._life is None else self._life.directory)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is in force, or gone if it was dropped (True), or the time is up (False).

        It is in force when it is part of a batch, or of the next one while none is under way.
        """
        end = None if timeout is None else time.monotonic() + timeout
        running = self._session._running
        while not self._is_in_force(running):
            left = LOOK if end is None else min(end - time.monotonic(), LOOK)
            if left <= 0:
                return False
            running.wait_for_turn(left)
        return True

    def _is_in_force(self, running: Running) -> bool:
        running.check_active()
        if self._failure is not None and self.error is not None:
            raise self.error
        if not self.is_live:
            return self.epoch is None or self.ended is not None
        return self.epoch is not None or running.will_run(self.query)

    def explain(self) -> str:
        """The plan that it is part of, as text."""
        return str(self._session.explain(self.query))

    def drop(self) -> None:
        """Take it out of the workload; its results stay."""
        self._session.drop(self)

    def restart(self) -> QueryHandle:
        """Start it again once the cause of its failure is mended: from the rows that come now on, its earlier results kept apart."""
        if self._failure is None:
            raise UsageError(
                f"query {self.name} is {self.status}, not failed", "create or replace it instead"
            )
        return self._session.query(self.query.text, self.name, into_text(self.query.into), replace=True)

    def results(self, format: str = "arrow") -> Any:
        """All results so far: `arrow` (a pyarrow.Table), `pandas` or `spark` (DataFrames)."""
        life = self._found()
        asked = self._query or life
        assert asked is not None
        shared = self._session.directory.shared
        alone = None if life is not None and life.pools else self.directory
        return as_format(
            lambda: read_results(asked, self.directory, shared, life),
            alone,
            format,
            lambda: self._session.spark,
        )

    def state(self, where: Mapping[str, Any] | None = None, format: str = "arrow") -> Any:
        """The present rows of a query that tells changes (EMIT CHANGES, groups without a window), all or those with some values:
        `state({"auction": 7})`. They are made from its results, as `arrow` or `pandas`."""
        return as_format(
            lambda: current_rows(self.query, self.results(), where), None, format, lambda: self._session.spark
        )

    def files(self) -> list[ResultFile]:
        """The files that may have results of it, oldest batch first."""
        return files_of(self.directory, self._session.directory.shared, self._found())

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns of its results, with their types."""
        asked = self._query or self._found()
        return {} if asked is None else {o.name: o.type for o in asked.outputs}

    def empty(self) -> pa.Table:
        """No results, with the right columns."""
        asked = self._query or self._found()
        assert asked is not None
        return empty_results(asked)

    def _found(self) -> Life | None:
        """What the batches say of it; what once ended stays as it is."""
        if self._life is None or self._life.ended is None:
            mine = self.name, self.number
            found = [v for v in self._session.lives() if (v.name, v.number) == mine]
            self._life = found[-1] if found else self._life
        return self._life

    @property
    def number(self) -> int:
        """Which creation it is of."""
        if self._query is not None:
            return self._query.number
        return self._life.number if self._life is not None else 0

    def _repr_html_(self) -> str:
        where = f"<br>results in {escape(self.directory)}"
        text = f"<pre>{escape(self._query.text)}</pre>" if self._query is not None else ""
        return f"<p><b>{escape(self.name)}</b>: {self.status}{where}</p>{text}"

    def __repr__(self) -> str:
        return f"<query {self.name}: {self.status}>"
