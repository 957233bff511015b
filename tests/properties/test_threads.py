"""Two sessions in one process, batches in a thread of each, and threads that change, explain and read both all the time, without Spark."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest

from thalweg.testing.crowd import Crowd, check_lives
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

SECOND = 1_000_000
BATCHES = 14
COLUMNS = "k BIGINT, v BIGINT, at TIMESTAMP"
STREAM = "CREATE STREAM {0} ({2}) WITH (format = 'parquet', path = '{1}', time = 'at', watermark = '1 second');"


def rows(batch: int, shift: int, count: int = 40) -> pa.Table:
    """Two seconds of a stream, out of order within its watermark; no two batches and streams have the same rows."""
    ticks = [2 * batch * SECOND + shift * 1_000 + (i * 37 % count) * (2 * SECOND // count) - (i % 7 == 0) * 300_000 for i in range(count)]
    values = [(i * 7 + batch * 3 + shift) % 23 for i in range(count)]
    return pa.table({"k": [i % 5 for i in range(count)], "v": values, "at": pa.array(ticks, pa.timestamp("us"))})


class Run:
    """A session with two streams, and a thread that feeds it."""

    def __init__(self, root: Path, number: int) -> None:
        self.session = LocalSession(root / "run", partitions=2)
        self.fed = [{"s": rows(b, number), "r": rows(b, number + 5)} for b in range(BATCHES)]
        self.files: dict[str, list[Path]] = {}
        for name in ("s", "r"):
            self.session.sql(STREAM.format(name, root / name, COLUMNS))
            write_batches(root / name, self.session.catalog.streams[name], [b[name] for b in self.fed])
            self.files[name] = sorted((root / name).glob("*.parquet"))
        self.errors: list[BaseException] = []
        self.thread = threading.Thread(target=self._run, name=f"batches-{number}")

    def _run(self) -> None:
        try:
            for batch in range(BATCHES):
                self.session.batch([(name, str(files[batch])) for name, files in self.files.items()])
        except BaseException as e:
            self.errors.append(e)


@pytest.mark.timeout(120)
def test_queries_come_and_go_from_many_threads(tmp_path: Path) -> None:
    runs = [Run(tmp_path / str(i), i) for i in range(2)]
    with ExitStack() as stack:
        crowds = [stack.enter_context(Crowd(r.session, i, people=2, pause=0.05)) for i, r in enumerate(runs)]
        for run in runs:
            run.thread.start()
        for run in runs:
            run.thread.join()
            assert not run.errors, run.errors
    for run, crowd in zip(runs, crowds, strict=True):
        ran = [q for q in crowd.made if q.epoch is not None]
        assert len(ran) >= 3 and any(q.epoch for q in ran)
        assert check_lives(crowd.made, run.session.catalog.streams, run.fed) > 0
