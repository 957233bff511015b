"""A power cut: what was never flushed to disk is gone, and nothing of a committed batch is among it."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from test_faults import JOINS, engine_at, join_batches

from thalweg.engine.faults import POINTS, Aborted
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine

BATCHES = 4


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """The same batches, undisturbed."""
    root = tmp_path_factory.mktemp("calm")
    engine = engine_at(root, JOINS)
    for batch in join_batches()[:BATCHES]:
        engine.batch(_chunks(engine, root, batch))
    return engine


class Disk:
    """Remembers what was flushed: of files their size, of directories the names and what they name. A power cut leaves only that."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: dict[int, int] = {}
        self.names: dict[int, dict[str, int]] = {}
        self._fsync = os.fsync
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, fd: int) -> None:
        self._fsync(fd)
        found = os.fstat(fd)
        if os.path.isdir(f"/proc/self/fd/{fd}"):  # noqa: PTH112
            self.names[found.st_ino] = {e.name: e.inode() for e in os.scandir(fd)}
        else:
            self.sizes[found.st_ino] = found.st_size

    def cut(self, root: Path) -> int:
        """Lose what was not flushed; returns how many names and files were lost. Directories that never were are left as they are."""
        inodes = {p.stat().st_ino: p for p in root.rglob("*") if p.is_file()}
        lost = 0
        for folder in [p for p in root.rglob("*") if p.is_dir() and p.stat().st_ino in self.names]:
            flushed = self.names[folder.stat().st_ino]
            for name, inode in flushed.items():
                if not (folder / name).exists() and inode in inodes and inodes[inode].exists():
                    (folder / name).hardlink_to(inodes[inode])
        for folder in [p for p in root.rglob("*") if p.is_dir() and p.stat().st_ino in self.names]:
            for path in [
                p for p in folder.iterdir() if p.is_file() and p.name not in self.names[folder.stat().st_ino]
            ]:
                path.unlink()
                lost += 1
        for path in [p for p in root.rglob("*") if p.is_file() and p.stat().st_ino not in self.sizes]:
            path.write_bytes(b"")
            lost += 1
        return lost


def feed(engine: LocalEngine, chunks: list[tuple[str, str]], point: str, disk: Disk) -> bool:
    """One batch in which the power goes at a point, and which is run again where it was not committed."""
    engine.fault = point
    try:
        engine.batch(chunks)
    except Aborted:
        for folder in ("manifests", "plans", "state", "queries", "results"):
            disk.cut(engine.root / folder)
        engine.fault = None
        engine.restart()
        engine.batch(chunks)
        return True
    return False


@pytest.mark.parametrize(
    "point", [p for p in POINTS if p.startswith("driver:") or "state" in p or "results" in p]
)
def test_power_is_cut_at_every_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, calm: LocalEngine
) -> None:
    disk = Disk(monkeypatch)
    engine = engine_at(tmp_path / "cut", JOINS)
    engine.durable = True
    reached = [
        feed(engine, _chunks(engine, tmp_path / "cut", batch), point, disk)
        for batch in join_batches()[:BATCHES]
    ]
    assert any(reached), f"no batch came to {point}"
    for query in engine.queries:
        compare(engine.results(query), calm.results(query))


def _chunks(engine: LocalEngine, root: Path, batch: dict[str, pa.Table]) -> list[tuple[str, str]]:
    streams = {s.name: s for s in engine.streams}
    return [(n, str(write_batches(root / "in" / n, streams[n], [t])[0])) for n, t in batch.items()]


def test_without_flushing_a_power_cut_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above can fail."""
    disk = Disk(monkeypatch)
    engine = engine_at(tmp_path, JOINS)
    engine.batch(_chunks(engine, tmp_path, join_batches()[0]))
    assert disk.cut(engine.root / "state") > 0
