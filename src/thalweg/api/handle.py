"""A query of a session: what it asks, since when it runs, what it has found."""

from __future__ import annotations

import time
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from thalweg.api.results import as_format, read_results
from thalweg.errors import UsageError
from thalweg.model.query import Query
from thalweg.state.lives import Life

if TYPE_CHECKING:
    from thalweg.api.running import Running
    from thalweg.api.session import Session

LOOK = 0.25


class QueryHandle:
    """A query that lives or was dropped. Handles of one name are told apart by what they ask."""

    def __init__(self, session: Session, name: str, query: Query | None = None, life: Life | None = None) -> None:
        self._session, self.name, self._life = session, name, life
        self._query: Query | None = query if query is not None or life is not None else session.catalog.queries[name]

    @property
    def query(self) -> Query:
        """What it asks, as a frozen value."""
        if self._query is None:
            raise UsageError(f"query {self.name} was dropped before this session was opened", "its results and its times can still be read")
        return self._query

    @property
    def is_live(self) -> bool:
        """Whether it is part of the workload."""
        return self._query is not None and self._session.catalog.queries.get(self.name) is self._query

    @property
    def epoch(self) -> int | None:
        """The first batch that it is part of; None before that is committed."""
        return None if (life := self._found()) is None else life.epoch

    @property
    def begins(self) -> Mapping[str, int | None] | None:
        """Per stream, the event time in microseconds from which its rows count (None: from the first on); None before the epoch."""
        return None if (life := self._found()) is None else life.begins

    @property
    def ended(self) -> int | None:
        """The first batch that it is no more part of; None before that is committed."""
        return None if (life := self._found()) is None else life.ended

    @property
    def status(self) -> str:
        """`waiting` for its first batch, `running`, `stopped` or `failed` with the session, `dropped`."""
        if not self.is_live:
            return "dropped"
        if self._session.status != "running":
            return "failed" if self._session.status == "failed" else "stopped"
        return "waiting" if self.epoch is None else "running"

    @property
    def directory(self) -> str:
        """Where its result files are."""
        return self._life.directory if self._query is None and self._life is not None else self._session.output_of(self.query)

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
        if not self.is_live:
            return self.epoch is None or self.ended is not None
        return self.epoch is not None or running.will_run(self.name)

    def explain(self) -> str:
        """The plan that it is part of, as text."""
        return str(self._session.explain(self.query))

    def drop(self) -> None:
        """Take it out of the workload; its results stay."""
        self._session.drop(self)

    def results(self, format: str = "arrow") -> Any:
        """All results so far: `arrow` (a pyarrow.Table), `pandas` or `spark` (DataFrames)."""
        life = self._found()
        asked = self._query or life
        assert asked is not None
        shared = self._session.directory.shared
        alone = None if life is not None and life.pools else self.directory
        return as_format(lambda: read_results(asked, self.directory, shared, life), alone, format, lambda: self._session.spark)

    def _found(self) -> Life | None:
        """What the batches say of it; what once ended stays as it is."""
        if self._life is None or self._life.ended is None:
            found = [v for v in self._session.lives() if v.name == self.name and (self._query is None or v.text == self._query.text)]
            self._life = found[-1] if found else self._life
        return self._life

    def _repr_html_(self) -> str:
        where = f"<br>results in {escape(self.directory)}"
        text = f"<pre>{escape(self._query.text)}</pre>" if self._query is not None else ""
        return f"<p><b>{escape(self.name)}</b>: {self.status}{where}</p>{text}"

    def __repr__(self) -> str:
        return f"<query {self.name}: {self.status}>"
