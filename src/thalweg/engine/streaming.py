"""The streaming query of Spark that feeds a runner: started, waited for, and stopped between two batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from thalweg.engine.beside import Beside
from thalweg.engine.mishaps import mishap
from thalweg.engine.pace import Pace
from thalweg.engine.progress import Stopping
from thalweg.engine.runner import Runner
from thalweg.errors import ThalwegError
from thalweg.model.stream import Stream

# Seconds between two looks at whether a run has ended.
LOOK = 1.0
Streams = tuple[Stream, ...]


class Streaming:
    """One run of a runner, from its start to its stop.

    `streams` says what is to be read; where that has changed, `follow` starts Spark's query anew between two batches, once `settled` has
    returned: then it is planned, as a batch must know the streams of its rows. `reading` is what it reads now, and `followed` is called
    when that is another.
    """

    def __init__(
        self,
        runner: Runner,
        streams: Callable[[], Streams],
        chunks: Callable[[Streams], Any],
        settled: Callable[[], None],
        followed: Callable[[], None],
    ) -> None:
        self._runner, self._streams, self._chunks = runner, streams, chunks
        self._settled, self._followed = settled, followed
        self._query: Any = None
        self._turn = threading.RLock()
        self._number, self._changing = 0, False
        self._following = Beside(self._follow, "thalweg-streams")
        self._checkpoint, self._trigger = Path(), dict[str, Any]()
        self._pace: Pace | None = None
        self.reading: Streams = ()

    def start(self, checkpoint: Path, trigger: dict[str, Any]) -> None:
        """Start it; Spark keeps what it has read under `checkpoint`."""
        self._checkpoint, self._trigger = checkpoint, trigger
        streams = self._streams()
        with self._turn:
            self._begin(streams)

    def _begin(self, streams: Streams) -> None:
        try:
            writer = self._chunks(streams).writeStream.foreachBatch(partial(self._batch, self._number))
            self._query = (
                writer.option("checkpointLocation", str(self._checkpoint)).trigger(**self._trigger).start()
            )
        except Exception as e:
            raise self._mishap(e) from e
        self.reading = streams
        self._pace = Pace(self._query) if "processingTime" in self._trigger else None

    @property
    def is_active(self) -> bool:
        """Whether it runs."""
        return self._changing or (self._query is not None and self._is_alive())

    def _is_alive(self) -> bool:
        try:
            return bool(self._query.isActive)
        except Exception:  # its process has gone
            return False

    def reports(self) -> list[Any]:
        """Spark's own reports of the last batches."""
        return list(self._query.recentProgress)

    def wait(self, timeout: float | None) -> bool:
        """Whether it has ended, at the latest after a time; an error of a batch is raised here."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self._has_ended(LOOK if end is None else max(min(end - time.monotonic(), LOOK), 0.001)):
            if end is not None and time.monotonic() >= end:
                return False
        if (error := self.error) is not None:
            raise error
        return True

    def _has_ended(self, timeout: float) -> bool:
        """Whether Spark's query has ended, and not to be started anew."""
        query = self._query
        try:
            ended = bool(query.awaitTermination(timeout))
        except Exception:
            ended = True
        if ended and (self._changing or query is not self._query):
            time.sleep(0.01)
            return False
        return ended

    @property
    def error(self) -> Exception | None:
        """What ended it, where that was a failure."""
        failure = self._runner.failure
        if isinstance(failure, Stopping) or self._query is None:
            return None
        if failure is None and not self.is_active:
            failure = self._exception()
        return None if failure is None else self._mishap(failure)

    def _exception(self) -> Exception | None:
        """What Spark says of its end; a process that has gone says it by its silence."""
        try:
            found: Exception | None = self._query.exception()
        except Exception as e:
            return e
        return found

    def follow(self) -> None:
        """Have Spark read what `streams` says by now, from the next batch on."""
        self._following.ask()

    def _follow(self) -> None:
        streams = self._streams()
        self._settled()
        with self._turn:
            if self._runner.stopping or not self.is_active or streams in ((), self.reading):
                return
            self._changing = True
            try:
                self._number += 1
                self._end()
                self._begin(streams)
            except Exception as e:
                self._runner.failure = e
            finally:
                self._changing = False
        self._followed()

    def stop(self) -> None:
        """Stop between two batches."""
        self._runner.stopping = True
        if self._query is not None:
            with self._turn:
                self._end()

    def _end(self) -> None:
        if self._pace is not None:
            self._pace.end()
        try:
            self._query.stop()
        except Exception as e:
            raise self._mishap(e) from e

    def _batch(self, number: int, frame: Any, batch: int) -> None:
        """A batch, in turn with stopping: who stops has the turn until Spark's thread has ended, which waits for this call."""
        while not self._turn.acquire(timeout=0.02):
            if self._runner.stopping or number != self._number:
                self._give_way()
        try:
            if number != self._number:
                self._give_way()
            self._runner.on_batch(frame, batch)
            if self._pace is not None:
                self._pace.hurry()
        finally:
            self._turn.release()

    def _give_way(self) -> None:
        """End a query of Spark that is being stopped; what ends for good is told as such."""
        if self._runner.stopping:
            self._runner.failure = self._runner.failure or Stopping()
        raise Stopping

    def _mishap(self, error: BaseException) -> ThalwegError:
        root = self._runner.directory.root
        return mishap(error, root / "checkpoint", root / "spark.log")
