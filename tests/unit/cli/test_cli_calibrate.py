"""`thalweg calibrate` measures this machine, keeps what it found, and sessions plan by it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from thalweg.cli.main import app
from thalweg.model.settings import Config
from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.cost.calibration import Constants, JoinConstants
from thalweg.optimizer.planner import WindowPlanner
from thalweg.optimizer.traits import Traits
from thalweg.plan.groups import Group
from thalweg.statistics.constants import calibration_file, join_constants, save, window_constants


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THALWEG_HOME", str(tmp_path / "home"))


def test_what_is_measured_is_kept_and_used() -> None:
    said = CliRunner().invoke(app, ["calibrate", "--json"])
    assert said.exit_code == 0, said.output
    found = json.loads(said.output)
    windows = found.pop("windows")
    assert all(v > 0 for v in (*found.values(), *windows.values()))
    assert asdict(join_constants()) == found
    assert asdict(window_constants()) == windows and windows["row"] == 1.0 and windows != asdict(Constants())


def test_a_machine_that_was_never_measured_has_the_defaults() -> None:
    assert join_constants() == JoinConstants() and window_constants() == Constants()


def test_windows_are_planned_by_what_their_steps_take_here() -> None:
    """Where a statement takes long, no step is worth it that two windows could do without."""
    seconds = [Window(n * SECOND, n * SECOND) for n in (2, 3)]
    planner, group = WindowPlanner(Config()), Group("s", (), ())
    before = planner.forest(group, seconds, Traits(overlap_safe=True))
    cost = planner.cost(group, before, Traits())
    save(JoinConstants(), Constants(step=1e6))
    after = planner.forest(group, seconds, Traits(overlap_safe=True))
    assert (len(before), len(after)) == (3, 2)
    assert cost < planner.cost(group, after, Traits()) < planner.cost(group, before, Traits())


def test_constants_of_joins_alone_leave_those_of_windows_as_they_are() -> None:
    save(JoinConstants(pair=1.0))
    assert window_constants() == Constants() and join_constants().pair == 1.0


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"pair": "x"}'])
def test_a_file_that_can_not_be_read_says_nothing(text: str) -> None:
    save(JoinConstants(pair=1.0))
    calibration_file().write_text(text)
    assert join_constants() == JoinConstants()
