"""Stopping a run never waits for a batch that waits for it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from thalweg.engine.progress import Stopping
from thalweg.engine.streaming import Streaming


class Query:
    """A streaming query whose thread begins a batch while it is told to stop, and whose `stop` waits for that thread."""

    def __init__(self, streaming: Streaming) -> None:
        self.streaming = streaming
        self.met: list[object] = []

    def _batch(self) -> None:
        try:
            self.streaming._batch(0, None, 0)
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


def test_a_batch_that_begins_while_the_run_stops_gives_way() -> None:
    runner = Running()
    streaming = Streaming(runner, tuple, lambda streams: None, lambda: None, lambda: None)  # type: ignore[arg-type]
    streaming._query = query = Query(streaming)
    streaming.stop()
    assert [type(m) for m in query.met] == [Stopping, bool] and query.met[1] is False
    assert isinstance(runner.failure, Stopping)
