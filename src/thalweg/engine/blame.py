"""Whose fault an error in a batch is: of the queries that something was computed or written for, or of nobody in particular."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from thalweg.engine.faults import Aborted
from thalweg.errors import DataError, EnvironmentProblem, StateError
from thalweg.state.local import FULL

# Errors of the machine or of the data, whatever was being done: a disk, memory, a damaged file.
OTHERS = (Aborted, EnvironmentProblem, DataError, OSError, MemoryError)
OTHERS_OF_DATABASE = ("OutOfMemoryException", "IOException", "FatalException", "InterruptException")


class Blamed(Exception):
    """An error that came of one of these queries, or of all."""

    def __init__(self, error: Exception, queries: Iterable[str]) -> None:
        super().__init__(str(error))
        self.error, self.queries = error, tuple(queries)


@contextmanager
def blaming(queries: Iterable[str]) -> Iterator[None]:
    """What can't be computed here is the fault of these queries."""
    try:
        yield
    except (Blamed, *OTHERS):
        raise
    except Exception as e:
        names = tuple(queries)
        if type(e).__name__ in OTHERS_OF_DATABASE or not names:
            raise
        raise Blamed(e, names) from e


@contextmanager
def blaming_sink(query: str, address: str, state: str) -> Iterator[None]:
    """What can't be written here is the fault of a query, unless a disk of the session is full, of which `state` is a folder."""
    try:
        yield
    except (Aborted, Blamed, StateError):
        raise
    except Exception as e:
        if _is_full(e) and (
            Path(address).is_relative_to(Path(state).parent) or _disk(address) == _disk(state)
        ):
            raise
        raise Blamed(e, (query,)) from e


def _is_full(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        error = error.__cause__
    return False


def _disk(path: str) -> int:
    """The disk on which a path is, or would be."""
    found = Path(path)
    while not found.exists() and found != found.parent:
        found = found.parent
    return os.stat(found).st_dev  # noqa: PTH116
