from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from thalweg.errors import StateError, UsageError
from thalweg.logical.aggregates import PartColumn
from thalweg.logical.query import Query
from thalweg.logical.stream import Column, Stream
from thalweg.logical.windows import SECOND, NamedWindow, Window
from thalweg.plan.codec import dumps
from thalweg.plan.nodes import Fragment, Plan
from thalweg.state import manifest as manifests
from thalweg.state.directory import Directory
from thalweg.state.manifest import Counts, Manifest, StateFile
from thalweg.status import Status, read_status

MINUTE = Window(60 * SECOND, 60 * SECOND)
BID = Stream("bid", (Column("price", "BIGINT"), Column("at", "TIMESTAMP")), "at", path="/data/bid", late_rows="/data/late")
QUIET = Stream("quiet", BID.columns, "at", path="/data/quiet")
HIGH = Query("high", "", "bid", (), (), (NamedWindow("1 minute", MINUTE),), (), ())
FRAGMENT = Fragment("bid_1", "bid", (), ('"price"',), MINUTE, (PartColumn("rows", "count(*)", "sum"),))
MANIFEST = Manifest(
    batch=12,
    plan="p.json",
    frontiers={"bid": 1_700_000_000_000_000, "quiet": None},
    files=(StateFile("bid_1", "a", 0, 2, 0, 1, 1000, 40_000), StateFile("bid_1", "b", 1, 2, 0, 1, 234, 2_000)),
    streams={"bid": Counts(rows=1_234_567, late=89, untimed=3, bad_files=1)},
    queries={"high": Counts(rows=4321, late=80)},
    bad_files=("/data/bid/part-7.parquet",),
)


@pytest.fixture
def session(tmp_path: Path) -> Directory:
    """A session directory after batch 12."""
    directory = Directory(tmp_path / "session")
    directory.create()
    plan = Plan((BID, QUIET), (HIGH, replace(HIGH, name="low", into="/out/low")), (FRAGMENT,))
    (directory.plans / "p.json").write_text(dumps(plan))
    manifests.write(directory.manifests, MANIFEST)
    return directory


def test_the_status_of_a_session(session):
    found: Status = read_status(session.root)
    assert found.batch == 12
    bid, quiet = found.streams
    assert (bid.rows, bid.late, bid.untimed, bid.bad_files) == (1_234_567, 89, 3, ("/data/bid/part-7.parquet",))
    assert bid.frontier is not None and bid.frontier.isoformat() == "2023-11-14T22:13:20+00:00"
    assert (quiet.rows, quiet.frontier, quiet.bad_files) == (0, None, ())
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
    assert ["bid", "1,234,567", "89", "3", "1", "2023-11-14", "22:13:20"] in lines
    assert ["quiet", "0", "0", "0", "0", "-"] in lines
    assert ["high", "4,321", "80", "session/results/high"] in lines
    assert ["bid", "1", "minute", "price", "2", "1,234", "42,000"] in lines
    assert "  /data/bid/part-7.parquet" in said.stdout.splitlines()
    assert "late rows of bid are in /data/late" in said.stdout


def test_piped_output_is_plain_and_uncut(thalweg, session):
    long = "/data/" + "x" * 300
    plan = Plan((BID,), (replace(HIGH, into=long),), (FRAGMENT,))
    (session.plans / "p.json").write_text(dumps(plan))
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
    (session.plans / "p.json").write_text(damage)
    with pytest.raises(StateError, match="damaged plan file"):
        read_status(session.root)


def test_a_missing_plan(session):
    (session.plans / "p.json").unlink()
    with pytest.raises(StateError, match=r"p\.json: missing"):
        read_status(session.root)
