"""Plans are written as what changed, and read as they were, whatever the order of their parts was when they were made."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from thalweg.plan.nodes import Emission, Plan
from thalweg.state.local import LocalStore
from thalweg.state.plans import PlanLog, plan_at

A, B, C = (Emission(name, (f"n{name}",)) for name in "abc")


@pytest.mark.parametrize("order", list(permutations((A, B, C))))
def test_what_ended_is_what_is_gone(tmp_path: Path, order: tuple[Emission, ...]) -> None:
    log = PlanLog(LocalStore(tmp_path))
    steps = [(A, B, C), order, (B, C), (C, B, A), (A,)]
    for batch, emissions in enumerate(steps):
        name = log.write(Plan(emissions=emissions), batch)
        for read in (plan_at(tmp_path / name), PlanLog(LocalStore(tmp_path)).read(name)):
            assert set(read.emissions) == set(emissions) and len(read.emissions) == len(emissions)
