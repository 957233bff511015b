"""What of a session runs: Spark, the runner over its directory, and the streaming query that feeds it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from thalweg.connectors.base import Source
from thalweg.engine.ahead import Ahead
from thalweg.engine.audience import Audience
from thalweg.engine.catching_up import CatchingUp
from thalweg.engine.executors import Executors
from thalweg.engine.progress import BatchProgress
from thalweg.engine.replay import Chunks
from thalweg.engine.replays import Replays
from thalweg.engine.runner import Runner
from thalweg.engine.spark import frame_of, lease, own_session, release
from thalweg.engine.streaming import Streaming, Streams
from thalweg.engine.workload import PlannerOf, Workload
from thalweg.errors import UsageError
from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.model.stream import Stream
from thalweg.state.directory import Directory
from thalweg.state.manifest import Manifest
from thalweg.state.runs import began, ended

LISTENERS_HAVE = 2.0
"""Seconds that listeners have, once a run was stopped, for what they were not told yet."""


class Running:
    """The engine of a session, from its first need of Spark to its end. Any thread may use it.

    `sources` are what streams are read from, by name.
    """

    def __init__(self, directory: Directory, spark: Any, master: str | None, planner_of: PlannerOf) -> None:
        self.directory, self._planner_of = directory, planner_of
        self._spark, self._master, self._is_leased = spark, master, False
        self._executors = Executors(lambda: self.spark)
        self.sources: dict[str, Source] = {}
        self.listeners: list[Callable[[BatchProgress], None]] = []
        self.runner: Runner | None = None
        self.is_closed = False
        self._ahead: Ahead | None = None
        self.replays: Replays | None = None
        self._catching_up: CatchingUp | None = None
        self._streaming: Streaming | None = None
        self._audience: Audience[BatchProgress] = Audience(self.listeners)
        self._workload = Workload()
        self._error: Exception | None = None
        self._starting, self._offering = threading.RLock(), threading.RLock()

    @property
    def spark(self) -> Any:
        """The Spark session, started when first needed."""
        with self._starting:
            if self._spark is None:
                self.check_open()
                self.directory.create()
                self._spark, self._is_leased = lease(self._master, self.directory.root / "spark.log"), True
            return self._spark

    def open(self, config: Config) -> Runner:
        """The runner; others are kept out of the directory from here on."""
        with self._starting:
            if self.runner is None:
                self.check_open()
                self.directory.create()
                partitions = config.partitions or self._executors.cores(Config())
                self.hold_directory()
                how: dict[str, Any] = {
                    "exchange": config.exchange,
                    "scan": config.scan,
                    "durable": config.durable,
                }
                self.runner = Runner(self.directory, partitions, self._planner_of, **how)
                self.runner.cores, self.runner.resize = self._executors.cores, self._executors.follow
                self._ahead = Ahead(self.runner, self._planner_of)
                self.replays = Replays(self.runner, self._frame_of)
                self.offer(self._workload)
            return self.runner

    def hold_directory(self) -> int:
        """Keep others out of the directory until this session is stopped; returns how often it was held so far."""
        if not self.directory.is_locked:
            with self._starting:
                self.check_open()
                if not self.directory.is_locked:
                    self.directory.create()
                    self.directory.lock()
        return self.directory.holds

    def start(
        self, workload: Workload, fault: str | None, available_now: bool, check: Callable[[Runner], None]
    ) -> None:
        """Run a workload in the background; `check` may refuse it once the directory is open."""
        with self._starting:
            if self.is_active:
                raise UsageError("the session runs already", "stop it first")
            runner = self.open(workload.config)
            runner.failure, runner.stopping, runner.fault, self._error = None, False, fault, None
            runner.audience = self._audience = Audience(self.listeners)
            check(runner)
            if self.replays is not None:
                self.replays.has_begun = True
            for stream in workload.streams:
                self.sources[stream.name].begin(available_now)
            self.offer(workload)
            self.settle()
            runner.recover()
            trigger = (
                {"availableNow": True}
                if available_now
                else {"processingTime": f"{workload.config.trigger} seconds"}
            )
            _ = self.spark
            streaming = Streaming(runner, self._wanted, self._chunks, self.settle, self._followed)
            streaming.start(self.directory.checkpoint, trigger)
            began(self.directory.root)
            self._streaming = streaming
            if self.replays is not None:
                self._catching_up = CatchingUp(self.replays, runner)
                self._catching_up.look()

    def _frame_of(self, chunks: Chunks) -> Any:
        """Files as the input of a job, read one after another: the cores are there for the batches."""
        return frame_of(own_session(self.spark), chunks)

    def is_replayed(self, query: Query, place: str) -> bool:
        """Whether a query with a history has begun to catch up, and may have results."""
        return query.history is not None and self.replays is not None and self.replays.knows(query, place)

    def check_sources(self, streams: Iterable[Stream], manifest: Manifest) -> None:
        """Refuse, before Spark is started, streams that can't be read."""
        for stream in streams:
            if stream.name not in self.sources:
                hint = f"declare it again with session.stream({stream.name!r}, ...), or drop it and the queries that read it"
                raise UsageError(
                    f"stream {stream.name} was read from a DataFrame, which this session was not given", hint
                )
            self.sources[stream.name].check(is_new=stream.name not in manifest.streams)

    def add_source(self, source: Source) -> None:
        """Keep what a stream is read from. While batches run it must be there, and be read as it was so far."""
        stream = source.stream
        if any(s.name == stream.name and s != stream for s in self.reading):
            raise UsageError(
                f"stream {stream.name} is still read as it was declared before",
                "declare it again after the next batch",
            )
        if self.is_active:
            source.check(is_new=True)
        self.sources[stream.name] = source
        if self.is_active:
            source.begin(whole=False)

    def read_anew(self, stream: Stream) -> None:
        """Read a stream with other columns from where it was read."""
        self.sources[stream.name] = replace(self.sources[stream.name], stream=stream)  # type: ignore[type-var]

    def _chunks(self, streams: Streams) -> Any:
        """All streams as one DataFrame of chunks, in a session of Spark that is only for it."""
        spark = own_session(self._spark)
        frames = [self.sources[s.name].chunks(spark) for s in streams]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.union(frame)
        return whole

    def offer(self, workload: Workload) -> None:
        """Run another workload from the next batch on. Other streams are read as soon as Spark has been told between two batches."""
        with self._offering:
            self._workload = workload
            if self.runner is None or self._ahead is None:
                return
            names, reading = {s.name for s in workload.streams}, self.reading
            known = (*workload.streams, *(s for s in reading if s.name not in names))
            offered = replace(workload, streams=known)
            if self.replays is not None:
                self.replays.offer(offered)
            self._ahead.offer(offered)
            if self._streaming is not None and reading and workload.streams != reading:
                self._streaming.follow()

    def settle(self) -> None:
        """Wait until what was offered last is planned."""
        if self._ahead is not None:
            self._ahead.settle()

    def _wanted(self) -> Streams:
        """The streams to read, all of which have been offered to the planner."""
        with self._offering:
            return self._workload.streams

    def _followed(self) -> None:
        """What is no more read needs no plan."""
        self.offer(self._workload)

    @property
    def reading(self) -> Streams:
        """The streams that Spark reads now."""
        return self._streaming.reading if self._streaming is not None and self.is_active else ()

    @property
    def is_active(self) -> bool:
        """Whether batches run, or wait for data."""
        return self._streaming is not None and self.runner is not None and self._streaming.is_active

    @property
    def error(self) -> Exception | None:
        """What ended the last run, where that was a failure."""
        if self._error is None and self._streaming is not None and self.runner is not None:
            self._error = self._streaming.error or next(
                (s.error for s in self.sources.values() if s.error is not None), None
            )
        return self._error

    @property
    def status(self) -> str:
        """`new`, `running`, `stopped`, `failed` or `closed`."""
        if self.error is not None:
            return "failed"
        if self.is_closed:
            return "closed"
        return "running" if self.is_active else ("new" if self._streaming is None else "stopped")

    def check_open(self) -> None:
        """Refuse what a session that is closed can't do."""
        if self.is_closed:
            raise UsageError("the session is closed", "open another one on its directory")

    def check_sound(self) -> None:
        """Refuse what would never run: the session is closed, or a batch has failed."""
        self.check_open()
        if self.runner is not None and self.error is not None:
            raise UsageError(
                f"a batch has failed: {self.error}",
                "see session.error; stop the session, mend the cause, and start it again",
            )

    def check_active(self) -> None:
        """Refuse to wait for batches that will never come."""
        if (error := self.error) is not None:
            raise error
        if not self.is_active:
            raise UsageError("the session does not run", "start it first")

    def will_run(self, query: Query) -> bool:
        """Whether no batch is under way, and the next one will run a query."""
        return (runner := self.runner) is not None and runner.will_run(query)

    def wait_for_turn(self, timeout: float) -> None:
        """Wait until a batch begins or ends, at most so many seconds."""
        if (runner := self.runner) is not None:
            with runner.turned:
                runner.turned.wait(timeout)

    def wait(self, timeout: float | None) -> bool:
        """Wait until the run ends and all listeners know (True), or the time is up (False); an error of a batch is raised here."""
        ended = self._streaming is None or self._streaming.wait(timeout)
        if (error := self.error) is not None:
            raise error
        if ended and self._catching_up is not None:
            ended = self._catching_up.wait(timeout)
        return ended and self._audience.told(timeout)

    def reports(self) -> list[Any]:
        """Spark's own reports of the last batches."""
        return self._streaming.reports() if self._streaming is not None else []

    def stop(self, for_good: bool = False) -> None:
        """Stop between two batches and let the directory go, once what is being written down is."""
        with self._starting:
            try:
                if self._streaming is not None and self.runner is not None:
                    self._end(self._streaming)
            finally:
                if self._catching_up is not None:
                    self._catching_up.stop()
                with self.directory.telling:
                    self.directory.unlock()
                    self.runner, self.replays, self._catching_up = None, None, None
                    self.is_closed = self.is_closed or for_good

    def _end(self, streaming: Streaming) -> None:
        try:
            streaming.stop()
            if self.runner is not None:
                self.runner.chronicle.settle()
        finally:
            ended(self.directory.root, self.error)
            self._audience.told(LISTENERS_HAVE)

    def close(self) -> None:
        """Stop, and give back what was taken of Spark."""
        with self._starting:
            try:
                self.stop(for_good=True)
            finally:
                self.is_closed = True
                if self._is_leased:
                    release(self._spark)
                    self._spark, self._is_leased = None, False
