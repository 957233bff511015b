from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.api.status import Status, read_status
from thalweg.errors import DataError, StateError, UsageError
from thalweg.expr.nodes import Column as Expression
from thalweg.model.stream import Column, Stream
from thalweg.model.target import Files
from thalweg.model.windowed import windowed
from thalweg.model.windows import SECOND, NamedWindow, Window
from thalweg.plan.nodes import COUNTED, Emission, Fragment, Plan
from thalweg.state.directory import Directory
from thalweg.state.history import append, write_base
from thalweg.state.local import LocalStore
from thalweg.state.manifest import Counts, Manifest, SetAside, StateFile
from thalweg.state.plans import PlanLog
from thalweg.state.runs import Run, began, ended
from thalweg.testing.local import LocalSession

MINUTE = Window(60 * SECOND, 60 * SECOND)
BID = Stream(
    "bid",
    (Column("price", "BIGINT"), Column("at", "TIMESTAMP")),
    "at",
    path="/data/bid",
    late_rows="/data/late",
)
QUIET = Stream("quiet", BID.columns, "at", path="/data/quiet")
HIGH = windowed("high", "bid", (), (), (NamedWindow("1 minute", MINUTE),), (), ())
FRAGMENT = Fragment("bid_1", "bid", (), (Expression("price", "BIGINT"),), MINUTE, (COUNTED,))
EMITTED = Emission("high", ("bid_1",), "1 minute", MINUTE)
MANIFEST = Manifest(
    batch=12,
    frontiers={"bid": 1_700_000_000_000_000, "quiet": None},
    files=(
        StateFile("bid_1", "a", 0, 2, 0, 1, 1000, 40_000),
        StateFile("bid_1", "b", 1, 2, 0, 1, 234, 2_000),
    ),
    streams={"bid": Counts(rows=1_234_567, late=89, untimed=3, bad_rows=5, bad_files=1)},
    queries={"high": Counts(rows=4321, late=80)},
    set_aside=(
        SetAside("bid", "/data/bid/part-3.parquet", "is no BIGINT", "row 7", "price", "1.5"),
        SetAside("bid", "/data/bid/part-7.parquet", "it is empty"),
    ),
)


@pytest.fixture
def session(tmp_path: Path) -> Directory:
    """A session directory after batch 12."""
    directory = Directory(tmp_path / "session")
    directory.create()
    plan = Plan(
        (BID, QUIET),
        (),
        (HIGH, replace(HIGH, name="low", into=Files("/out/low"))),
        (FRAGMENT,),
        emissions=(EMITTED,),
    )
    commit(directory, plan)
    return directory


def commit(directory: Directory, plan: Plan) -> Path:
    """Make a plan that of batch 12, in the place of another; returns its file."""
    store = LocalStore(directory.manifests)
    for name in store.list():
        store.delete(name)
    plan_name = PlanLog(LocalStore(directory.plans)).write(plan, 12)
    write_base(store, replace(MANIFEST, batch=11, digest="11"))
    append(store, replace(MANIFEST, batch=11, digest="11"), replace(MANIFEST, plan=plan_name))
    return directory.plans / plan_name


def test_the_status_of_a_session(session):
    found: Status = read_status(session.root)
    assert found.batch == 12
    bid, quiet = found.streams
    assert (bid.rows, bid.late, bid.untimed, bid.bad_rows, bid.bad_files) == (1_234_567, 89, 3, 5, 1)
    assert bid.set_aside == MANIFEST.set_aside and bid.bad_rows_in == str(session.bad / "bid")
    assert bid.frontier is not None and bid.frontier.isoformat() == "2023-11-14T22:13:20+00:00"
    assert (quiet.rows, quiet.frontier, quiet.bad_rows, quiet.bad_files, quiet.set_aside) == (
        0,
        None,
        0,
        0,
        (),
    )
    high, low = found.queries
    assert (high.rows, high.late, high.directory) == (4321, 80, str(session.results / "high"))
    assert (low.rows, low.directory) == (0, "/out/low")
    (fragment,) = found.fragments
    assert (fragment.window, fragment.files, fragment.rows, fragment.bytes) == ("1 minute", 2, 1234, 42_000)


def test_the_tables(thalweg, session):
    said = thalweg("status", "session")
    assert said.exit_code == 0
    lines = [line.split() for line in said.stdout.splitlines()]
    assert lines[0][:3] == [f"{session.root}:", "batch", "12,"]
    assert ["bid", "1,234,567", "89", "3", "5", "1", "2023-11-14", "22:13:20"] in lines
    assert ["quiet", "0", "0", "0", "0", "0", "-"] in lines
    assert ["high", "4,321", "80", "session/results/high"] in lines
    assert ["bid", "1", "minute", "price", "2", "1,234", "42,000", "high"] in lines
    at = said.stdout.splitlines().index(
        "warning: 5 rows and 1 file of stream bid set aside; see session/bad/bid"
    )
    assert said.stdout.splitlines()[at + 1 : at + 4] == [
        "  /data/bid/part-3.parquet: row 7: 1.5 in column price is no BIGINT",
        "  /data/bid/part-7.parquet: it is empty",
        "  and 4 more rows",
    ]
    assert "late rows of bid are in /data/late" in said.stdout


def test_piped_output_is_plain_and_uncut(thalweg, session):
    long = "/data/" + "x" * 300
    plan = Plan((BID,), (), (replace(HIGH, into=Files(long)),), (FRAGMENT,))
    commit(session, plan)
    said = thalweg("status", "session")
    assert long in said.stdout
    assert "\x1b" not in said.stdout
    assert not any(line != line.rstrip() for line in said.stdout.splitlines())


def test_json(thalweg, session):
    found = json.loads(thalweg("status", "session", "--json").stdout)
    assert found["batch"] == 12
    assert found["streams"][0]["frontier"] == "2023-11-14T22:13:20Z"
    assert found["fragments"][0]["rows"] == 1234


def test_before_the_first_batch(thalweg, tmp_path):
    Directory(tmp_path / "session").create()
    said = thalweg("status", "session")
    assert (said.exit_code, said.stdout) == (0, f"{tmp_path / 'session'}: no batch yet\n")


def test_a_directory_that_is_no_session(tmp_path):
    with pytest.raises(UsageError, match="no session directory"):
        read_status(tmp_path)


def test_another_format(session):
    (session.root / "FORMAT").write_text('{"format": 99, "thalweg": "9.0"}')
    with pytest.raises(StateError, match="state format 99"):
        read_status(session.root)


@pytest.mark.parametrize("damage", ["", "{}", '{"$": "Nothing"}'])
def test_a_damaged_plan(session, damage):
    (plan,) = session.plans.glob("*.json")
    plan.write_text(damage)
    with pytest.raises(StateError, match=f"{plan}: damaged"):
        read_status(session.root)


def test_a_missing_plan(session):
    (plan,) = session.plans.glob("*.json")
    plan.unlink()
    with pytest.raises(StateError, match=f"{plan}: plan file is missing"):
        read_status(session.root)


STREAM = "CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at', on_bad_file = 'stop');"
QUERIES = """
CREATE QUERY hours AS SELECT k + 1 AS k1, COUNT(*) AS n FROM s GROUP BY k1, WINDOWS(TUMBLE '1 hour', TUMBLE '2 hours');
CREATE QUERY pairs AS SELECT a.k, COUNT(*) AS n FROM s AS a [RANGE 1 HOUR], s AS b [RANGE 1 HOUR] WHERE a.k = b.k GROUP BY a.k EVERY 1 HOUR
"""


@pytest.fixture
def ran(tmp_path: Path) -> LocalSession:
    """A session with queries over windows and joins, after a batch."""
    (tmp_path / "in").mkdir()
    found = LocalSession(tmp_path / "run")
    found.sql(STREAM.format(tmp_path / "in") + QUERIES)
    path = tmp_path / "in" / "a.parquet"
    pq.write_table(
        pa.table({"k": list(range(9)), "at": pa.array([10**9 * i for i in range(9)], pa.timestamp("us"))}),
        path,
    )
    found.batch([("s", str(path))])
    return found


def test_state_is_told_by_who_uses_it_in_words_of_the_user(thalweg, ran):
    found = read_status(ran.directory.root)
    assert {q for f in found.fragments for q in f.queries} == {"hours", "pairs"} and all(
        f.queries for f in found.fragments
    )
    said = thalweg("status", "run").stdout
    assert "computed from k" in said and '"' not in said and "c0" not in said and "used by" in said


def test_a_run_that_is_alive_stopped_failed_or_killed(thalweg, ran):
    root = ran.directory.root
    assert read_status(root).run == Run("new")
    began(root)
    assert read_status(root).run.status == "running"
    assert f"running in process {os.getpid()}, since 20" in thalweg("status", "run").stdout
    ran.stop()
    assert read_status(root).run.status == "ended"
    assert "ended without a word (killed?)" in thalweg("status", "run").stdout
    ended(root)
    assert "\nstopped, 20" in thalweg("status", "run").stdout
    ended(root, DataError("in/b.parquet: can't be read", "remove it"))
    said = thalweg("status", "run").stdout
    assert ": in/b.parquet: can't be read\n  hint: remove it\n" in said
    assert (
        json.loads(thalweg("status", "run", "--json").stdout)["run"]["message"]
        == "in/b.parquet: can't be read"
    )
    (root / "run.json").write_text("{")
    assert read_status(root).run.status == "ended"


def test_a_batch_that_fails_is_noted_while_the_session_is_open(ran, tmp_path):
    (tmp_path / "in" / "b.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataError):
        ran.batch([("s", str(tmp_path / "in" / "b.parquet"))])
    run = read_status(ran.directory.root).run
    assert run.status == "failed" and "b.parquet" in (run.message or "") and run.hint


def test_files_of_the_state_that_are_not_as_they_were_left(thalweg, ran):
    first, second = sorted(ran.directory.state.glob("*.arrow"))[:2]
    first.unlink()
    second.write_bytes(b"short")
    said = thalweg("status", "run").stdout
    assert f"  {first}: missing" in said.splitlines() and f"  {second}: 5 bytes instead of " in said
