"""The shell over a session of its own, in a terminal of its own: batches run while one writes; what was created is there again."""

from __future__ import annotations

from pathlib import Path

import pexpect
import pyarrow as pa
import pyarrow.parquet as pq
from terminal_support import Terminal

SECOND = 1_000_000
PROMPT = "thalweg>"
STREAM = "CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'in', time = 'at');"


def rows_come(folder: Path, second: int) -> None:
    """A file with two rows of each of two seconds."""
    times = pa.array([(second + i // 2) * SECOND + i for i in range(4)], pa.timestamp("us"))
    hidden = folder / f".{second}.parquet"
    pq.write_table(pa.table({"k": [1, 1, 2, 2], "at": times}), hidden)
    hidden.rename(folder / f"{second}.parquet")


def opened(root: Path) -> Terminal:
    """The shell on a directory."""
    home = {"THALWEG_HOME": str(root / "home")}
    return Terminal(["shell", "--dir", "run"], home, timeout=120, cwd=root)


def test_a_session_of_ones_own_runs_behind_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows_come(tmp_path / "in", 0)
    shell = opened(tmp_path)
    shell.expect_exact(PROMPT)
    shell.send(f"{STREAM}\r")
    shell.expect_exact("stream s declared")
    shell.expect_exact(PROMPT)
    shell.send("CREATE QUERY counts AS SELECT window_end, COUNT(*) AS n FROM s GROUP BY TUMBLE '1 second';\r")
    shell.expect_exact("query counts created")
    shell.expect_exact(PROMPT)
    shell.send("\\f counts\r")
    shell.expect_exact("Ctrl-C ends this")
    rows_come(tmp_path / "in", 2)
    shell.expect_exact("00:00:02")
    shell.send("\x03")
    shell.expect_exact(PROMPT)
    rows_come(tmp_path / "in", 4)
    shell.send("\\f counts\r")
    shell.expect_exact("00:00:04")  # Ctrl-C has stopped the following, not the batches
    shell.send("\x03")
    shell.expect_exact(PROMPT)
    shell.send("\\q\r")
    shell.expect(pexpect.EOF)
    assert shell.ended() == 0
    again = opened(tmp_path)
    again.expect_exact(PROMPT)
    again.send("\\r counts 9\r")
    again.expect_exact("(5 of 5 rows)")
    again.send("DROP QUERY counts;\r")
    again.expect_exact("query counts dropped")
    again.send("\\q\r")
    again.expect(pexpect.EOF)
    assert again.ended() == 0
