"""The shell in a terminal of its own, over a service."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from service_support import SUMS, WRITER, Served
from terminal_support import Terminal

TAB, CTRL_C, CTRL_D, UP = "\t", "\x03", "\x04", "\x1b[A"
PROMPT = "thalweg>"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        yield made


def opened(served: Served, home: Path) -> Terminal:
    """The shell, at its prompt."""
    link = f"{served.url}/#token={WRITER}"
    shell = Terminal(["shell", "--url", link], {"THALWEG_HOME": str(home)}, timeout=60)
    shell.expect_exact(PROMPT)
    return shell


def test_statements_are_written_completed_followed_and_remembered(served: Served, tmp_path: Path) -> None:
    shell = opened(served, tmp_path / "home")
    shell.send("CREATE QUERY sums AS\r")
    shell.expect_exact("...")
    shell.send(f"{SUMS};\r")
    shell.expect_exact("query sums created")
    shell.expect_exact(PROMPT)
    served.batch()
    shell.send("SELECT w FROM s GROUP BY k, TUMBLE '1 second';\r")
    shell.expect_exact("^^^^^^")
    shell.expect_exact(PROMPT)
    shell.send("\\d su" + TAB)
    shell.expect_exact("ms")
    shell.send("\r")
    shell.expect_exact("query sums")
    shell.expect_exact("window_end")
    shell.expect_exact(PROMPT)
    shell.send("\\f sums\r")
    shell.expect_exact("Ctrl-C ends this")
    served.batch()
    shell.expect_exact("00:00:03")
    shell.send(CTRL_C)
    shell.expect_exact(PROMPT)
    shell.send("half a state" + CTRL_C)
    shell.expect_exact(PROMPT)
    shell.send("\\r sums 2\r")
    shell.expect_exact("(2 of 9 rows)")
    shell.expect_exact(PROMPT)
    shell.send(CTRL_D)
    shell.expect(pexpect.EOF)
    assert shell.ended() == 0 and [q["name"] for q in served.get("/v1/queries")] == ["sums"]
    again = opened(served, tmp_path / "home")
    again.send(UP)
    again.expect_exact("sums")
    again.send("\r")
    again.expect_exact("(2 of 9 rows)")
    again.send("\\q\r")
    again.expect(pexpect.EOF)
    assert again.ended() == 0


def test_a_piped_script_ends_with_its_first_error(served: Served) -> None:
    thalweg, link = Path(sys.executable).with_name("thalweg"), f"{served.url}/#token={WRITER}"
    done = subprocess.run(
        [thalweg, "shell", "--url", link],
        input="SHOW STREAMS;\nDROP QUERY\n nothing;\nSHOW STREAMS;",
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 1 and done.stdout.count("watermark") == 1
    assert "no query named nothing (at 1:1)" in done.stderr
