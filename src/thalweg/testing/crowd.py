"""Threads that create, drop, explain and read queries of a session all the time, and the check that nobody's results suffered."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import pyarrow as pa

from thalweg.api.handle import QueryHandle
from thalweg.api.session import Session
from thalweg.model.stream import Stream
from thalweg.model.windows import SECOND
from thalweg.testing.comparison import compare
from thalweg.testing.lifetimes import reference_of

# Over the streams s and r, both of (k BIGINT, v BIGINT, at TIMESTAMP): windows, rows of joins, aggregates over joins.
JOINED = "FROM s [RANGE {n} SECONDS], r [RANGE 2 SECONDS]"
SELECTS = (
    "SELECT k, window_end, SUM(v) AS total, COUNT(*) AS n FROM s WHERE v % {m} = 0 GROUP BY k, TUMBLE '{n} seconds'",
    "SELECT window_id, window_end, MAX(v) AS high FROM r GROUP BY WINDOWS(TUMBLE '2 seconds', HOP '{n} seconds' BY '1 second')",
    "SELECT k, window_start, COUNT(DISTINCT v) AS values FROM s WHERE v > {m} GROUP BY k, HOP '{n} seconds' BY '1 second'",
    "SELECT k, window_id, window_start, window_end, COUNT(*) AS n, MEDIAN(v) AS middle FROM s WHERE v % 11 = {m} "
    "GROUP BY k, WINDOWS(SESSION '{n} seconds', SESSION '{m}00 milliseconds', TUMBLE '2 seconds')",
    f"SELECT s.k, s.v, r.at AS replied {JOINED} WHERE s.v = r.v AND s.k < {{m}}",
    f"SELECT s.k, COUNT(*) AS n, SUM(r.v) AS total {JOINED} WHERE s.v = r.v AND r.k <> {{m}} GROUP BY s.k EVERY 1 SECOND",
    f"SELECT r.k, MAX(s.v) AS high {JOINED} WHERE s.k = r.k AND s.v > r.v GROUP BY r.k EVERY 2 SECONDS",
)


class Crowd:
    """While the block runs, `people` threads use a session at once; `made` are the handles of all queries that they created.

    One that meets an error ends all, and the block raises it.
    """

    def __init__(
        self,
        session: Session,
        seed: object,
        people: int = 4,
        live: int = 3,
        most: int = 12,
        pause: float = 0.02,
    ) -> None:
        self._session, self._live, self._most, self._pause = session, live, most, pause
        self.made: list[QueryHandle] = []
        self.errors: list[BaseException] = []
        self.done: dict[str, int] = {}
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._person, args=(f"{seed}_{i}",), name=f"person-{i}")
            for i in range(people)
        ]

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        if kind is None:
            self.check_alive()

    def check_alive(self) -> None:
        """Raise what anybody met."""
        if self.errors:
            raise self.errors[0]

    def _person(self, name: str) -> None:
        rng, mine = random.Random(name), list[QueryHandle]()
        acts: list[tuple[str, Callable[[random.Random, list[QueryHandle], str], Any]]] = [
            ("create", self._create),
            ("drop", self._drop),
            ("explain", self._explain),
            ("read", self._read),
        ]
        try:
            while not self._ended.wait(rng.uniform(0, 2 * self._pause)):
                what, act = rng.choice(acts)
                act(rng, mine, name)
                self.done[what] = self.done.get(what, 0) + 1
        except BaseException as e:
            self.errors.append(e)
            self._ended.set()

    def _create(self, rng: random.Random, mine: list[QueryHandle], name: str) -> None:
        if len(mine) >= self._most or sum(q.is_live for q in mine) >= self._live:
            return
        name = f"q_{name}_{len(mine)}"
        if rng.random() < 0.5:
            self._session.sql(f"CREATE QUERY {name} AS {drawn(rng)}")
            handle = self._session.handle(name)
        else:
            handle = self._session.query(drawn(rng), name=name)
        mine.append(handle)
        self.made.append(handle)

    def _drop(self, rng: random.Random, mine: list[QueryHandle], name: str) -> None:
        live = [q for q in mine if q.is_live]
        query = rng.choice(live) if live else None
        if (
            query is not None
            and query.epoch is not None
            and query.epoch + rng.randint(2, 12) <= self._session.latest_manifest().batch
        ):
            if rng.random() < 0.5:
                self._session.drop(query)
            else:
                self._session.sql(f"DROP QUERY {query.name}")

    def _explain(self, rng: random.Random, mine: list[QueryHandle], name: str) -> None:
        self._session.sql(
            rng.choice(
                [f"EXPLAIN {drawn(rng)}", "SHOW QUERIES", "SHOW STATISTICS", "EXPLAIN ANALYZE " + drawn(rng)]
            )
        )

    def _read(self, rng: random.Random, mine: list[QueryHandle], name: str) -> None:
        if mine:
            query = rng.choice(mine)
            assert query.results().column_names == [o.name for o in query.query.outputs]
            assert query.epoch is None or query.ended is None or query.epoch < query.ended


def drawn(rng: random.Random) -> str:
    """One of the queries."""
    return rng.choice(SELECTS).format(n=rng.choice([2, 3, 4]), m=rng.choice([2, 3, 4]))


def check_lives(
    handles: Sequence[QueryHandle], streams: Mapping[str, Stream], fed: Sequence[Mapping[str, pa.Table]]
) -> int:
    """Compare the results of each query with the definition for its life; returns how many rows that were."""
    rows = 0
    for handle in handles:
        found, expected = handle.results(), reference_of(handle, streams, fed)
        try:
            compare(found, expected)
        except AssertionError as e:
            life = f"batches [{handle.epoch}, {handle.ended}), from {handle.begins}"
            raise AssertionError(f"query {handle.name} in {life}: {handle.query.text}\n{e}") from e
        rows += found.num_rows
    return rows


def rows(batch: int, shift: int, count: int = 40) -> pa.Table:
    """Two seconds of a stream, out of order within a watermark of one; no two batches, and no two shifts, have the same rows."""
    ticks = [
        2 * batch * SECOND + shift * 1_000 + (i * 37 % count) * (2 * SECOND // count) - (i % 7 == 0) * 300_000
        for i in range(count)
    ]
    values = [(i * 7 + batch * 3 + shift) % 23 for i in range(count)]
    return pa.table(
        {"k": [i % 5 for i in range(count)], "v": values, "at": pa.array(ticks, pa.timestamp("us"))}
    )
