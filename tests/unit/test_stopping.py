"""Stopping a session never waits for a batch that waits for it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from thalweg import Session
from thalweg.engine.runner import Stopping


class Streaming:
    """A streaming query whose thread begins a batch while it is told to stop, and whose `stop` waits for that thread."""

    def __init__(self, session: Session) -> None:
        self.session, self.met = session, []  # type: ignore[var-annotated]

    def _batch(self) -> None:
        try:
            self.session._guarded(None, 0)
        except Stopping as e:
            self.met.append(e)

    def stop(self) -> None:
        thread = threading.Thread(target=self._batch, daemon=True)
        thread.start()
        thread.join(5)
        self.met.append(thread.is_alive())


class Running:
    """A runner as far as stopping needs it."""

    stopping = False
    failure: Any = None

    def on_batch(self, frame: Any, batch: int) -> None:
        pytest.fail("a batch began while the session was stopping")


def test_a_batch_that_begins_while_the_session_stops_gives_way(tmp_path: Path) -> None:
    session = Session(tmp_path)
    running, streaming = Running(), Streaming(session)
    session._runner, session._streaming = running, streaming  # type: ignore[assignment]
    session.stop()
    assert [type(m) for m in streaming.met] == [Stopping, bool] and streaming.met[1] is False
    assert isinstance(running.failure, Stopping)
