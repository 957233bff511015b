"""Optimization is fast: under 100 ms for 20 windows and under 1 s for 200. Bounds here are wide, for machines under load."""

from random import Random
from time import process_time

import pytest

from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.plan_windows import plan_windows
from thalweg.optimizer.traits import Traits
from thalweg.optimizer.window_sets import random_gen, sequential_gen
from thalweg.statistics.records import WindowStatistics

BUSY = WindowStatistics(rate=10_000, keys=100, batch=500 * SECOND)
AGGREGATES = {"MIN": Traits(overlap_safe=True), "SUM": Traits(invertible=True), "VARIANCE": Traits()}
LIMITS = {20: 0.3, 200: 3.0}
DASHBOARD = (
    1,
    2,
    3,
    5,
    6,
    10,
    12,
    15,
    20,
    30,
    60,
    90,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    14400,
    21600,
    28800,
    43200,
    86400,
)


def window_set(kind: str, n: int) -> list[Window]:
    random = Random(5)
    if kind.startswith(("random", "sequential")):
        generate = random_gen if kind.startswith("random") else sequential_gen
        return list(generate(n, kind.endswith("tumbling"), seed=1, k=50 if n <= 20 else 500, unit=SECOND))
    if kind == "real lengths":
        return [
            Window(random.randint(10 * SECOND, 20 * SECOND), random.randint(SECOND, 10 * SECOND))
            for _ in range(n)
        ]
    if kind == "dashboard":
        pairs = [sorted(random.choices(DASHBOARD, k=2)) for _ in range(n)]
    else:
        pairs = [sorted((random.randint(1, 86_400), random.randint(1, 86_400))) for _ in range(n)]
    return [Window(r * SECOND, s * SECOND, random.choice((0, 0, SECOND))) for s, r in pairs]


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("n", LIMITS)
@pytest.mark.parametrize(
    "kind",
    [
        "random tumbling",
        "random hopping",
        "sequential tumbling",
        "sequential hopping",
        "real lengths",
        "dashboard",
        "any seconds to a day",
    ],
)
def test_optimization_time(kind: str, n: int, aggregate: str) -> None:
    windows = window_set(kind, n)
    for mode, known in (("shared", None), ("paper", None), ("best", None), ("best", BUSY)):
        start = process_time()
        plan_windows(windows, AGGREGATES[aggregate], mode, known)  # type: ignore[arg-type]
        assert process_time() - start < LIMITS[n], (mode, known)
