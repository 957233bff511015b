"""A flipped bit or a cut in any file of Spark's checkpoint, after a finished run and after a crash: found, or harmless."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import QUERIES, batches, check, put, session_on, stream_sql

from thalweg.errors import StateError

FLIPS = int(os.environ.get("THALWEG_CHECKPOINT_FLIPS", "1"))
COUNT = 12


def damaged(data: bytes, way: str, rng: random.Random) -> bytes:
    """One bit flipped, or the end cut off."""
    if way == "cut":
        return data[: rng.randrange(len(data))]
    changed, bit = bytearray(data), rng.randrange(len(data) * 8)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def is_found(spark: Any, root: Path, sql: str, path: Path) -> bool:
    """Whether damage is refused before Spark reads it, with its name."""
    session = session_on(spark, root, sql)
    try:
        session.runner.workload = session._declarations.workload
        session.runner.recover()
    except StateError as e:
        assert str(path) in e.message and e.hint, e
        return True
    finally:
        session.stop()
    return False


@pytest.mark.timeout(600 + 2 * FLIPS)
@pytest.mark.parametrize(
    "point", [None, "driver:before-manifest", "driver:after-manifest", "driver:before-job"]
)
def test_damage_in_any_file(spark: Any, tmp_path: Path, point: str | None) -> None:
    (tmp_path / "in").mkdir()
    sql, tables, rng = (
        stream_sql(tmp_path / "in", ", files_per_batch = 1") + QUERIES,
        batches(COUNT + 2),
        random.Random(FLIPS),
    )
    session = session_on(spark, tmp_path, sql)
    put(tmp_path, session, tables[: COUNT - 1])
    session.run_available()
    session.stop()
    if point is not None:
        session = session_on(spark, tmp_path, sql)
        put(tmp_path, session, tables[COUNT - 1 : COUNT])
        session.fault = point
        with pytest.raises(Exception, match=point):
            session.run_available()
        session.stop()
    run, copy = tmp_path / "run", tmp_path / "copy"
    shutil.copytree(run, copy)
    files = sorted(p.relative_to(run) for p in (run / "checkpoint").rglob("*") if p.is_file())
    harmless = set(files)
    for name in files:
        for way in ("cut", *["flip"] * FLIPS):
            shutil.rmtree(run)
            shutil.copytree(copy, run)
            (run / name).write_bytes(damaged((run / name).read_bytes(), way, rng))
            if is_found(spark, tmp_path, sql, run / name):
                harmless -= {name}
    assert {"metadata", "9.compact"} <= {p.name for p in files if p not in harmless} and harmless, harmless
    # What was not found is damaged in all files at once: still each row counts once.
    shutil.rmtree(run)
    shutil.copytree(copy, run)
    for name in harmless:
        (run / name).write_bytes(damaged((run / name).read_bytes(), rng.choice(["cut", "flip"]), rng))
    session = session_on(spark, tmp_path, sql)
    put(tmp_path, session, tables[COUNT - (point is None) :])
    session.run_available()
    session.stop()
    check(session, tables)
