"""The README's Python example runs and prints what it says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_short_session(tmp_path: Path) -> None:
    blocks = re.findall(r"```(\w*)\n(.*?)```", README.read_text(), re.DOTALL)
    place = next(i for i, (kind, _) in enumerate(blocks) if kind == "python")
    done = subprocess.run(
        [sys.executable, "-c", blocks[place][1]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == ast.literal_eval(blocks[place + 1][1])
    assert done.stderr == ""
