"""A bit that flips in any file of a session directory is found, or changes nothing; never is a result wrong."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pyarrow as pa
from test_faults import JOINS, engine_at, join_batches

from thalweg.errors import StateError
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine

FLIPS = int(os.environ.get("THALWEG_FLIPS", "32"))
KINDS = (
    "state/*",
    "manifests/*.json",
    "manifests/*.base",
    "plans/*",
    "queries/*",
    "results/*/*.parquet",
    "FORMAT",
)


def feed(engine: LocalEngine, root: Path, batch: dict[str, pa.Table]) -> None:
    streams = {s.name: s for s in engine.streams}
    engine.batch([(n, str(write_batches(root / "in" / n, streams[n], [t])[0])) for n, t in batch.items()])


def results(engine: LocalEngine) -> dict[str, pa.Table]:
    return {q.name: engine.results(q) for q in engine.queries}


def go_on(root: Path, done: int, last: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The results after a restart and one more batch."""
    engine = engine_at(root, JOINS)
    engine.done = done
    feed(engine, root, last)
    return results(engine)


def flip(path: Path, rng: random.Random) -> str:
    """Change one bit of a file; returns its place."""
    data = bytearray(path.read_bytes())
    bit = rng.randrange(len(data) * 8)
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    return f"bit {bit} of {path}"


def test_flipped_bits(tmp_path: Path) -> None:
    engine, batches, rng = engine_at(tmp_path, JOINS), join_batches(), random.Random(FLIPS)
    for i, batch in enumerate(batches[:-1]):
        if i == 4:
            engine.restart()
        feed(engine, tmp_path, batch)
    run, copy, found = tmp_path / "run", tmp_path / "copy", dict.fromkeys(KINDS, 0)
    shutil.copytree(run, copy)
    expected = go_on(tmp_path, engine.done, batches[-1])
    assert all(table.num_rows for table in expected.values())
    for i in range(FLIPS):
        shutil.rmtree(run)
        shutil.copytree(copy, run)
        kind = KINDS[i % len(KINDS)]
        chosen = rng.choice(sorted(run.glob(kind)))
        where = flip(chosen, rng)
        try:
            given = go_on(tmp_path, engine.done, batches[-1])
        except StateError as e:
            assert str(chosen) in e.message or kind == "FORMAT", f"{where}: {e}"
            assert e.hint, where
            found[kind] += 1
            continue
        for name, table in given.items():
            compare(table, expected[name])
    assert all(found.values()), f"no damage was found in some kinds of files: {found}"
