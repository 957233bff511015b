"""Window sets, plans, boosts, regrets and correlations of the factor-windows benchmark."""

import math
from io import StringIO
from pathlib import Path

import pytest
from benchmarks.against_native import Contest, ratios
from benchmarks.boosts import Boost, boost, correlation, points, rank_correlation, reading, regret, whole
from benchmarks.data import Feed
from benchmarks.paper_tables import EVERY_ROW, REAL, ROWS, TABLE_II
from benchmarks.plan_figures import (
    PlanFigures,
    SetFigures,
    forest_of,
    meaning,
    paper_cost,
    plan_of,
    predictions,
)
from benchmarks.spec import Run, tumbling
from benchmarks.window_rows import paper_sets, random_lengths, rows_named
from rich.console import Console

from benchmarks import factor_report, plots
from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.traits import Traits


def plan(mode: str, lift: float, batch: float, same_as: str | None = None, cost: float = 1.0) -> PlanFigures:
    return PlanFigures(
        mode,
        same_as or mode,
        3,
        1,
        1,
        0.5,
        {"paper": cost, "paper at our rate": cost, "engine": cost},
        {"scan": 1, "lift": lift},
        batch,
    )


def figures(
    naive: float, best: float, times: int = 1, row: str = "S-5-tumbling", number: int = 0
) -> SetFigures:
    plans = {
        "naive": plan("naive", naive, naive * 2, cost=naive),
        "shared": plan("shared", naive, naive * 2, "naive"),
        "paper": plan("paper", best * 2, best * 4, cost=best * 2),
        "best": plan("best", best, best * 4, cost=best),
        "slices": plan("slices", best, best * 4, "best"),
    }
    return SetFigures(row, number, times, "MIN", ("4 seconds", "6 seconds"), plans, 10, {})


def test_a_boost_counts_a_set_as_often_as_it_was_drawn():
    sets = [figures(39, 9, times=3), figures(19, 9)]
    assert boost(sets, "best", reading) == Boost(mean=(3 * 4 + 2) / 4, highest=4)
    assert boost(sets, "best").highest == 39 / 9
    assert boost(sets, "best", whole).highest == 78 / 36
    assert boost(sets, "shared") == Boost(1, 1)


def test_a_regret_is_a_ratio_of_times():
    assert regret(figures(39, 9), "best", "naive") == 9 / 39
    assert regret(figures(39, 9), "shared", "naive") == 1


def test_the_same_plan_is_one_point():
    assert points([figures(39, 9)], "paper") == [(39, 39), (18, 18), (9, 9)]


def test_correlations():
    assert correlation([(1, 3), (2, 2), (3, 1)]) == -1
    assert rank_correlation([(1, 1), (2, 1), (3, 5)]) == pytest.approx(0.866, abs=1e-3)
    assert math.isnan(correlation([(1, 1), (1, 2)])) and math.isnan(rank_correlation([]))


def test_rows_are_those_of_the_paper():
    assert len(ROWS) == 16 and rows_named("R-20") == ["R-20-tumbling", "R-20-hopping"]
    assert ROWS["S-20-tumbling"].paper_mean == 14.28 and ROWS["R-20-hopping"].paper_mean == 4.23
    for row in ROWS:
        sets = list(paper_sets(row, 10))
        assert sum(s.times for s in sets) == 10
        assert all(len(set(s.windows)) == int(row.split("-")[1]) for s in sets)
        assert all(
            w.tumbling == ("tumbling" in row) and w.range % SECOND == 0 for s in sets for w in s.windows
        )


def test_rows_of_readings_have_the_sets_of_table_two():
    assert rows_named("R-10", TABLE_II) == ["R-10-tumbling", "R-10-hopping"]
    (one, *_), (other, *_) = (paper_sets(row, 2) for row in ("S-5-hopping", REAL + "S-5-hopping"))
    assert one.windows == other.windows and EVERY_ROW[other.row].paper_mean == 1.22


def test_random_lengths_are_between_one_and_twenty_seconds():
    windows = random_lengths(100).windows
    assert len(set(windows)) == 100 and all(SECOND <= w.range < 20 * SECOND for w in windows)


def planned(mode: str, windows: tuple[Window, ...], directory: str = "/nowhere") -> Run:
    return Run("thalweg_engine", directory, windows, 1, 1_000, 0, 1, settings={"plan.windows": mode})


def test_plans_are_those_of_the_session_and_cost_what_the_paper_says(tmp_path: Path):
    """Example 6 of the paper: windows of 10, 20, 30 and 40, 480 events in 120 units from the rows, 150 by algorithm 1."""
    windows = tumbling(4, 10)
    naive, shared = (
        forest_of(plan_of(planned(mode, windows, str(tmp_path)))[0]) for mode in ("naive", "shared")
    )
    assert paper_cost(naive, 1) == 480 / 120 and paper_cost(shared, 1) == 150 / 120
    assert predictions(naive, Traits(overlap_safe=True), Feed(1_000), 1_000)["paper at our rate"] == 4_000


def test_a_plan_is_the_same_wherever_it_reads_and_writes(tmp_path: Path):
    made = [plan_of(planned("naive", tumbling(2), str(tmp_path / name)))[0] for name in "ab"]
    other = plan_of(planned("shared", tumbling(2), str(tmp_path / "c")))[0]
    assert made[0] != made[1] and meaning(made[0]) == meaning(made[1]) != meaning(other)


def test_tables_and_plots_show_the_figures(tmp_path: Path):
    sets = [figures(39, 9), figures(390, 9, row="lengths-10")]
    out = StringIO()
    factor_report.show(sets, [], 5.0, Console(file=out, width=220))
    text = out.getvalue()
    assert "4.28 / 4.81" in text and "4.33 / 4.33" in text and "0.23" in text
    plots.boosts(sets, tmp_path / "boosts.png")
    plots.costs(sets, tmp_path / "costs.png")
    assert {p.name for p in tmp_path.iterdir()} == {"boosts.png", "costs.png"}
    assert factor_report.as_data(sets, [])["rows"][0]["boosts"]["steps"]["best"] == pytest.approx(
        {"mean": 39 / 9, "highest": 39 / 9}
    )


def test_what_did_not_end_is_a_bound_without_a_verdict():
    ours = Contest("sliding", "MIN", "thalweg_engine", None, None, 5_000_000.0)
    slow = Contest("sliding", "MIN", "spark_union", None, "not ended in 900 s", 1_000.0)
    broken = Contest("sliding", "MIN", "spark_exploded", None, "out of memory")
    (_, _, bound), (_, _, unknown) = ratios([ours, slow, broken])
    assert bound is not None and (bound.value, bound.target) == (5_000, None) and unknown is None
    assert "not ended in 900 s" in "".join(map(str, factor_report._contests([ours, slow, broken])))
