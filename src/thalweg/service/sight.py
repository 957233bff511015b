"""What there is to see of a session now, kept for all who ask until something changes; and the answers that were made of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from thalweg.api.session import Session
from thalweg.api.status import FragmentStatus, kept_state
from thalweg.service.record import Record
from thalweg.service.views import Kept, Look, look, state_of

LASTS = 1.0
"""Seconds after which times that pass by themselves (lags, rates) are told anew."""
Standing = tuple[str, Exception | None]
"""Whether a session runs, and what has ended it."""


@dataclass(frozen=True)
class Sight:
    """A session at one moment, when that was, what it was made of, and what was answered since."""

    look: Look
    at: float
    marks: tuple[object, ...]
    waiting: Mapping[str, int]
    answers: dict[Hashable, bytes] = field(default_factory=dict)


class Sights:
    """The sights of a session, one after another. Nothing here waits for a batch, for planning, or for Spark.

    `standing` is told by whoever keeps the session running, as only Spark knows, and may take its time to say so; without one it is asked.
    """

    def __init__(self, session: Session, record: Record) -> None:
        self._session, self._record = session, record
        self.standing: Standing | None = None
        self._last: Sight | None = None
        self._state: tuple[int, tuple[FragmentStatus, ...], dict[str, Kept]] = -1, (), {}

    def now(self, *more: object) -> Sight:
        """What there is to see; `more` is what answers depend on besides."""
        manifest, waiting = self._session.latest_manifest(), self._session.pushing.waiting()
        standing = self.standing or (self._session.status, self._session.error)
        marks = (
            self._session.catalog,
            manifest,
            self._session.lives(),
            self._record.shown,
            self._record.times,
            *standing,
            *more,
        )
        found, now = self._last, time.monotonic()
        if found is None or now - found.at > LASTS or found.waiting != waiting or _differ(found.marks, marks):
            made = look(self._session, self._record, standing, self.state()[1])
            found = self._last = Sight(made, now, marks, waiting)
        return found

    def state(self) -> tuple[tuple[FragmentStatus, ...], dict[str, Kept]]:
        """The state that the last batch left: its pieces, and how much of it each query uses."""
        batch, found = self._session.latest_manifest().batch, self._state
        if batch >= 0 and found[0] < batch:
            manifest, plan = self._session.last_batch()
            pieces = kept_state(plan, manifest)
            found = self._state = manifest.batch, pieces, state_of(pieces)
        return found[1:]


def _differ(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    """Whether something else is there. What was made anew is taken for another: comparing all of it would take longer than telling it."""
    return len(before) != len(now) or any(
        a is not b and not (isinstance(a, str | int) and a == b) for a, b in zip(before, now, strict=True)
    )


def answer(sight: Sight, key: Hashable, make: Callable[[], bytes]) -> bytes:
    """What was answered before at this sight, or is now."""
    found = sight.answers.get(key)
    if found is None:
        found = sight.answers[key] = make()
    return found
