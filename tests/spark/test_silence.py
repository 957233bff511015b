"""What a session takes of a core while nothing comes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pytest

from thalweg import Session
from thalweg.testing.feeds import write_batches

STREAM = "CREATE STREAM {0} (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{1}', time = 'at');"
QUERY = "CREATE QUERY {0}_counted AS SELECT k, COUNT(*) AS n FROM {0} GROUP BY k, TUMBLE '1 second';"
SPAN, MOST = 2.0, 0.05


def processor_seconds(root: int) -> float:
    """What a process and all that descend from it have taken so far."""
    parents, taken = dict[int, int](), dict[int, int]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(stat.parent.name)], taken[int(stat.parent.name)] = (
            int(fields[1]),
            int(fields[11]) + int(fields[12]),
        )

    def descends(pid: int) -> bool:
        return pid == root or (pid in parents and descends(parents[pid]))

    return sum(t for pid, t in taken.items() if descends(pid)) / os.sysconf("SC_CLK_TCK")


def usual(shares: Sequence[float]) -> float:
    """The middle of the last few."""
    return median(shares[-3:]) if len(shares) >= 3 else 1.0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor times from /proc")
@pytest.mark.timeout(180)
def test_silent_streams_take_little_of_a_core(spark: Any, tmp_path: Path) -> None:
    with Session(tmp_path / "run", spark=spark) as session:
        for name in ("a", "b", "c"):
            session.sql(STREAM.format(name, tmp_path / name) + QUERY.format(name))
            stream = session.catalog.streams[name]
            write_batches(
                tmp_path / name, stream, [pa.table({"k": [1], "at": pa.array([0], pa.timestamp("us"))})]
            )
        session.start()
        shares, deadline = list[float](), time.monotonic() + 90
        while time.monotonic() < deadline and usual(shares) > MOST:
            before, started = processor_seconds(os.getpid()), time.monotonic()
            time.sleep(SPAN)
            shares.append((processor_seconds(os.getpid()) - before) / (time.monotonic() - started))
        assert usual(shares) <= MOST, shares
