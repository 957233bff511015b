"""What it saves that groups by fewer keys begin with those by more: processor time of batches in this process, with and without, in turns."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.testing.local import LocalSession

ROWS, BATCHES, TURNS = 1_000_000, 3, 3
STREAM = "CREATE STREAM s (a BIGINT, b BIGINT, c BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at');"
BY = "SELECT {keys}, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS high, window_end FROM s GROUP BY {by}, TUMBLE '10 seconds'"
WORKLOADS = {
    "ROLLUP(a, b, c)": [BY.format(keys="a, b, c", by="ROLLUP(a, b, c)")],
    "CUBE(a, b, c)": [BY.format(keys="a, b, c", by="CUBE(a, b, c)")],
    "a, b, c; a, b; b; c": [BY.format(keys=k, by=k) for k in ("a, b, c", "a, b", "b", "c")],
}
SPREADS = {"few groups": (20, 10, 5), "many groups": (2000, 50, 20)}


def main() -> None:
    """A line for each workload and spread of keys."""
    for spread, sizes in SPREADS.items():
        with tempfile.TemporaryDirectory() as folder:
            (rows := Path(folder) / "rows").mkdir()
            files = [_file(rows / f"{n}.parquet", n, sizes) for n in range(BATCHES)]
            for name, queries in WORKLOADS.items():
                best = dict.fromkeys(("off", "best", "all"), 1000000000.0)
                found = {}
                for turn in range(TURNS):
                    for wish in best:
                        seconds, found[wish] = _run(
                            Path(folder) / f"{name[:1]}{turn}{wish}", files, queries, wish
                        )
                        best[wish] = min(best[wish], seconds)
                assert found["off"] == found["best"] == found["all"], "results differ"
                times = ", ".join(f"{wish} {1000 * s:.0f} ms" for wish, s in best.items())
                print(
                    f"{spread}, {name}: {times} a batch; best is {best['off'] / best['best']:.2f} times off"
                )


def _file(path: Path, number: int, sizes: tuple[int, ...]) -> str:
    random = np.random.default_rng(number)
    at = np.sort(random.integers(number * 60_000_000, (number + 1) * 60_000_000, ROWS))
    keys = {name: random.integers(0, size, ROWS) for name, size in zip("abc", sizes, strict=True)}
    table = pa.table({**keys, "v": random.integers(0, 1000, ROWS), "at": pa.array(at, pa.timestamp("us"))})
    pq.write_table(table, path)
    return str(path)


def _run(root: Path, files: list[str], queries: list[str], wish: str) -> tuple[float, list[int]]:
    """The processor time of the later batches, for each of them, and how many results there are of each query."""
    with LocalSession(root, 2) as session:
        session.sql(STREAM.format(Path(files[0]).parent))
        session.sql(f"SET plan.rollup = {wish}")
        handles = [session.query(text, name=f"q{n}") for n, text in enumerate(queries)]
        started = 0.0
        for n, file in enumerate(files):
            started = time.process_time() if n == 1 else started
            session.batch([("s", file)])
        seconds = (time.process_time() - started) / (len(files) - 1)
        return seconds, [hash(tuple(sorted(map(str, h.results().to_pylist())))) for h in handles]


if __name__ == "__main__":
    main()
