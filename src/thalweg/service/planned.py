"""The plan of all queries, explained: by one at a time, for all who ask, and beside those who would rather not wait."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg.engine.beside import Beside
from thalweg.explain import Explanation
from thalweg.model.catalog import Catalog
from thalweg.model.query import Query

LASTS, CHANGED = 5.0, 1.0
"""Seconds for which a plan that was explained is given again: where nothing was declared since, and where something was."""
_log = logging.getLogger("thalweg.service")
SHARE = 0.05
"""The part of a processor that explaining may take at most."""


@dataclass(frozen=True)
class Made:
    """An explanation as values for programs too: of what, when it was begun, and how many seconds it took."""

    explanation: Explanation
    data: dict[str, Any]
    catalog: Catalog
    at: float
    took: float

    def number_of(self, name: str) -> int | None:
        """Which creation of a query it has."""
        found = self.catalog.queries.get(name)
        return None if found is None else found.number


class Planned:
    """Explains what a session runs. It is planned for this, which takes a while, and no batch waits meanwhile."""

    def __init__(self, explain: Callable[[], Explanation], catalog: Callable[[], Catalog]) -> None:
        self._explain, self._catalog = explain, catalog
        self._made: Made | None = None
        self._turn = threading.Lock()
        self._renewing = Beside(self._renew, "thalweg-explaining")

    def fresh(self) -> Made:
        """The plan as it is: made now, unless it was made lately and nothing was declared since. Who asks meanwhile gets the same."""
        with self._turn:
            found = self._made
            if found is None or found.catalog is not self._catalog() or _age(found) > LASTS:
                found = self._made = self._now()
            return found

    def lately(self, query: Query | None = None) -> Made | None:
        """The plan as it was some seconds ago, at once; None where there is none yet, or none with a query. What is too old is made anew
        for those who ask later."""
        found = self._made
        if found is not None and _age(found) > _lasts(found, self._catalog()):
            self._renewing.ask()
        has_it = found is not None and (query is None or found.number_of(query.name) == query.number)
        return found if has_it else None

    def _renew(self) -> None:
        with self._turn:
            try:
                self._made = self._now()
            except Exception as error:  # whoever asks next is told
                self._made = None
                _log.warning("the plan can't be explained: %s", error)

    def _now(self) -> Made:
        catalog, began = self._catalog(), time.monotonic()
        explanation = self._explain()
        data = explanation.data
        return Made(explanation, data, catalog, began, time.monotonic() - began)


def _age(made: Made) -> float:
    return time.monotonic() - made.at


def _lasts(made: Made, catalog: Catalog) -> float:
    return max(LASTS if made.catalog is catalog else CHANGED, made.took / SHARE)
