"""Progress of a run: a live line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from thalweg.api.status import instant
from thalweg.cli.screen import Screen
from thalweg.cli.values import count_text, instant_text, set_aside_text, shorter, size_text
from thalweg.model.recorded import Failure

if TYPE_CHECKING:
    from thalweg.engine.progress import BatchProgress

RECENT = 5
EVERY = 10.0
"""Seconds between lines where there is no terminal."""


class RunProgress:
    """Counts what the batches of a run did, and shows it while it lasts."""

    def __init__(self, screen: Screen, total: int | None = None) -> None:
        self.batches = self.rows = self.late = self.bad_rows = self.bad_files = 0
        self._warned: set[str] = set()
        self.seconds, self.failed = 0.0, tuple[Failure, ...]()
        self._screen, self._last = screen, time.monotonic()
        self._recent: deque[tuple[int, float]] = deque(maxlen=RECENT)
        self._total = total
        bar = (BarColumn(20),) if total else ()
        columns = (SpinnerColumn(), *bar, TextColumn("{task.description}"), TimeElapsedColumn())
        self._live = Progress(*columns, console=screen.live, transient=True, disable=screen.live is None)
        self._task: TaskID = self._live.add_task("starting Spark", total=total)

    def __enter__(self) -> RunProgress:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        """What is being done."""
        self._live.update(self._task, description=text)

    def say_soon(self, text: str) -> None:
        """The same without waiting for a terminal that takes nothing now."""
        threading.Thread(target=self.say, args=(text,), daemon=True).start()

    def batch(self, done: BatchProgress) -> None:
        """One more batch; called from a thread that only tells."""
        self.batches += 1
        self.rows += done.rows
        self.late += done.late
        self.bad_rows += done.bad_rows
        self.bad_files += done.bad_files
        self.seconds += done.seconds
        self._warn(done)
        self._recent.append((done.rows, done.seconds))
        self._live.update(self._task, completed=self.rows, description=self._line(done))
        self.failed += done.failed
        for failure in done.failed:
            self._screen.note(
                f"query {failure.query.name} failed and was stopped, the others go on: {failure.message}"
            )
        if self._screen.live is None and time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            self._screen.note(self._line(done))

    def _warn(self, done: BatchProgress) -> None:
        """Say at once that something of a stream was set aside, the first time."""
        for aside in done.set_aside:
            if aside.stream not in self._warned:
                self._warned.add(aside.stream)
                what = "a file" if aside.place is None else "a row"
                self._screen.note(
                    f"warning: {what} of stream {aside.stream} is set aside: {shorter(aside.file)}: {aside.words}"
                )

    @property
    def rate(self) -> float:
        """Events a second over the last few batches."""
        return sum(r for r, _ in self._recent) / max(sum(s for _, s in self._recent), 1e-9)

    def _line(self, done: BatchProgress) -> str:
        events = f"{self.rows:,} of {self._total:,} events" if self._total else f"{self.rows:,} events"
        parts = [events, count_text(self.batches, "batch", "batches"), f"{self.rate:,.0f} events/s"]
        if self.late:
            parts.append(f"{self.late:,} late")
        if self.bad_rows or self.bad_files:
            parts.append(f"{set_aside_text(self.bad_rows, self.bad_files)} set aside")
        known = [f for f in done.frontiers.values() if f is not None]
        if known and not self._total:
            parts += [f"state {size_text(done.state_bytes)}", f"frontier {instant_text(instant(min(known)))}"]
        return " · ".join(parts)
