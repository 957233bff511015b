"""The streaming query of Spark that feeds a runner: started, waited for, and stopped between two batches."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from thalweg.engine.runner import Runner, Stopping
from thalweg.errors import InternalError


class Streaming:
    """One run of a runner, from its start to its stop."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._query: Any = None
        self._turn = threading.RLock()

    def start(self, frame: Any, checkpoint: Path, trigger: dict[str, Any]) -> None:
        """Start it over a streaming DataFrame of chunks."""
        writer = frame.writeStream.foreachBatch(self._batch)
        self._query = writer.option("checkpointLocation", str(checkpoint)).trigger(**trigger).start()

    @property
    def is_active(self) -> bool:
        """Whether it runs."""
        return self._query is not None and bool(self._query.isActive)

    def reports(self) -> list[Any]:
        """Spark's own reports of the last batches."""
        return list(self._query.recentProgress)

    def wait(self, timeout: float | None) -> bool:
        """Whether it has ended, at the latest after a time; an error of a batch is raised here."""
        try:
            done = self._query.awaitTermination(timeout) if timeout is not None else self._query.awaitTermination()
        except Exception as e:
            self._raise_failure(e)
            return True
        return True if timeout is None else bool(done)

    def stop(self) -> None:
        """Stop between two batches."""
        self._runner.stopping = True
        if self._query is not None:
            with self._turn:
                self._query.stop()

    def _batch(self, frame: Any, batch: int) -> None:
        """A batch, in turn with stopping: who stops has the turn until Spark's thread has ended, which waits for this call."""
        while not self._turn.acquire(timeout=0.02):
            if self._runner.stopping:
                self._runner.failure = self._runner.failure or Stopping()
                raise Stopping
        try:
            self._runner.on_batch(frame, batch)
        finally:
            self._turn.release()

    def _raise_failure(self, error: Exception) -> None:
        failure = self._runner.failure
        if isinstance(failure, Stopping):
            return
        if failure is not None:
            raise failure
        raise InternalError(f"the streaming query failed: {str(error).strip().splitlines()[0]}") from error
