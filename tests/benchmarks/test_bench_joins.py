"""Points, plans, checks and figures of the join benchmarks."""

import json
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from benchmarks.join_check import Agreement, groups_agree, rows_agree
from benchmarks.join_data import JoinFeed, files, place, rows_sql
from benchmarks.join_engine import fingerprint, run_plan
from benchmarks.join_figures import PlanFigures, PointFigures, kendall, summary
from benchmarks.join_free import FreeFigures, drawn
from benchmarks.join_native import Contest, Entrant
from benchmarks.join_points import Given, Point, join_query
from benchmarks.join_run import JoinOutcome, JoinRun, outcome_of
from benchmarks.join_settings import SETTINGS, SHOWCASES, showcase_points, sweep_points
from benchmarks.spec import Batch
from rich.console import Console

from benchmarks import join_incremental, join_native, join_plots, join_streams, join_sweeps, joins
from thalweg.model.settings import EVALUATIONS, Config
from thalweg.testing.comparison import compare
from thalweg.testing.reference_joins import reference_join

SMALL = Point("figure 6 groups", 3, (Given(20, 4, 3), Given(20, 4)), 5, 4, 4, 4)


def figures(
    point: Point, times: dict[str, tuple[float, float]], differing: tuple[str, ...] = ()
) -> PointFigures:
    return PointFigures(
        point, {p: PlanFigures(c, c, ms, {"snapshot": ms}, 10) for p, (c, ms) in times.items()}, 7, differing
    )


def test_a_stream_is_the_same_rows_in_any_split(tmp_path: Path):
    feed = JoinFeed(100, 7, 3)
    whole = duckdb.sql(rows_sql(feed, 0, 10)).to_arrow_table()
    cut = pq.read_table(files(feed, (2.0, 3.0, 5.0), tmp_path))
    assert whole.num_rows == 1_000 and fingerprint(cut) == fingerprint(whole)
    assert set(whole.column("k").to_pylist()) == set(range(7)) and set(whole.column("g").to_pylist()) == set(
        range(3)
    )
    assert fingerprint(duckdb.sql(rows_sql(replace(feed, seed=2), 0, 10)).to_arrow_table()) != fingerprint(
        whole
    )


def test_a_point_asks_for_what_it_says():
    assert SMALL.select == (
        "SELECT a.g AS g0, window_end, COUNT(*) AS n, SUM(a.x) AS first, SUM(b.x) AS second "
        "FROM s0 AS a [TUMBLE 4 SECONDS], s1 AS b [TUMBLE 4 SECONDS] WHERE a.k = b.k GROUP BY a.g EVERY 4 SECONDS"
    )
    assert (
        "[RANGE 4 SECONDS]" in replace(SMALL, every=2).select
        and "EVERY" not in replace(SMALL, every=0).select
    )
    assert [i.sets for i in SMALL.statistics.inputs] == [15, 5] and SMALL.statistics.groups == 3
    assert SMALL.plans == ("LAP", "EAP01", "EAP10", "EAP11")


def test_the_points_are_those_of_the_paper():
    points = list(sweep_points(quick=False))
    assert {s.figure for s in SETTINGS} == {
        "figure 6",
        "figure 7",
        "figure 8",
        "figure 9",
        "figure 6, sliding",
    }
    assert len(points) == 5 * 19 and len(list(sweep_points(quick=True))) < 70
    default = next(p for p in points if p.figure == "figure 6 rate" and p.value == 1)
    first = default.inputs[0]
    matches, part = (
        first.rate * first.window / default.keys,
        first.groups * default.keys / (first.rate * first.window),
    )
    assert (matches, part) == (5_000 * 0.1, 150 / 0.1 / 5_000)
    for point in (*points, *showcase_points(quick=False)):
        join_query(point)


def test_a_showcase_is_for_the_plan_that_is_predicted_cheapest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("THALWEG_HOME", str(tmp_path))  # the default constants, whatever this machine's are
    points = [p for p in showcase_points(quick=True) if p.method == "hash"]
    assert len(points) == len(SHOWCASES["hash"])
    for point in points:
        costs = {p: join_sweeps.predicted(point, p) for p in point.plans}
        assert min(costs, key=costs.__getitem__) == point.figure.split()[3]


def test_kendall_counts_agreements():
    assert kendall([(1, 1), (2, 2), (3, 3), (4, 4)]) == 1 and kendall([(1, 4), (2, 3), (3, 2), (4, 1)]) == -1
    assert kendall([(1, 1), (1, 2), (2, 3)]) == pytest.approx(2 / 3)
    assert kendall([(1, 100), (2, 101)], noise=0.05) is None and kendall([(1, 100)]) is None


def test_regret_and_wins():
    good = figures(SMALL, {"LAP": (9, 90), "EAP01": (2, 20), "EAP10": (8, 80), "EAP11": (1, 10)})
    bad = figures(SMALL, {"LAP": (9, 30), "EAP01": (1, 15), "EAP10": (8, 20), "EAP11": (2, 10)}, ("EAP11",))
    assert (good.chosen, good.regret, good.tau()) == ("EAP11", 1, 1) and (
        bad.chosen,
        bad.best,
        bad.regret,
    ) == ("EAP01", "EAP11", 1.5)
    found = summary([good, bad])
    assert (
        found.mean_regret == 1.25
        and found.worst_regret == 1.5
        and not found.reached
        and summary([good]).reached
    )
    assert found.wins == {"EAP11": 2} and found.differing == 1


@pytest.mark.parametrize("evaluate", ["snapshot", "expiry"])
@pytest.mark.parametrize("method", ["hash", "loop"])
def test_plans_run_and_equal_the_definition(tmp_path: Path, evaluate: str, method: str):
    point = replace(SMALL, evaluate=evaluate, method=method, every=4 if evaluate == "snapshot" else 2)
    found = {plan: run_plan(point, join_sweeps.config_of(point, plan), tmp_path) for plan in point.plans}
    paths = [files(f, point.spans, tmp_path / "data") for f in point.feeds]
    batches = [{f"s{n}": pq.read_table(p) for n, p in enumerate(row)} for row in zip(*paths, strict=True)]
    expected = reference_join(join_query(point), point.bound().streams, batches)
    assert expected.num_rows > 0
    for run in found.values():
        compare(run.rows, expected)
        assert run.ms > 0 and len(run.batches) == 3 and "scan" in run.batches[0].steps
        assert fingerprint(run.rows) == fingerprint(expected)


def test_row_joins_run_by_both_methods_and_all_strategies(tmp_path: Path):
    point = join_streams.rows_point("figure 4: rate", 1, (5, 5), keys=4)
    runs = [run_plan(point, Config(join=m), tmp_path, n) for m in join_streams.METHODS for n in (1, 3)]
    assert len({fingerprint(r.rows) for r in runs}) == 1 and runs[0].rows.num_rows > 0
    assert join_streams.paper_cost(point, 1) > join_streams.paper_cost(point, 4)


def test_expiry_is_compared_with_joining_again():
    def figure(plan: str, evaluate: str, ms: float) -> join_incremental.EvaluationFigures:
        return join_incremental.EvaluationFigures(
            f"{join_incremental.MAX}, few keys", 1_000, plan, evaluate, 1, ms, 1, 1, 1, False
        )

    times = {
        "LAP": {"again": 60, "snapshot": 30, "expiry": 10},
        "EAP11": {"again": 20, "snapshot": 20, "expiry": 5},
    }
    found = join_incremental.max_ratios(
        [figure(plan, evaluate, ms) for plan, own in times.items() for evaluate, ms in own.items()]
    )
    assert [(r.value, r.reached) for r in found] == [(6, True), (3, None), (4, None), (4, None), (4, None)]


def native_files(root: Path, case: str) -> tuple[list[Path], list[Path]]:
    left, right = (
        files(replace(f, rate=50, keys=20), (10.0, 10.0, 10.0), root / "data")
        for f in join_native.feeds(case)
    )
    return left, right


def test_results_of_engines_are_compared_with_the_definition(tmp_path: Path):
    paths = native_files(tmp_path, "aggregate")
    out = tmp_path / "out"
    out.mkdir()
    rows = " UNION ALL ".join(
        f"SELECT *, {n} AS s FROM read_parquet({[str(p) for p in found]})" for n, found in enumerate(paths)
    )
    joined = (
        "SELECT a.g, make_timestamp((a.t + 1) * 10000000) AS window_end, count(*) AS n, sum(a.x) AS first, sum(b.x) AS second "
        "FROM r a JOIN r b ON a.k = b.k AND a.t = b.t AND a.s = 0 AND b.s = 1 GROUP BY ALL"
    )
    query = f"WITH r AS (SELECT *, epoch_us(ts) // 10000000 AS t FROM ({rows})) {joined}"
    duckdb.sql(f"COPY ({query}) TO '{out}/a.parquet'")
    agreement = groups_agree(out, paths, 10)
    assert agreement.holds and agreement.emitted == agreement.expected > 100
    duckdb.sql(f"COPY (SELECT * REPLACE (n + 1 AS n) FROM ({query})) TO '{out}/a.parquet'")
    assert not groups_agree(out, paths, 10).holds


def test_joined_rows_are_compared_with_the_definition(tmp_path: Path):
    paths = native_files(tmp_path, "rows")
    out = place([], tmp_path / "out")
    tables = [f"read_parquet({[str(p) for p in found]})" for found in paths]
    near = "b.ts > a.ts - INTERVAL 10 SECONDS AND b.ts < a.ts + INTERVAL 10 SECONDS"
    query = f"SELECT a.k, a.x AS first, b.x AS second FROM {tables[0]} a JOIN {tables[1]} b ON a.k = b.k AND {near}"
    duckdb.sql(f"COPY ({query}) TO '{out}/a.parquet'")
    assert rows_agree(out, paths, 10).holds
    duckdb.sql(f"COPY ({query} LIMIT 100) TO '{out}/a.parquet'")
    assert not rows_agree(out, paths, 10).holds


def contest(name: str, engine: str, seconds: float | None) -> Contest:
    run = JoinRun(engine, "", "late", 10, 1)
    outcome = (
        None if seconds is None else JoinOutcome(run, (Batch(0, 9.0), Batch(1, 9.0), Batch(2, 5.0)), seconds)
    )
    failure = None if outcome else "not ended in 300 s"
    return Contest(
        Entrant(name, engine, "late", "aggregate"),
        10,
        outcome,
        Agreement(5, 5, 0) if outcome else None,
        failure,
        300.0,
    )


def test_what_did_not_end_is_a_bound(tmp_path: Path):
    held = [
        contest("Thalweg", "thalweg_join", 3.0),
        contest("slow", "spark_join", None),
        contest("slower", "spark_join", 60.0),
    ]
    assert [r.value for _, r in join_native.ratios(held)] == [100, 20]
    out = StringIO()
    join_native.show(held, Console(file=out, width=200))
    assert "not ended in 300 s" in out.getvalue() and "> 100.0x" in out.getvalue()
    assert held[0].outcome is not None and held[0].outcome.batch_ms() == 5
    join_plots.native(held, tmp_path / "native.png")
    assert (tmp_path / "native.png").exists() and join_native.as_data(held)[1]["outcome"] is None


def test_an_outcome_survives_json():
    made = contest("Thalweg", "thalweg_join", 3.0).outcome
    assert made is not None and outcome_of(json.dumps(asdict(made))) == made


def test_tables_and_plots_show_the_figures(tmp_path: Path):
    times = {"LAP": (9.0, 90.0), "EAP01": (2.0, 20.0), "EAP10": (8.0, 80.0), "EAP11": (1.0, 10.0)}
    points = [SMALL, *showcase_points(quick=True)]
    found = [figures(p, times) for p in points]
    out = StringIO()
    join_sweeps.show(found, 5, Console(file=out, width=200))
    assert "9/90" in out.getvalue() and "figure 10, hash" in out.getvalue()
    assert join_sweeps.as_data(found, 5)["summary"]["all"]["mean_regret"] == 1
    join_plots.sweeps(found, tmp_path)
    join_plots.showcases(found, tmp_path / "showcases.png")
    join_plots.predictions(found, tmp_path / "predictions.png")
    assert {p.name for p in tmp_path.iterdir()} == {"joins-figure-6.png", "showcases.png", "predictions.png"}


def test_one_run_compares_writes_and_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = replace(join_streams.rows_point("figure 4: rate", 1, (5, 5), keys=4), fill=2, batch=2, measured=1)
    sliding = replace(SMALL, figure="windows", value=4, every=1)
    monkeypatch.setattr(join_sweeps, "sweep_points", lambda quick: [SMALL])
    monkeypatch.setattr(join_sweeps, "showcase_points", lambda quick: [])
    monkeypatch.setattr(join_sweeps, "SETTINGS", ())
    monkeypatch.setattr(join_streams, "rows_point", lambda *given: rows)
    monkeypatch.setattr(join_streams, "cases", lambda quick: [(rows, 2)])
    monkeypatch.setattr(join_incremental, "window_points", lambda quick: [sliding])
    monkeypatch.setattr(
        join_incremental,
        "max_points",
        lambda quick: [replace(sliding, figure=f"{join_incremental.MAX}, few keys")],
    )
    figures_file = tmp_path / "figures.json"
    joins.main(True, "sweeps,stream-join,incremental", None, 1, "", figures_file, tmp_path / "plots")
    data = json.loads(figures_file.read_text())
    assert data["sweeps"]["points"][0]["differing"] == [] and len(data["stream-join"]["invalidation"]) == 5
    run = [(e["plan"], e["evaluate"]) for e in data["incremental"]["evaluations"] if e["case"] == "windows"]
    assert run == [
        *(("LAP", e) for e in EVALUATIONS if e not in ("wide", "stairs")),
        *(("EAP11", e) for e in EVALUATIONS if e != "stairs"),
    ]
    assert {"joins-figure-6.png", "joins-stream-join.png", "joins-incremental.png"} <= {
        p.name for p in (tmp_path / "plots").iterdir()
    }


def test_drawn_queries_are_the_same_for_the_same_seed():
    assert [drawn(n) for n in range(5)] == [drawn(n) for n in range(5)]
    assert len({drawn(n).query for n in range(20)}) > 10
    one = drawn(3)
    assert one.rows(0, 1).equals(one.rows(0, 1)) and not one.rows(0, 1).equals(one.rows(1, 1))


def test_the_regret_of_a_free_choice():
    plans = {"LAP snapshot": 300.0, "EAP11 snapshot": 100.0, "EAP11 wide": 120.0}
    settled = FreeFigures(drawn(1), 150.0, plans, ("LAP snapshot", *["EAP11 wide"] * 8), None, ())
    assert (settled.best, settled.first) == ("EAP11 snapshot", 3.0)
    assert settled.regret == pytest.approx(1.2), (
        "the plan that it has; what disturbed one of the runs decides nothing"
    )
    wavering = replace(settled, taken=("LAP snapshot",) * 6 + ("EAP11 wide",) * 3)
    assert wavering.regret == pytest.approx(1.5)
