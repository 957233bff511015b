"""Two sessions in one process, each with two streams, and a crowd that uses both: by tests, or as a process that may be killed.

`python crowded.py ROOT SEED` goes on where a killed one was: the directories know their queries.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from thalweg import Session
from thalweg.testing.crowd import Crowd, rows
from thalweg.testing.feeds import write_batches

SESSIONS = 2
STREAMS = ("s", "r")
OPTIONS = "time = 'at', watermark = '1 second', files_per_batch = 1"
Fed = list[dict[str, pa.Table]]


def prepared(root: Path, batches: int) -> list[Fed]:
    """Write what all sessions read; returns it, a batch a dict."""
    fed = [
        [{name: rows(b, 10 * number + 5 * i) for i, name in enumerate(STREAMS)} for b in range(batches)]
        for number in range(SESSIONS)
    ]
    for number, session in enumerate(opened(root, None)):
        for name in STREAMS:
            write_batches(
                root / str(number) / name, session.catalog.streams[name], [b[name] for b in fed[number]]
            )
    return fed


def opened(root: Path, spark: Any) -> list[Session]:
    """The sessions with their streams."""
    found = []
    for number in range(SESSIONS):
        session = Session(
            root / str(number) / "run", spark=spark, master="local[2]", settings={"partitions": "2"}
        )
        for name in STREAMS:
            path = root / str(number) / name
            session.sql(
                f"CREATE STREAM {name} (k BIGINT, v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{path}', {OPTIONS})"
            )
        found.append(session)
    return found


@contextmanager
def crowds(sessions: Sequence[Session], seed: str) -> Iterator[list[Crowd]]:
    """Two people in each session: four threads in all."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(Crowd(s, f"{seed}_{i}", people=2, live=2, most=15, pause=0.3))
            for i, s in enumerate(sessions)
        ]


def run(sessions: Sequence[Session], found: Sequence[Crowd]) -> None:
    """Run all batches there are, in all sessions at once."""
    for session in sessions:
        session.start(available_now=True)
    for session in sessions:
        while not session.wait(0.2):
            for crowd in found:
                crowd.check_alive()


def main(root: Path, seed: str) -> None:
    """Go on with all sessions until there is no more to read."""
    sessions = opened(root, None)
    with crowds(sessions, seed) as found:
        run(sessions, found)
    for session in sessions:
        session.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
