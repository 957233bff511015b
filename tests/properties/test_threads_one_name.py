"""Four threads that create, replace, drop, explain, read and set over the same few names while batches run, and a session that is closed
under their hands: whoever loses a race is told so in words, and what was accepted is what runs."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from thalweg.api.declaring import query_of
from thalweg.api.handle import QueryHandle
from thalweg.errors import InternalError, ThalwegError
from thalweg.sql.statements import parse_select
from thalweg.testing.crowd import check_lives, drawn, rows
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

NAMES, PEOPLE, BATCHES = ("a", "b", "c"), 4, 10
STREAM = "CREATE STREAM {0} (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{1}', time = 'at', watermark = '1 second');"
SETTINGS = ("plan.sharing = 'all'", "plan.sharing = 'off'", "plan.sharing = 'best'", "plan.windows = 'paper'")
Act = Callable[[random.Random, str], object]


class Rivals:
    """A session that many want the same of. What one of them is refused must be in words for users; anything else is kept in `errors`."""

    def __init__(self, root: Path, seed: int) -> None:
        self.session = LocalSession(root / "run")
        self.fed = [{"s": rows(b, seed), "r": rows(b, seed + 5)} for b in range(BATCHES)]
        self.files = {}
        for name in ("s", "r"):
            self.session.sql(STREAM.format(name, root / name))
            write_batches(root / name, self.session.catalog.streams[name], [b[name] for b in self.fed])
            self.files[name] = sorted((root / name).glob("*.parquet"))
        self.errors: list[BaseException] = []
        self.refused, self.done = 0, 0
        self.replaced: set[str] = set()
        self.ended = threading.Event()
        self.people = [threading.Thread(target=self._live, args=(f"{seed}-{i}",)) for i in range(PEOPLE)]

    def batch(self, number: int) -> None:
        self.session.batch([(n, str(f[number])) for n, f in self.files.items()], settled=number % 3 == 0)

    def _live(self, seed: str) -> None:
        rng = random.Random(seed)
        acts: list[Act] = [
            self._create,
            self._replace,
            self._drop,
            self._explain,
            self._read,
            self._wait,
            self._set,
        ]
        while not self.ended.wait(rng.uniform(0, 0.02)):
            try:
                rng.choice(acts)(rng, rng.choice(NAMES))
                self.done += 1
            except InternalError as e:
                self.errors.append(e)
            except ThalwegError:
                self.refused += 1
            except BaseException as e:
                self.errors.append(e)

    def _create(self, rng: random.Random, name: str) -> None:
        made = f"{name}{rng.randint(0, 2)}"
        self.session.query(drawn(rng), name=made, into=None)

    def _replace(self, rng: random.Random, name: str) -> None:
        self.replaced.add(name)
        self.session.sql(f"CREATE OR REPLACE QUERY {name} AS {drawn(rng)}")

    def _drop(self, rng: random.Random, name: str) -> None:
        self.session.drop(rng.choice([name, f"{name}{rng.randint(0, 2)}"]))

    def _explain(self, rng: random.Random, name: str) -> None:
        self.session.sql(
            rng.choice(
                [f"EXPLAIN ANALYZE QUERY {name}", f"EXPLAIN {drawn(rng)}", "SHOW QUERIES", "SHOW PLAN"]
            )
        )

    def _read(self, rng: random.Random, name: str) -> None:
        handle = self.session.handle(rng.choice([name, f"{name}{rng.randint(0, 2)}"]))
        first = handle.results().num_rows
        assert handle.results().num_rows >= first, "results are never taken back"
        assert handle.ended is None or (handle.epoch is not None and handle.epoch < handle.ended)

    def _wait(self, rng: random.Random, name: str) -> None:
        self.session.handle(name).wait(rng.uniform(0, 0.1))

    def _set(self, rng: random.Random, name: str) -> None:
        self.session.sql(f"SET {rng.choice(SETTINGS)}")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(2))
def test_all_want_the_same_names(tmp_path: Path, seed: int) -> None:
    rivals = Rivals(tmp_path, seed)
    for person in rivals.people:
        person.start()
    try:
        for number in range(BATCHES):
            rivals.batch(number)
    finally:
        rivals.ended.set()
        for person in rivals.people:
            person.join()
    assert not rivals.errors, rivals.errors
    session = rivals.session
    assert rivals.refused and rivals.done > 20 and session.latest_manifest().batch == BATCHES - 1
    lives = session.lives()
    whole = [v for v in lives if v.ended is None or v.name not in rivals.replaced]
    assert len({v.directory for v in lives}) == len(lives), "each has a directory of its own"
    handles = [
        QueryHandle(session, v.name, query_of(session.catalog, parse_select(v.text), v.name), v)
        for v in whole
    ]
    assert handles
    check_lives(handles, session.catalog.streams, rivals.fed)
    session.close()


@pytest.mark.timeout(60)
def test_closing_while_others_go_on(tmp_path: Path) -> None:
    rivals = Rivals(tmp_path, 7)
    rivals.session.query(drawn(random.Random(0)), name="first")
    rivals.batch(0)
    for person in rivals.people:
        person.start()
    rivals.batch(1)
    rivals.session.close()
    rivals.ended.wait(0.3)
    rivals.ended.set()
    for person in rivals.people:
        person.join()
    assert not rivals.errors, rivals.errors
    accepted = {n: h.text for n, h in rivals.session.queries.items()}
    again = LocalSession(tmp_path / "run")
    assert {n: h.text for n, h in again.queries.items()} == accepted and "first" in accepted
