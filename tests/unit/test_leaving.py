"""A process that ends, without a word, while work is done beside the batches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys, threading
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
from thalweg.testing.local import LocalSession

root = Path(sys.argv[1])
(root / "in").mkdir()
pq.write_table(pa.table({"k": [1], "at": pa.array([0], pa.timestamp("us"))}), root / "in" / "0.parquet")
session = LocalSession(root / "s")
session.sql(f"CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{root}/in', time = 'at')")
session.batch([("s", str(root / "in" / "0.parquet"))])
for n in range(3):
    windows = f"s AS a [RANGE {n + 5} SECONDS], s AS b [RANGE {n + 7} SECONDS]"
    session.query(f"SELECT a.k, COUNT(*) AS n FROM {windows} WHERE a.k = b.k GROUP BY a.k EVERY 1 SECOND")
print([t.name for t in threading.enumerate()])
"""


@pytest.mark.parametrize("tries", [2])
def test_a_process_that_ends_while_plans_are_made_ends_well(tmp_path: Path, tries: int) -> None:
    for number in range(tries):
        (root := tmp_path / str(number)).mkdir()
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(root)], capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
