"""The parts of a run that need no Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.api.session import Session
from thalweg.cli.progress import RunProgress
from thalweg.cli.run import ConsoleResults
from thalweg.cli.screen import Screen
from thalweg.cli.script import default_directory
from thalweg.cli.signals import StopWish
from thalweg.errors import UsageError
from thalweg.generate.demo import Demo
from thalweg.model.recorded import Failure
from thalweg.model.target import target_of
from thalweg.model.windowed import windowed
from thalweg.sql.statements import CreateQuery, CreateStream, parse_script
from thalweg.state.manifest import SetAside


def batch(**facts):
    """What a batch tells its listeners."""
    known = {
        "batch": 3,
        "rows": 1000,
        "late": 2,
        "seconds": 0.5,
        "state_bytes": 5000,
        "frontiers": {"bid": 0},
        "published": (),
        "failed": (),
        "bad_rows": 0,
        "bad_files": 0,
        "set_aside": (),
    }
    return SimpleNamespace(**{**known, **facts})


@pytest.mark.parametrize(
    ("script", "directory"),
    [("app.sql", "thalweg-app"), ("a/my app.v2.sql", "thalweg-my-app.v2"), ("…", "thalweg-app")],
)
def test_the_default_directory(script, directory):
    assert default_directory(Path(script)) == Path(directory)


def test_progress_adds_up():
    with RunProgress(Screen()) as progress:
        for i in range(10):
            progress.batch(batch(batch=i))
    assert (progress.batches, progress.rows, progress.late, progress.seconds) == (10, 10_000, 20, 5.0)
    assert progress.rate == 2000


def test_progress_tells_of_a_query_that_failed(capsys):
    failure = Failure(
        windowed("q", "bid", (), (), (), (), ()),
        "out/q",
        3,
        "",
        7,
        "EnvironmentProblem",
        "out/q: not a directory",
    )
    with RunProgress(Screen()) as progress:
        progress.batch(batch(failed=(failure,)))
        progress.batch(batch())
    assert progress.failed == (failure,)
    assert (
        capsys.readouterr().err
        == "query q failed and was stopped, the others go on: out/q: not a directory\n"
    )


def test_progress_is_told_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    with RunProgress(Screen()) as progress:
        progress.batch(batch())
        assert capsys.readouterr().err == ""
        monkeypatch.setattr("thalweg.cli.progress.EVERY", 0)
        progress.batch(batch())
    said = capsys.readouterr()
    assert said.out == ""
    assert (
        said.err
        == "2,000 events · 2 batches · 2,000 events/s · 4 late · state 5.0 kB · frontier 1970-01-01 00:00:00\n"
    )


def test_what_is_set_aside_is_told_at_once_and_counted(capsys, monkeypatch):
    aside = (
        SetAside("bid", "/in/0.csv", "is no BIGINT", "row 2", "price", "1.5\x1b[2J"),
        SetAside("bid", "/in/1.csv", "it is empty"),
    )
    with RunProgress(Screen()) as progress:
        progress.batch(batch(bad_rows=3, bad_files=1, set_aside=aside))
        assert capsys.readouterr().err == (
            "warning: a row of stream bid is set aside: /in/0.csv: row 2: 1.5\\x1b[2J in column price is no BIGINT\n"
        )
        monkeypatch.setattr("thalweg.cli.progress.EVERY", 0)
        progress.batch(batch(bad_rows=1, set_aside=aside[:1]))
    assert " · 4 late · 4 rows and 1 file set aside · state " in capsys.readouterr().err


def test_asking_to_stop_twice_is_asking_once():
    before = signal.getsignal(signal.SIGINT)
    with StopWish() as wish:
        wish.listen()
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)
        assert wish.asked
        wish.done()
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_asking_again_after_a_while_ends_it_in_mid_batch():
    program = """
import os, signal, time
from thalweg.cli import signals
signals.PATIENCE = 0.2
with signals.StopWish() as wish:
    wish.listen()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 130


def test_a_run_that_ended_by_itself_leaves_signals_alone():
    before = signal.getsignal(signal.SIGINT)
    with StopWish() as wish:
        wish.listen()
        assert signal.getsignal(signal.SIGINT) is not before
        wish.done()
        assert signal.getsignal(signal.SIGINT) is before


def test_a_reader_that_has_left_is_no_error():
    """As in `thalweg ... | head -1`: the first line is read, the others go nowhere."""
    program = "from thalweg.cli.screen import Screen; s = Screen(); [s.say('x' * 1000) for _ in range(300)]; s.note(f'unread: {s.unread}')"
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == "x" * 1000 + "\n"
    process.stdout.close()
    assert (process.stderr.read(), process.wait(60)) == ("unread: True\n", 0)


@pytest.fixture
def console(tmp_path):
    """Two queries, one of them into the console, and their result files: what a session shows of them after a batch."""
    asked = (("shown", "console"), ("kept", None))
    queries = {name: windowed(name, "bid", (), (), (), (), (), into=target_of(into)) for name, into in asked}
    for name in queries:
        pq.write_table(pa.table({"n": list(range(30))}), tmp_path / f"{name}.parquet")
    session = Session(tmp_path / "session")
    session._declarations.catalog = replace(session.catalog, queries=queries)
    published = tuple((name, str(tmp_path / f"{name}.parquet")) for name in queries)

    def after_a_batch(rows):
        session.console = ConsoleResults(Screen(), session, rows).show
        for listener in session.listeners:
            listener(batch(published=published))

    return after_a_batch


def test_new_rows_of_console_queries_are_printed(console, capsys):
    console(20)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "shown: batch 3, 30 rows"
    assert len(lines) == 1 + 2 + 20 + 2
    assert lines[-2].startswith("... 10 more rows in ") and lines[-2].endswith(
        "session/results/shown (--rows 0 prints all)"
    )


def test_all_rows_of_console_queries(console, capsys):
    console(0)
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 + 30 + 1


def test_the_demo_makes_its_directory_anew(tmp_path):
    demo = Demo(tmp_path / "demo", 1000)
    demo.prepare()
    demo.session.mkdir()
    demo.prepare()
    assert not demo.session.exists()
    statements = parse_script(demo.script.read_text())
    assert all(
        str(s.stream.path).startswith(str(demo.data)) for s in statements if isinstance(s, CreateStream)
    )
    assert sum(isinstance(s, CreateQuery) for s in statements) == 5


def test_the_demo_keeps_what_is_not_its_own(tmp_path):
    (tmp_path / "precious").touch()
    with pytest.raises(UsageError, match="holds something else than a demo"):
        Demo(tmp_path, 1000).prepare()
    assert (tmp_path / "precious").exists()


def test_the_demo_refuses_a_file(thalweg, tmp_path):
    (tmp_path / "demo").touch()
    said = thalweg("demo")
    assert said.exit_code == 1
    assert "demo: not a directory" in said.stderr
