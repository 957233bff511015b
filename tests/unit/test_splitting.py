"""Which values are split over partitions: those that would keep the others waiting, as long as they do; EXPLAIN and SHOW CHANGES say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from skewed_support import Fed, even, hot

from thalweg.optimizer.splitting import families
from thalweg.plan.grid import Split

ROWS = "SELECT a.x, b.x AS y FROM a [RANGE 5 SECONDS], b [RANGE 5 SECONDS] WHERE a.k = b.k AND a.x + b.x < 0"
RATE = 1_000


def fed(root: Path, share: float | None, query: str = ROWS, settings: str = "") -> Fed:
    values = {"k": even(500) if share is None else hot(500, share)}
    return Fed(root, {"a": values, "b": values}, query, RATE, 2, settings)


def splits(run: Fed) -> dict[str, Split | None]:
    return {f.source: f.split for f in run.session.runner.plan.fragments}


def counted(run: Fed, batches: int) -> dict[str, Split | None]:
    """What is split after some batches."""
    for _ in range(batches):
        if (ahead := run.session._running._ahead) is not None:
            ahead._looking.settle()
        run.batch()
    return splits(run)


def test_a_value_that_a_third_of_the_rows_have(tmp_path: Path) -> None:
    run = fed(tmp_path, 0.3)
    found = counted(run, 3)
    assert found["a"] is not None and found["b"] is not None
    assert found["a"].hot == found["b"].hot and len(found["a"].hot) == 1
    assert {found["a"].dealt, found["b"].dealt} == {True, False} and 1.5 < found["a"].gain <= 2
    said = str(run.session.explain("q"))
    assert (
        "1 frequent value split over all partitions, rows of " in said and " times as fast expected)" in said
    )
    (join,) = run.session.explain("q").data["joins"]
    assert join["partitioning"]["split"]["values"] == 1
    (change,) = [s for s in run.session.changes if s.split]
    assert "; split 1 frequent value of a, b (slowest partition 1." in change.what
    run.session.close()


@pytest.mark.parametrize(
    ("share", "query", "settings"),
    [
        (None, ROWS, ""),
        (0.3, ROWS, "SET plan.split = 'off';"),
        (0.3, ROWS, "SET partitions = 1;"),
        (0.3, ROWS.replace("b [RANGE", "a AS b [RANGE").replace("FROM a ", "FROM a AS a "), ""),
    ],
    ids=["no value is frequent", "off", "one partition", "a stream with itself"],
)
def test_what_is_not_split(share: float | None, query: str, settings: str, tmp_path: Path) -> None:
    run = fed(tmp_path, share, query, settings)
    assert not any(counted(run, 3).values())
    run.session.close()


def test_a_value_that_is_frequent_no_more_is_split_no_more(tmp_path: Path) -> None:
    run = fed(tmp_path, 0.3)
    assert all(counted(run, 3).values())
    run.streams = {n: {"k": even(500)} for n in "ab"}
    for _ in range(4):
        found = counted(run, 8)
        if not any(found.values()):
            break
    assert not any(found.values())
    assert run.session.changes[-1].what == "no frequent values of a, b split"
    run.session.close()


def test_joins_that_read_the_same_are_one_family(tmp_path: Path) -> None:
    run = fed(tmp_path, 0.3, settings="SET plan.sharing = 'off'; SET plan.split = 'all';")
    run.session.query(ROWS.replace("< 0", "< 1"), name="p")
    counted(run, 3)
    plan = run.session.runner.plan
    assert sorted(j.id for some in families(plan) for j in some) == sorted(j.id for j in plan.joins)
    run.session.close()
