"""Groups by few keys that begin with those by more: results are those of the definition, wherever they come from, while queries come and go."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as hs
from test_mixed_workloads import Run, rows

KEYS = ("k", "v % 3", "v % 2")
WINDOWS = (
    "TUMBLE '1 second'", "TUMBLE '2 seconds'", "TUMBLE '2 seconds' OFFSET '1 second'", "HOP '4 seconds' BY '2 seconds'",
    "HOP '3 seconds' BY '2 seconds'", "WINDOWS(TUMBLE '2 seconds', HOP '6 seconds' BY '1 second')",
)  # fmt: skip
CALLS = (
    "COUNT(*) AS n", "COUNT(*) AS n, SUM(v) AS total", "MIN(v) AS low, MAX(v) AS high, COUNT(v) AS some", "AVG(v) AS mean, SUM(k) AS ks",
    "COUNT(DISTINCT v) AS different, SUM(v) AS total", "FIRST(v) AS first, STDDEV_POP(v) AS spread", "COLLECT_LIST(v) AS every",
)  # fmt: skip
WHERE = ("", "", "WHERE v > 3")


@hs.composite
def selects(draw: hs.DrawFn) -> str:
    """Groups by some keys; calls and windows are few, so that many have the same."""
    keys = draw(hs.lists(hs.sampled_from(KEYS), unique=True, max_size=3))
    calls, window = draw(hs.sampled_from(CALLS)), draw(hs.sampled_from(WINDOWS))
    shown = [f"{key} AS x{n}" for n, key in enumerate(keys)]
    by = ", ".join([*keys, window])
    return f"SELECT {', '.join([*shown, calls, 'window_id', 'window_end'])} FROM s {draw(hs.sampled_from(WHERE))} GROUP BY {by}"


class OneStream(Run):
    """A session over one stream."""

    names = ("s",)


@given(data=hs.data(), seed=hs.integers(0, 10**6), wish=hs.sampled_from(["all", "all", "best"]))
def test_rolled_up_groups_are_those_of_the_rows(
    data: hs.DataObject, seed: int, wish: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    random, run = Random(seed), OneStream(tmp_path_factory.mktemp("rolled"), 2)
    run.session.sql(f"SET plan.rollup = {wish}")
    for select in data.draw(hs.lists(selects(), min_size=2, max_size=4)):
        run.create(select)
    for n in range(5):
        match data.draw(hs.sampled_from(["", "", "create", "drop", "set", "restart"])):
            case "create":
                run.create(data.draw(selects()))
            case "drop" if len(run.live) > 1:
                run.drop(data.draw(hs.sampled_from(run.live)))
            case "set":
                run.session.sql(f"SET plan.rollup = {data.draw(hs.sampled_from(['off', 'all', 'best']))}")
            case "restart":
                run.restart(1 + n % 3)
        run.feed({"s": rows(random, 2 * n, 20)})
    run.check()
    run.session.close()
