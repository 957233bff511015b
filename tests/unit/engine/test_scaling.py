"""How many partitions batches have: decided by the times of batches, within limits, without going back and forth."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from thalweg.engine.executors import Executors
from thalweg.engine.scaling import CALM, CALM_SECONDS, LONG, Limits, Load, Scale, rescaled
from thalweg.model.settings import Config, with_setting


class FakeSpark:
    """What is asked of a Spark session about its executors; each has two cores."""

    def __init__(self, master: str, alive: list[str], conf: dict[str, str]) -> None:
        self.sparkContext = self._jsc = self
        self.master, self.applicationId, self.said = master, "app-1", list[tuple[str, Any]]()
        self.defaultParallelism, self.getConf = 2 * len(alive), lambda: conf
        self.sc = lambda: self
        self._jvm = SimpleNamespace(PythonUtils=SimpleNamespace(toSeq=list, toScalaMap=dict))
        self.getExecutorIds = lambda: SimpleNamespace(mkString=lambda gap: gap.join(alive))
        self.killExecutors = lambda ids: self.said.append(("kill", ids))
        self.requestTotalExecutors = lambda n, local, hosts: self.said.append(("total", n))


LIMITS = Limits(latency=5.0, fewest=1, most=8)


def after(partitions: int, loads: list[Load], limits: Limits = LIMITS, raised_at: float | None = None) -> int:
    found = rescaled(partitions, loads, limits, raised_at)
    return partitions if found is None else found.after


def test_batches_that_take_too_long_one_after_another() -> None:
    """
    seconds  4  6  4  6  6
                         ^ two above 5
    """
    loads = [Load(s, 0.0) for s in (4, 6, 4, 6)]
    assert [after(2, loads[:n]) for n in range(5)] == [2] * 5
    found = rescaled(2, [*loads, Load(6, 0)], LIMITS)
    assert found is not None
    assert found.words == "2 to 4 partitions (batches took 6 s, more than 5 s; 3 s or more expected)"


def test_limits_hold_and_are_followed() -> None:
    long = [Load(9, 0)] * LONG
    assert after(8, long) == 8 and after(6, long) == 8
    assert after(16, []) == 8 and after(1, [], Limits(5, 3, 8)) == 3


def test_what_brought_nothing_is_not_gone_on_with() -> None:
    long = [Load(9, 0)] * LONG
    assert after(4, long, raised_at=9.5) == 4 and after(4, long, raised_at=18.0) == 8


def test_low_use_for_a_while() -> None:
    """
    a second of work, four of rest:  #....#....#....  16 times
    """
    calm = [Load(1.0, 4.0)] * CALM
    found = rescaled(4, calm, LIMITS)
    assert found is not None
    assert found.words == "4 to 2 partitions (batches took 20% of the time; 2 s a batch or less expected)"
    assert after(4, calm[1:]) == 4, "not for long enough"
    assert after(4, [Load(0.1, CALM_SECONDS / CALM / 2)] * CALM) == 4, "batches, but not seconds enough"
    assert after(4, [Load(1.0, 1.0)] * CALM) == 4, "half of the time is no low use"
    assert after(4, [Load(1.3, 9.0)] * CALM) == 4, "twice as long would be too near to the latency"
    assert after(4, [Load(1.0, 4.0)] * 8 + [Load(4, 4.0)] + [Load(1.0, 4.0)] * 7) == 4
    assert after(1, calm) == 1


@pytest.mark.parametrize("work", [0.01, 0.5, 1.0, 2.4, 4.9, 5.1, 9.0, 30.0, 300.0])
@pytest.mark.parametrize("serial", [0.0, 0.3, 1.0])
def test_a_constant_load_never_makes_it_go_back_and_forth(work: float, serial: float) -> None:
    """Batches every ten seconds whose work is divided by the partitions, but for a serial part."""
    scale, numbers = Scale(4), [4]
    for _ in range(400):
        scale.follow(with_setting(Config(), "scale.partitions", "1..8"), lambda: 4)
        numbers.append(scale.partitions)
        seconds = work * (serial + (1 - serial) / scale.partitions)
        scale.took(seconds, max(10.0 - seconds, 0.0))
    moves = [b - a for a, b in itertools.pairwise(numbers) if a != b]
    assert all(m > 0 for m in moves) or all(m < 0 for m in moves)


def test_a_number_that_is_set_is_followed_at_once() -> None:
    scale = Scale(2)
    found = scale.follow(Config(partitions=3), lambda: 2)
    assert found is not None and found.words == "2 to 3 partitions (set)" and scale.partitions == 3
    assert scale.follow(Config(partitions=3), lambda: 2) is None
    for _ in range(LONG + 1):
        scale.took(99, 0)
    assert scale.follow(Config(partitions=3), lambda: 2) is None
    assert scale.follow(Config(), lambda: 2) is not None and scale.partitions == 2, (
        "by default, the cores at most"
    )


def test_the_batch_that_cuts_state_anew_does_not_count() -> None:
    scale = Scale(1)
    for _ in range(LONG):
        scale.took(9, 0)
    assert scale.follow(Config(), lambda: 2) is None
    scale.took(9, 0)
    assert scale.follow(Config(), lambda: 2) is not None and scale.partitions == 2


def test_executors_follow_partitions_and_are_asked_for_once() -> None:
    spark = FakeSpark("spark://host:7077", ["0", "1", "10", "2"], {"spark.executor.cores": "2"})
    executors, config = Executors(lambda: spark), with_setting(Config(), "scale.executors", "1..3")
    assert executors.cores(Config()) == 8 and executors.cores(config) == 6
    executors.follow(Config(), 1)
    assert spark.said == []
    for partitions in (4, 4, 3, 6):
        executors.follow(config, partitions)
    assert spark.said == [("kill", ["2", "10"]), ("total", 2), ("kill", ["10"]), ("total", 3)]


@pytest.mark.parametrize(
    ("master", "conf"), [("local[2]", {}), ("spark://host:7077", {"spark.dynamicAllocation.enabled": "true"})]
)
def test_executors_that_are_not_ours_to_ask_for(master: str, conf: dict[str, str]) -> None:
    spark = FakeSpark(master, ["0", "1", "2"], conf)
    Executors(lambda: spark).follow(with_setting(Config(), "scale.executors", "1..2"), 1)
    assert spark.said == []
