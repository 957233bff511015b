"""The session directory: who may use it, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg.errors import StateError, UsageError
from thalweg.state.directory import FORMAT, LOCK, Directory

HOLD = """
import sys
from thalweg.state.directory import Directory
d = Directory(sys.argv[1])
d.create()
d.lock()
print("locked", flush=True)
for line in sys.stdin:
    try:
        d.guard()
        print("fine", flush=True)
    except Exception as e:
        print(type(e).__name__, e.message, flush=True)
"""


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    made = Directory(tmp_path / "session")
    made.create()
    return made


def test_it_is_for_its_user_alone(directory: Directory) -> None:
    folders = [directory.root, *(p for p in directory.root.iterdir() if p.is_dir())]
    assert len(folders) > 4
    assert {oct(p.stat().st_mode & 0o777) for p in folders} == {"0o700"}


def test_a_directory_that_was_made_for_it_is_so_too(tmp_path: Path) -> None:
    for name, extra in (("empty", None), ("inbox", "inbox"), ("used", "app.sql")):
        (tmp_path / name).mkdir(mode=0o755)
        if extra:
            (tmp_path / name / extra).mkdir()
        Directory(tmp_path / name).create()
    assert [oct((tmp_path / n).stat().st_mode & 0o777) for n in ("empty", "inbox", "used")] == [
        "0o700",
        "0o700",
        "0o755",
    ]
    assert oct((tmp_path / "used" / "state").stat().st_mode & 0o777) == "0o700"


def test_a_directory_of_an_older_format_is_refused(directory: Directory) -> None:
    (directory.root / "FORMAT").write_text(json.dumps({"format": FORMAT - 1, "thalweg": "0.3.0"}))
    with pytest.raises(
        StateError,
        match=f"written in state format {FORMAT - 1} by Thalweg 0.3.0, this version reads format {FORMAT}",
    ) as e:
        Directory(directory.root).create()
    assert (
        e.value.hint
        == "run it with Thalweg 0.3.0 (pip install thalweg==0.3.0), or start anew in another directory"
    )


def test_a_second_process_is_refused_also_without_the_lock_file(directory: Directory) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(directory.root)], stdin=-1, stdout=-1, text=True, bufsize=1
    ) as first:
        assert first.stdin and first.stdout
        assert first.stdout.readline() == "locked\n"
        with pytest.raises(UsageError, match=f"in use by process {first.pid}"):
            directory.lock()
        (directory.root / LOCK).unlink()
        with pytest.raises(UsageError, match="in use by another process"):
            directory.lock()
        first.stdin.write("\n")
        assert first.stdout.readline() == "fine\n"
        with pytest.raises(UsageError, match=f"in use by process {first.pid}"):
            directory.lock()
        first.stdin.close()
    directory.lock()
    directory.guard()
    directory.unlock()


def test_who_lost_the_directory_stops(directory: Directory, tmp_path: Path) -> None:
    directory.lock()
    directory.root.rename(tmp_path / "moved")
    second = Directory(tmp_path / "session")
    second.create()
    second.lock()
    with pytest.raises(StateError, match="another process has taken it"):
        directory.guard()
    second.guard()
    directory.unlock()
    second.unlock()
