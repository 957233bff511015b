"""What routes share: a session that is held, what its batches did, who may ask for how much, and the one who keeps it running."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from thalweg.api.outcomes import Outcomes
from thalweg.api.pushing import Body
from thalweg.api.session import Session
from thalweg.connectors.pushed import Receipt
from thalweg.errors import EnvironmentProblem
from thalweg.service.last_errors import LastErrors
from thalweg.service.limits import Limits
from thalweg.service.news import News
from thalweg.service.planned import Planned
from thalweg.service.record import Record
from thalweg.service.refusals import Refused
from thalweg.service.roots import Roots
from thalweg.service.sight import Sight, Sights, Standing
from thalweg.sql import statements as st
from thalweg.state.runs import now_text

AGAIN = 5.0
MOST = 60.0
"""Seconds until a session that could not run is started again: the first time, and at most."""
TRIES = 5
"""Failures in a row that are the machine's, after which whoever started the process must help."""
_log = logging.getLogger("thalweg.service")


class Service:
    """A session and all that is needed to answer for it. Statements are carried out one script at a time; reading waits for nobody."""

    def __init__(self, session: Session, roots: Roots | None = None, limits: Limits | None = None) -> None:
        root = session.directory.root
        self.session, self.limits = session, limits or Limits()
        self.roots = roots or Roots((root,), root, session.directory.results)
        self.started = now_text()
        self.log = LastErrors()
        self.record = Record(session.latest_manifest().batch)
        self.news = News()
        session.listeners += [self.record.listen, self.news.tell]
        self.problem: Exception | None = None
        self.is_closing = False
        self._changing, self._counting = threading.RLock(), threading.Lock()
        self._followers, self._failures, self._next, self._reached = 0, 0, 0.0, self.record.shown
        self.planned = Planned(lambda: session.explain(analyze=True), lambda: session.catalog)
        self.sights = Sights(session, self.record)

    def sight(self) -> Sight:
        """The session as it is now."""
        return self.sights.now(self.problem)

    def run(self, text: str) -> Outcomes:
        """Carry out statements that came over HTTP."""
        statements = st.parse_script(text)
        self.roots.check(statements)
        if any(isinstance(s, st.Drop) and s.kind == "FUNCTION" for s in statements):
            hint = "whoever runs the service gives it functions, and takes them away"
            raise Refused(403, "functions can't be dropped over HTTP", hint)
        with self._changing:
            self._check_queries(statements)
            try:
                return self.session.sql(text)
            finally:
                self._next = 0.0

    def _check_queries(self, statements: tuple[st.Statement, ...]) -> None:
        there = {*self.session.catalog.queries, *self.session.catalog.failed}
        new = {s.name for s in statements if isinstance(s, st.CreateQuery)} - there
        if new and len(there) + len(new) > self.limits.queries:
            hint = f"drop some; at most {self.limits.queries:,} are taken (--limit queries=N)"
            raise Refused(409, f"there are {len(there):,} queries, {len(new):,} more would be too many", hint)

    def drop(self, name: str) -> None:
        """Drop a query."""
        with self._changing:
            self.session.drop(name)
            self._next = 0.0

    def push(self, stream: str, body: Body, id: str | None) -> Receipt:
        """Keep rows that came over HTTP."""
        return self.session.pushing.take(stream, body, id, self.limits.waiting)

    def check_followers(self) -> None:
        """Refuse one more client that follows something, where there are many."""
        if self._followers >= self.limits.followers:
            hint = f"at most {self.limits.followers:,} follow at a time (--limit followers=N)"
            raise Refused(429, "too many clients follow results or events", hint, {"retry-after": "10"})

    @contextmanager
    def following(self) -> Iterator[None]:
        """One more client that follows something, until it has enough."""
        with self._counting:
            self._followers += 1
        try:
            yield
        finally:
            with self._counting:
                self._followers -= 1

    def keep_running(self) -> None:
        """Start the session once there is a query, and again, after a while, where it could not run. Called again and again.

        What can't be mended from here is raised: after some failures in a row that are the machine's.
        """
        status, error = self._stand()
        if status == "running":
            self._failures = 0 if self.record.shown > self._reached else self._failures
            return
        if status == "failed" and self.problem is None:
            self._failed(error)
        if not self.session.catalog.queries:
            self.problem = None
        elif time.monotonic() >= self._next:
            with self._changing:
                self._start()
            self._stand()

    def _stand(self) -> Standing:
        """Ask whether the session runs, for all who want to know."""
        found = self.sights.standing = self.session.status, self.session.error
        return found

    def _start(self) -> None:
        try:
            if self.session.status == "failed":
                self.session.stop()
            self.session.hold()
            self.session.start()
            self.problem, self._reached = None, self.record.shown
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception | None) -> None:
        self.problem, self._failures = error, self._failures + 1
        self._next = time.monotonic() + min(AGAIN * 2.0 ** (self._failures - 1), MOST)
        _log.warning("no batch runs: %s", error)
        if error is not None and isinstance(error, EnvironmentProblem) and self._failures >= TRIES:
            raise error
