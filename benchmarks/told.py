"""What telling windows while they are open costs beside their final results: processor time of batches without Spark, in turns."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.testing.local import LocalSession

ROWS, BATCHES, KEYS, TURNS = 500_000, 6, 1_000, 3
MINUTE = 60_000_000
STREAM = "CREATE STREAM bid (auction BIGINT, price BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at')"
SELECT = "SELECT auction, window_end, COUNT(*) AS bids, MAX(price) AS high FROM bid GROUP BY auction, {}"
WINDOWS = {
    "tumbling by the hour": "TUMBLE '1 hour'",
    "an hour by ten minutes": "HOP '1 hour' BY '10 minutes'",
}
WAYS = {"final": "", "every 10 minutes": " EMIT EVERY 10 MINUTES", "every minute": " EMIT EVERY 1 MINUTE"}


def main() -> None:
    """Print a line for each window: the least processor time of the turns, and how many results there were."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        paths = [_written(data / "bid", n) for n in range(BATCHES)]
        for what, window in WINDOWS.items():
            taken = dict.fromkeys(WAYS, float("inf"))
            rows = dict.fromkeys(WAYS, 0)
            for turn in range(TURNS):
                for way, emit in WAYS.items():
                    seconds, rows[way] = _ran(
                        data / f"{turn}-{way}-{what}", data / "bid", paths, window, emit
                    )
                    taken[way] = min(taken[way], seconds)
            print(f"{what}: {', '.join(f'{way} {taken[way]:.2f} s, {rows[way]:,} results' for way in WAYS)}")


def _written(folder: Path, number: int) -> str:
    """Half an hour of bids, in order."""
    folder.mkdir(exist_ok=True)
    first = number * ROWS
    table = pa.table(
        {
            "auction": pa.array(((first + i) * 7919 % KEYS for i in range(ROWS)), pa.int64()),
            "price": pa.array(((first + i) * 31 % 10_007 for i in range(ROWS)), pa.int64()),
            "at": pa.array(((first + i) * 30 * MINUTE // ROWS for i in range(ROWS)), pa.timestamp("us")),
        }
    )
    path = folder / f"{number}.parquet"
    pq.write_table(table, path)
    return str(path)


def _ran(root: Path, bids: Path, paths: list[str], window: str, emit: str) -> tuple[float, int]:
    session = LocalSession(root, 1)
    session.sql(STREAM.format(bids))
    handle = session.query(SELECT.format(window) + emit, name="q")
    started = time.process_time()
    for path in paths:
        session.batch([("bid", path)])
    seconds = time.process_time() - started
    found = handle.results().num_rows
    session.close()
    return seconds, found


if __name__ == "__main__":
    main()
