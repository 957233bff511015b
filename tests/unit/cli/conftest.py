"""Commands run in this process, from a directory of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from thalweg.cli.main import app

Command = Callable[..., Result]

SCRIPT = """\
CREATE STREAM bid (auction BIGINT, price BIGINT, at TIMESTAMP)
  WITH (format = 'parquet', path = 'data/bid', time = 'at', watermark = '5 seconds');
CREATE QUERY high INTO 'out/high' AS
  SELECT auction, window_id, window_end, MAX(price) AS high FROM bid
  GROUP BY auction, WINDOWS(TUMBLE '1 minute', TUMBLE '5 minutes');
"""


@pytest.fixture
def thalweg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line, in an empty current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("THALWEG_DEBUG", raising=False)
    return lambda *args: CliRunner().invoke(app, [str(a) for a in args])


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script with a stream and a query of two windows."""
    path = tmp_path / "app.sql"
    path.write_text(SCRIPT)
    return path
