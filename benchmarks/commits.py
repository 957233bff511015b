"""What committing a batch costs: flushing it to disk, marking Spark's files, and writing and reading the manifest of many state files.

    python -m benchmarks.commits [--batches 60] [--files 1000]

Engine without Spark, in turns with and without `durable`; times are medians in milliseconds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import duckdb
import pyarrow.parquet as pq

from thalweg.engine.checkpoint import marks
from thalweg.engine.ledger import Ledger
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.state import history
from thalweg.state.checks import crc
from thalweg.state.directory import Directory
from thalweg.state.files import packed
from thalweg.state.manifest import Consumed, Counts, Manifest, StateFile
from thalweg.testing.bound import bind_statements
from thalweg.testing.local import LocalEngine

ROWS = 2000
STREAM = "CREATE STREAM s (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format='parquet', path='{d}', time='at');"
QUERY = "CREATE QUERY q{n} AS SELECT k, window_end, SUM(v) AS t FROM s WHERE v > {n} GROUP BY k, TUMBLE '{w} seconds';"
CHANGED = 4


def main() -> None:
    """Print both tables."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--batches", type=int, default=60)
    asked.add_argument("--files", type=int, default=1000)
    given = asked.parse_args()
    for queries in (1, 5, 20):
        print(flushing(queries, given.batches))
    for files in sorted({10, 100, given.files}):
        print(manifests(files, given.batches))
    for streams, logged in ((1, 100), (1, 100_000), (20, 1_000)):
        print(marking(streams, logged, given.batches))
    print(checksums())


def flushing(queries: int, batches: int) -> str:
    """A batch with and without flushing."""
    with tempfile.TemporaryDirectory() as root:
        engines = {durable: _engine(Path(root) / str(durable), queries, durable) for durable in (True, False)}
        times: dict[bool, list[float]] = {True: [], False: []}
        for i in range(batches):
            for durable, engine in engines.items():
                chunk = [("s", _rows(Path(root) / str(durable) / "in" / "s", i))]
                times[durable].append(_ms(lambda e=engine, c=chunk: e.batch(c)))  # type: ignore[misc]
        files = len(engines[True].runner.manifest.publish)
    with_it, without = (median(times[durable][batches // 4 :]) for durable in (True, False))
    return f"{queries:>3} queries, {files:>3} result files a batch: durable {with_it:6.1f} ms, not {without:6.1f}"


def _engine(root: Path, queries: int, durable: bool) -> LocalEngine:
    made = "".join(QUERY.format(n=n, w=1 + n % 3) for n in range(queries))
    bound = bind_statements(STREAM.format(d=root / "in" / "s") + made)
    streams, asked = tuple(bound.streams.values()), tuple(bound.queries.values())
    return LocalEngine(root / "run", streams, asked, planner_for(Config(), None), durable=durable)


def _rows(folder: Path, batch: int) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    sql = f"SELECT i % 100 AS k, i AS v, make_timestamp({batch} * 2000000 + i * 1000) AS at FROM range({ROWS}) AS r(i)"
    path = folder / f"{batch}.parquet"
    pq.write_table(duckdb.sql(sql).to_arrow_table(), path)
    return str(path)


def manifests(files: int, batches: int) -> str:
    """Commits of batches that change a few of many state files; reading by who knows the batch before, and by who starts."""
    with tempfile.TemporaryDirectory() as root:
        directory = Directory(root)
        directory.create()
        ledger = Ledger(directory, durable=False)
        last, sizes = Manifest(), []
        commits, reads = [], []
        for i in range(batches):
            made = _successor(last, files if i == 0 else CHANGED)
            started = time.perf_counter()
            made = ledger.commit(last, made)
            ledger.clean(last, made)
            commits.append((time.perf_counter() - started) * 1000)
            path = Path(ledger.manifest_path(made))
            sizes.append(path.stat().st_size)
            reads.append(_ms(lambda p=path: history.manifest_at(p)))  # type: ignore[misc]
            last = made
        cold = _ms(lambda: history.latest(ledger.manifests))
    said = f"{median(sizes):9,.0f} bytes, commit {median(commits):6.2f} ms, read {median(reads):6.2f}, at a start {cold:6.2f}"
    return f"{files:>5} state files, {CHANGED} of them new a batch: {said}"


def _successor(before: Manifest, new: int) -> Manifest:
    batch = before.batch + 1
    name = f"{batch:012d}-0of2-fragment_with_a_name-0123456789abcdef"
    made = tuple(
        StateFile(f"fragment_{n % 50}", f"{name}{n}.arrow", n % 2, 2, batch, batch + 9, 1000, 20_000, n)
        for n in range(new)
    )
    queries = {**(before.queries or {f"q{n}": Counts() for n in range(500)}), "q7": Counts(batch)}
    return replace(
        before,
        batch=batch,
        files=(*before.files[new if batch else 0 :], *made),
        queries=queries,
        tops={"s": batch},
    )


def marking(streams: int, logged: int, batches: int) -> str:
    """Marks of what Spark writes for a batch: offsets, that the last has ended, and a log a stream; every tenth names all files."""
    with tempfile.TemporaryDirectory() as folder:
        root, times = Path(folder), []
        entry = '{"path":"file:///data/some/where/part-00000-0123456789abcdef.parquet","timestamp":1700000000000,"batchId":7}\n'
        last = Manifest()
        _write(root / "metadata", '{"id":"b8c45604-f0a6-45ff-80af-f06a6dcbacea"}')
        for i in range(batches):
            names = [f"s{n}" for n in range(streams)]
            _write(
                root / "offsets" / str(i),
                "v2\n" + "x" * 1100 + "".join(f'\n{n}:{{"logOffset":{i}}}' for n in names),
            )
            _write(root / "commits" / str(i - 1), 'v1\n{"nextBatchWatermarkMs":0}')
            for name in names:
                _write(
                    root / "sources" / name / (f"{i}.compact" if i % 10 == 9 else str(i)),
                    "v1\n" + entry * (logged if i % 10 == 9 else 1),
                )
            made = replace(last, batch=i, consumed={name: Consumed(i, i + 1) for name in names})
            started = time.perf_counter()
            found = marks(root, last, made)
            times.append((time.perf_counter() - started) * 1000)
            last = replace(made, checkpoint=found)
    said = f"median {median(times):.2f} ms, mean {sum(times) / len(times):.2f}"
    return f"marks of Spark's files, {streams} streams, {logged:,} files in a compact log: {said}"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def checksums() -> str:
    """How fast a state file is checked."""
    table = duckdb.sql(
        "SELECT i AS slot, hash(i) AS k, i * 0.5 AS v FROM range(2000000) AS r(i)"
    ).to_arrow_table()
    data = packed(table)
    return f"checksum of a state file: {data.size / 1e6 / min(_ms(lambda: crc(data)) for _ in range(5)):.2f} GB/s"


def _ms(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
