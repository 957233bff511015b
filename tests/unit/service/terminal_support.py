"""A command of Thalweg in a terminal of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import termios
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from pexpect.fdpexpect import fdspawn

SIZE = (40, 160)


class Terminal(fdspawn):  # type: ignore[misc]
    """What a command prints, and what is typed for it. The tests' own process, which has threads of many libraries, is not forked."""

    def __init__(
        self, args: Sequence[str], env: Mapping[str, str], timeout: float, cwd: Path | None = None
    ) -> None:
        ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, SIZE)
        thalweg = str(Path(sys.executable).with_name("thalweg"))
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "env", "--default-signal=INT", thalweg, *args],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **env},
        )
        os.close(theirs)
        weakref.finalize(self, self.process.kill)
        super().__init__(ours, timeout=timeout, encoding="utf-8")

    def ended(self) -> int:
        """The exit code, once it has ended."""
        return self.process.wait(self.timeout)
