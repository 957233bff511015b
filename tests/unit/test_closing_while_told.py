"""A session that is closed while a statement is being written down: either it is there when the session is opened again, or it was refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thalweg.errors import UsageError
from thalweg.testing.local import LocalSession

STREAM = "CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{0}/s', time = 'at');"
QUERY = "CREATE QUERY {0} AS SELECT k, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second'"
SHORT, LONG = 0.2, 10.0


class Slow:
    """A session whose writes wait until they may go on; `met` are the errors of what was done beside."""

    def __init__(self, root: Path) -> None:
        (root / "s").mkdir()
        self.session = LocalSession(root / "run")
        self.session.sql(STREAM.format(root))
        self.session.begin()
        self.reached, self.may, self.met = threading.Event(), threading.Event(), list[Exception]()
        store = self.session._changelog.store
        put = store.put

        def slow(*args: Any, **kwargs: Any) -> None:
            self.reached.set()
            assert self.may.wait(LONG)
            put(*args, **kwargs)

        store.put = slow  # type: ignore[method-assign]

    def beside(self, act: Callable[[], Any]) -> threading.Thread:
        """Do something in another thread."""

        def acting() -> None:
            try:
                act()
            except Exception as e:
                self.met.append(e)

        thread = threading.Thread(target=acting)
        thread.start()
        return thread


@pytest.mark.timeout(60)
def test_the_directory_is_held_until_what_was_asked_is_written(tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    asking = slow.beside(lambda: slow.session.sql(QUERY.format("q")))
    assert slow.reached.wait(LONG)
    closing = slow.beside(slow.session.close)
    closing.join(SHORT)
    assert closing.is_alive() and slow.session.directory.is_locked, "nobody else may write there yet"
    slow.may.set()
    asking.join()
    closing.join()
    assert not slow.met and not slow.session.directory.is_locked
    assert list(LocalSession(tmp_path / "run").queries) == ["q"]


@pytest.mark.timeout(60)
def test_what_comes_too_late_is_refused_and_not_there(tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    first = slow.beside(lambda: slow.session.sql(QUERY.format("q")))
    assert slow.reached.wait(LONG)
    late = slow.beside(lambda: slow.session.sql(QUERY.format("late")))
    while "late" not in slow.session.queries:
        late.join(0.01)
    closing = slow.beside(slow.session.close)
    closing.join(SHORT)
    slow.may.set()
    for thread in (first, late, closing):
        thread.join()
    assert all(isinstance(e, UsageError) for e in slow.met)
    told = list(LocalSession(tmp_path / "run").queries)
    assert told == list(slow.session.queries) == (["q"] if slow.met else ["q", "late"])
