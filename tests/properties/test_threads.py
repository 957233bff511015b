"""Two sessions in one process, batches in a thread of each, and threads that change, explain and read both all the time, without Spark."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from thalweg.testing.crowd import Crowd, check_lives, rows
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalSession

BATCHES = 14
COLUMNS = "k BIGINT, v BIGINT, at TIMESTAMP"
STREAM = (
    "CREATE STREAM {0} ({2}) WITH (format = 'parquet', path = '{1}', time = 'at', watermark = '1 second');"
)


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
        self.crowd = Crowd(self.session, number, people=2, pause=0.05)
        self.errors: list[BaseException] = []
        self.thread = threading.Thread(target=self._run, name=f"batches-{number}")

    def _run(self) -> None:
        try:
            for batch in range(BATCHES):
                self._wait_for_people(batch)
                self.session.batch([(name, str(files[batch])) for name, files in self.files.items()])
        except BaseException as e:
            self.errors.append(e)

    def _wait_for_people(self, batch: int) -> None:
        """However fast batches are, there are queries to run: one more for each of the first batches, and a few acts between any two."""
        deadline = time.monotonic() + 20
        while not self.crowd.errors and time.monotonic() < deadline:
            if len(self.crowd.made) >= min(batch, 5) and sum(self.crowd.done.values()) >= 3 * batch:
                return
            time.sleep(0.005)


@pytest.mark.timeout(120)
def test_queries_come_and_go_from_many_threads(tmp_path: Path) -> None:
    runs = [Run(tmp_path / str(i), i) for i in range(2)]
    with ExitStack() as stack:
        for run in runs:
            stack.enter_context(run.crowd)
            run.thread.start()
        for run in runs:
            run.thread.join()
            assert not run.errors, run.errors
    for run in runs:
        ran = [q for q in run.crowd.made if q.epoch is not None]
        assert len(ran) >= 3 and any(q.epoch for q in ran)
        assert check_lives(run.crowd.made, run.session.catalog.streams, run.fed) > 0
