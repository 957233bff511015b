"""`thalweg calibrate` measures this machine, keeps what it found, and sessions plan by it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg.cli.main import app
from thalweg.optimizer.cost.calibration import JoinConstants
from thalweg.statistics.constants import calibration_file, join_constants, save


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_HOME", str(tmp_path / "home"))


def test_what_is_measured_is_kept_and_used() -> None:
    said = CliRunner().invoke(app, ["calibrate", "--json"])
    assert said.exit_code == 0, said.output
    found = json.loads(said.output)
    assert all(v > 0 for v in found.values())
    assert asdict(join_constants()) == found


def test_a_machine_that_was_never_measured_has_the_defaults() -> None:
    assert join_constants() == JoinConstants()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"pair": "x"}'])
def test_a_file_that_can_not_be_read_says_nothing(text: str) -> None:
    save(JoinConstants(pair=1.0))
    calibration_file().write_text(text)
    assert join_constants() == JoinConstants()
