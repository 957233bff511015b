"""Processing time as a column: stamped once a batch, the same when the batch is run again after a crash, and never going back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from thalweg.engine.faults import Aborted
from thalweg.errors import SqlError, StateError, UsageError
from thalweg.model.stream import Column
from thalweg.state import clock
from thalweg.testing.crowd import check_lives
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

START = 1_700_000_000_000_000
STREAM = "CREATE STREAM s (k BIGINT, v BIGINT, {time} AS {now}{more}) WITH ({where}, time = '{of}', watermark = '{late}')"
SELECTS = (
    "SELECT k, window_start, window_end, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k, TUMBLE '10 seconds'",
    "SELECT k, window_start, window_end, COUNT(*) AS n FROM s WHERE v < 9 GROUP BY k, SESSION '4 seconds'",
    "SELECT k, v, at FROM s WHERE v > 3",
    "SELECT a.k, COUNT(*) n FROM s a [RANGE 6 SECONDS] JOIN s b [RANGE 6 SECONDS] ON a.k = b.k AND a.v = b.v GROUP BY 1 EVERY 3 SECONDS",
)
FAULTS = ("driver:before-job", "work:after-state", "driver:after-job", "driver:before-manifest", "driver:after-manifest")  # fmt: skip


def placed(root: Path) -> str:
    return f"format = 'parquet', path = '{root}/s'"


class Machine:
    """A clock that a test moves by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = START
        monkeypatch.setattr("thalweg.state.clock.nanoseconds", lambda: self.now * 1000)

    def go(self, seconds: float) -> None:
        self.now += int(seconds * 1_000_000)


@pytest.mark.parametrize("seed", range(3))
def test_queries_equal_the_definition_over_what_was_stamped(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after crashes at any point, each of which is followed by a pause, and where the machine's clock is set back."""
    random, machine = Random(seed), Machine(monkeypatch)
    where = {
        "where": placed(tmp_path),
        "time": "at",
        "now": random.choice(["now()", "PROCTIME()", "CURRENT_TIMESTAMP"]),
    }
    session = LocalSession(tmp_path / "run", 2)
    session.sql(STREAM.format(**where, of="at", late="0 seconds", more=""))
    for n, select in enumerate(SELECTS):
        session.query(select, name=f"q{n}")
    stream, fed, moments = session.catalog.streams["s"], list[dict[str, pa.Table]](), list[int]()
    for batch in range(10):
        if batch == 4:
            for n, select in enumerate(SELECTS):
                session.query(select, name=f"later{n}")
        table = pa.table(
            {"k": [random.randrange(3) for _ in range(9)], "v": [random.randrange(12) for _ in range(9)]}
        )
        path = str(write_batches(tmp_path / "s", stream.stored, [table])[0])
        moments.append(max(machine.now, *moments, START))
        if batch and random.random() < 0.6:
            session.runner.fault = random.choice(FAULTS)
            with pytest.raises(Aborted):
                session.batch([("s", path)])
            machine.go(random.choice([0.5, 20, -30]))
            session.directory.unlock()
            session = LocalSession(tmp_path / "run", random.choice([1, 2]))
        if session.latest_manifest().batch < batch:
            session.batch([("s", path)])
        assert clock.moment_of(session.directory.root, batch, False) == moments[-1]
        fed.append({"s": table.append_column("at", pa.array([moments[-1]] * 9, pa.timestamp("us")))})
        machine.go(random.choice([0, 1, 3, 3, 7, -2]))
    session.begin() if session._running.runner is None else None
    handles = list(session.queries.values())
    plain = replace(stream, columns=tuple(Column(c.name, c.type) for c in stream.columns))
    assert check_lives(handles, {"s": plain}, fed) > 0
    assert session.latest_manifest().streams["s"].late == 0
    session.close()


def test_beside_an_event_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long rows were under way, whose time is another column."""
    machine = Machine(monkeypatch)
    session = LocalSession(tmp_path / "run", 1)
    more = ", at AS TIMESTAMP_MICROS(v), lag AS UNIX_MICROS(now()) - v"
    session.sql(
        STREAM.format(
            where=placed(tmp_path), time="read_at", now="now()", of="at", late="1 second", more=more
        )
    )
    query = session.query("SELECT v, lag, read_at FROM s")
    table = pa.table({"k": [1, 1], "v": [START - 7, START - 5]})
    session.batch(
        [("s", str(write_batches(tmp_path / "s", session.catalog.streams["s"].stored, [table])[0]))]
    )
    machine.go(1)
    assert sorted(r["lag"] for r in query.results().to_pylist()) == [5, 7]
    session.close()


def test_what_is_refused(tmp_path: Path) -> None:
    session = LocalSession(tmp_path / "run", 1)
    session.sql(
        STREAM.format(where=placed(tmp_path), time="at", now="now()", of="at", late="0 seconds", more="")
    )
    (tmp_path / "s").mkdir()
    with pytest.raises(UsageError, match="has a column of the time at which rows are read"):
        session.query(SELECTS[0], history="all")
    with pytest.raises(SqlError, match="now is not deterministic") as error:
        session.query("SELECT k, now() AS t FROM s")
    assert "read_at AS now()" in str(error.value.hint)


def test_a_damaged_clock_is_told(tmp_path: Path) -> None:
    assert clock.moment_of(tmp_path, 3, True) == clock.moment_of(tmp_path, 3, True)
    data = (tmp_path / clock.FILE).read_bytes()
    (tmp_path / clock.FILE).write_bytes(data.replace(b'"batch": 3', b'"batch": 4'))
    with pytest.raises(StateError, match=r"clock.json: damaged"):
        clock.moment_of(tmp_path, 4, True)
