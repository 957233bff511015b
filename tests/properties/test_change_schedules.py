"""Queries created, dropped and replaced by a random schedule, with settings, rescalings, frequent values that are split, restarts and
kills in between, against the definition.

A killed session is opened again without a word: what was acknowledged holds. THALWEG_SCHEDULES draws so many.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow as pa
import pytest

from thalweg.api.declaring import query_of
from thalweg.api.handle import QueryHandle
from thalweg.engine.faults import POINTS, Aborted
from thalweg.sql.statements import parse_select
from thalweg.testing.crowd import check_lives, drawn
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

SECOND, BATCHES = 1_000_000, 14
SCHEDULES = int(os.environ.get("THALWEG_SCHEDULES", "4"))
STREAM = "CREATE STREAM {0} (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{1}/{0}', time = 'at');"
DRIVER = [p for p in POINTS if p.startswith("driver:")]
SETTINGS = (
    "plan.windows = 'naive'",
    "plan.windows = 'best'",
    "plan.sharing = 'off'",
    "plan.sharing = 'best'",
    "plan.evaluate = 'snapshot'",
    "plan.split = 'all'",
    "plan.split = 'all'",
    "plan.split = 'off'",
)
PARTITIONS = (1, 2, 3, 5)


def rows(batch: int, shift: int, count: int = 20) -> pa.Table:
    """Two seconds of a stream; of the rows a third has one value, and later another one."""
    ticks = [2 * batch * SECOND + shift * 1_000 + i * (2 * SECOND // count) for i in range(count)]
    values = [3 + batch // 5 if i % 3 == 0 else (i * 7 + batch * 3 + shift) % 23 for i in range(count)]
    return pa.table(
        {"k": [i % 5 for i in range(count)], "v": values, "at": pa.array(ticks, pa.timestamp("us"))}
    )


class Schedule:
    """A directory, what was asked of it, and what it must know."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.rng = root, random.Random(seed)
        self.session = LocalSession(root / "run", self.rng.choice([1, 2]))
        self.session.sql("".join(STREAM.format(n, root) for n in "sr"))
        self.fed: list[dict[str, pa.Table]] = [
            {n: rows(b, 5 * i) for i, n in enumerate("sr")} for b in range(BATCHES)
        ]
        self.files = {
            n: write_batches(root / n, self.session.catalog.streams[n], [b[n] for b in self.fed])
            for n in "sr"
        }
        self.known: dict[str, str] = {}
        self.replaced: set[str] = set()
        self.made = 0

    def run(self) -> None:
        """All batches, with something asked before each, and a crash or a restart now and then."""
        while (batch := self.session.latest_manifest().batch + 1) < BATCHES:
            for _ in range(self.rng.randint(0, 3)):
                self.rng.choice(
                    [*[self._create] * 4, self._drop, self._drop, self._replace, self._set, self._rescale]
                )()
            if self.rng.random() < 0.3:
                self._reopen()
            self._batch(
                batch, self.rng.choice(DRIVER) if self.rng.random() < 0.3 and batch < BATCHES - 1 else None
            )

    def _batch(self, batch: int, fault: str | None) -> None:
        chunks = [(n, str(paths[batch])) for n, paths in self.files.items()]
        if batch > 0 and self.session._running.runner is not None:
            self.session.runner.fault = fault
        try:
            self.session.batch(chunks)
        except Aborted:
            self._reopen()

    def _reopen(self) -> None:
        """As after kill -9, if batches ran: nothing is declared again."""
        if self.session._running.runner is None:
            return
        self.session.directory.unlock()
        self.session = LocalSession(self.root / "run", self.rng.choice([1, 2]))
        assert {n: h.query.text for n, h in self.session.queries.items()} == self.known

    def _create(self) -> None:
        name = f"q{self.made}"
        self.known[name] = drawn(self.rng)
        self.made += 1
        self.session.query(self.known[name], name=name)

    def _drop(self) -> None:
        if self.known:
            name = self.rng.choice(list(self.known))
            del self.known[name]
            self.session.drop(name)

    def _replace(self) -> None:
        fixed = [name for name, text in self.known.items() if "SESSION" not in text]
        if fixed and self.session._running.runner is not None:
            name = self.rng.choice(fixed)
            self.known[name] = drawn(self.rng)
            self.replaced.add(name)
            self.session.sql(f"CREATE OR REPLACE QUERY {name} AS {self.known[name]}")

    def _set(self) -> None:
        self.session.sql(f"SET {self.rng.choice(SETTINGS)}")

    def _rescale(self) -> None:
        self.session.sql(f"SET partitions = {self.rng.choice(PARTITIONS)}")


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_a_schedule(seed: int, tmp_path: Path) -> None:
    schedule = Schedule(tmp_path, seed)
    schedule.run()
    session = schedule.session
    assert session.latest_manifest().batch == BATCHES - 1 and schedule.made > 0
    last = {life.name: life for life in session.lives()}
    whole = [life for life in last.values() if life.ended is None or life.name not in schedule.replaced]
    handles = [
        QueryHandle(session, v.name, query_of(session.catalog, parse_select(v.text), v.name), v)
        for v in whole
    ]
    assert check_lives(handles, session.catalog.streams, schedule.fed) > 0
    session.close()
