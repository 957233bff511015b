"""Where a session keeps files that are written once: what a store must do, whatever it lies on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class Taken(Exception):
    """A name that was put before: whoever comes second has lost."""


class Missing(Exception):
    """A name that was never put, or is gone."""


class Store(Protocol):
    """Named, immutable pieces of bytes in one flat room."""

    def put(self, name: str, data: Any, flush: bool = True) -> None:
        """Create a file that is seen whole or not at all; `Taken` where there is one of that name.

        It survives a power cut, or, without `flush`, does so once it has been flushed.
        """

    def get(self, name: str) -> Any:
        """The bytes of a file as an Arrow buffer; `Missing` where there is none."""

    def list(self) -> list[str]:
        """The names that were put and are still there, in order."""

    def delete(self, name: str) -> None:
        """Remove a file; one that is not there is fine."""

    def flush(self, names: Iterable[str]) -> None:
        """Make files survive a power cut."""

    def tidy(self) -> None:
        """Remove what an interrupted put left behind. Only for who is alone with the store."""
