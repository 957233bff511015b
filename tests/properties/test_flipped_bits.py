"""A bit that flips in any file of a session directory is found, or changes nothing; never is a result wrong."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from test_faults import JOINS, engine_at, join_batches

from thalweg.engine.kernel.connection import renew
from thalweg.engine.kernel.functions import loaded
from thalweg.errors import StateError, ThalwegError
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine, LocalSession

STREAM = (
    "CREATE STREAM s (k BIGINT, v BIGINT, n STRUCT<x: BIGINT, l: ARRAY<BIGINT>>, at TIMESTAMP) WITH (format = 'json', path = '{}', time = 'at');"
    "CREATE STREAM pushed (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'push', time = 'at')"
)
QUERIES = (
    "CREATE VIEW w AS SELECT k, v, at FROM s WHERE v >= 0",
    *(
        f"CREATE QUERY q{i} AS SELECT k, window_end, SUM(v) AS x FROM s WHERE v > {i} GROUP BY k, TUMBLE '1 second'"
        for i in range(10)
    ),
    "CREATE QUERY p AS SELECT a.v, b.v AS w FROM w AS a [RANGE 2 SECONDS], s AS b [RANGE 1 SECOND] WHERE a.k = b.k",
    "CREATE QUERY runs AS SELECT k, LAG(v) OVER (PARTITION BY k ORDER BY at) AS before, "
    "SUM(v) OVER (PARTITION BY k ORDER BY at) AS so_far FROM s",
    "CREATE QUERY called AS SELECT k, window_end, MAX(twice(v)) AS x FROM s GROUP BY k, TUMBLE '1 second'",
    "CREATE QUERY nested AS SELECT n.x, window_end, SUM(n.l[1]) AS y FROM s GROUP BY n.x, TUMBLE '4 seconds'",
    "CREATE QUERY of_pushed AS SELECT k, v FROM pushed",
)
WHILE_IT_RUNS = (
    "CREATE QUERY late AS SELECT k, v FROM s WHERE v > 3; SET plan.windows = 'shared'",
    "DROP QUERY q9",
    "ALTER STREAM s ADD COLUMN more BIGINT; CREATE QUERY wider AS SELECT v, more FROM s",
)
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
    engine.stop()
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


def fed(session: LocalSession, root: Path, number: int) -> None:
    """Two seconds of rows as one more file; one of them has a bad row."""
    path = root / "in" / f"{number}.json"
    lines = [
        f'{{"k": {i % 3}, "v": {number + i}, "n": {{"x": {i % 2}, "l": [{i}, {number}]}}, "more": {i}, '
        f'"at": "1970-01-01 00:00:{2 * number + i // 5:02d}.{2 * (i % 5)}"}}'
        for i in range(10)
    ]
    path.write_text("\n".join([*lines, *(['{"k": "none", "v": 1, "at": null}'] if number == 2 else [])]))
    waiting = sorted((root / "run" / "inbox" / "pushed").glob("*.parquet"))[number:]
    session.batch([("s", str(path)), *(("pushed", str(p)) for p in waiting)])


def push(session: LocalSession, number: int) -> None:
    """Rows that wait for the next batch."""
    at = pa.array([number * 1_000_000 + i for i in range(10)], pa.timestamp("us"))
    session.push(
        "pushed",
        pa.table({"k": [i % 3 for i in range(10)], "v": [number + i for i in range(10)], "at": at}),
        id=str(number),
    )


def twice(v: pa.Array) -> pa.Array:
    return pc.multiply(v, 2)


def test_flipped_bits_of_all_that_a_session_keeps(tmp_path: Path) -> None:
    """A changelog, shared results, notes and what was set aside lie there too; each kind is hit as often."""
    (tmp_path / "in").mkdir()
    session = LocalSession(tmp_path / "run")
    session.function("twice", twice, "BIGINT -> BIGINT")
    session.sql(";".join([STREAM.format(tmp_path / "in"), *QUERIES]))
    session.begin()
    push(session, 0)
    for number in range(5):
        fed(session, tmp_path, number)
        push(session, number + 1)
        if number < len(WHILE_IT_RUNS):
            session.sql(WHILE_IT_RUNS[number])
    session.close()
    run, copy, rng = tmp_path / "run", tmp_path / "copy", random.Random(FLIPS)
    shutil.copytree(run, copy)
    expected = one_more(tmp_path)
    assert len(expected) == 16 and all(table.num_rows for table in expected.values())
    found = set()
    for i in range(FLIPS):
        shutil.rmtree(run)
        shutil.copytree(copy, run)
        files = [p for p in sorted(run.rglob("*")) if p.is_file() and p.stat().st_size]
        kinds = sorted({p.relative_to(run).parts[0] for p in files})
        kind = kinds[i % len(kinds)]
        chosen = rng.choice([p for p in files if p.relative_to(run).parts[0] == kind])
        where = flip(chosen, rng)
        try:
            given = one_more(tmp_path)
        except ThalwegError as e:
            assert str(chosen) in e.message or kind == "FORMAT", f"{where}: {e}"
            assert e.hint, where
            found.add(kind)
            continue
        for name, table in given.items():
            compare(table, expected[name])
    needed = {
        "changelog",
        "functions",
        "inbox",
        "manifests",
        "plans",
        "queries",
        "results",
        "shared",
        "state",
    }
    assert found >= needed or len(kinds) > FLIPS, f"no damage was found in {needed - found}"


def one_more(root: Path) -> dict[str, pa.Table]:
    """The results after a restart and one more batch."""
    loaded.cache_clear()  # as in a new process
    renew()
    session = LocalSession(root / "run")
    try:
        fed(session, root, 5)
        return {name: handle.results() for name, handle in session.queries.items()}
    finally:
        session.close()
