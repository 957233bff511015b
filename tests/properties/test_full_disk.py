"""A full disk is the environment's: it is told with the directory that is full, and once there is room nothing is lost."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from test_faults import batches, engine_at

from thalweg.errors import EnvironmentProblem
from thalweg.model.query import Query
from thalweg.state import local
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference import reference

UNSHARE = ["unshare", "--map-root-user", "--mount"]


def chunks_of(engine: LocalEngine, root: Path) -> list[list[tuple[str, str]]]:
    return [[("s", str(path))] for path in write_batches(root / "in" / "s", engine.streams[0], batches())]


def feed(engine: LocalEngine, chunks: list[list[tuple[str, str]]]) -> None:
    """All batches that were not committed yet."""
    for chunk in chunks[engine.done :]:
        engine.batch(chunk)


def check(engine: LocalEngine) -> None:
    for query in engine.queries:
        assert isinstance(query, Query)
        compare(engine.results(query), reference(query, engine.streams[0], batches()))


def fill(root: Path, full: Path) -> dict[str, str | None]:
    """Run on a full disk, make room, go on; returns what was said. Runs where `full` is a small disk of its own."""
    engine = engine_at(root)
    chunks = chunks_of(engine, root)
    ballast = full / "ballast"
    assert engine.runner
    with pytest.raises(OSError, match="No space left"), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 512)
    with pytest.raises(EnvironmentProblem) as said:
        feed(engine, chunks)
    ballast.unlink()
    engine.restart()
    feed(engine, chunks)
    check(engine)
    return {"message": said.value.message, "hint": said.value.hint}


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return (
        subprocess.run(
            [*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
        ).returncode
        == 0
    )


@pytest.mark.skipif(
    not can_mount(), reason="this user may not mount a small disk (unshare --map-root-user --mount)"
)
@pytest.mark.parametrize("folder", ["state", "results", "manifests", "plans"])
def test_a_disk_that_is_full(tmp_path: Path, folder: str) -> None:
    """Each folder of a session on a disk of 256 KB, filled to the last byte."""
    full = tmp_path / "run" / folder
    full.mkdir(parents=True)
    mounted = f"mount -t tmpfs -o size=256k none '{full}' && exec '{sys.executable}' '{__file__}' '{tmp_path}' '{full}'"
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", mounted], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    where = full / "a" if folder == "results" else full
    assert said["message"].startswith((f"{where}: no space left on device", f"{full}/")), said
    assert said["message"].endswith("no space left on device")
    assert said["hint"] == "free some space there, then run again: nothing is lost"


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """While this holds the system refuses files that are larger."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [0, 200, 700, 1500])
def test_a_disk_that_takes_no_more(tmp_path: Path, size: int) -> None:
    """The same wherever tests run: whichever file is refused first, its folder is named, and no half of it is left."""
    engine = engine_at(tmp_path)
    chunks = chunks_of(engine, tmp_path)
    engine.batch(chunks[0])
    files = set((tmp_path / "run").rglob("*"))
    with largest_file(size), pytest.raises(EnvironmentProblem, match="file too large") as said:
        feed(engine, chunks)
    where = Path(said.value.message.partition(": ")[0])
    assert where.is_relative_to(tmp_path / "run") and where.is_dir()
    assert said.value.hint == "free some space there, then run again: nothing is lost"
    left = {
        p
        for p in set((tmp_path / "run").rglob("*")) - files
        if p.is_file() and p.name.startswith(local.UNFINISHED)
    }
    assert not left
    engine.restart()
    feed(engine, chunks)
    check(engine)


if __name__ == "__main__":
    print(json.dumps(fill(Path(sys.argv[1]), Path(sys.argv[2]))))
