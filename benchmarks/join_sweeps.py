"""Part `sweeps`: every LAP and EAP plan at every point of figures 6 to 10 of the early-aggregation paper."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console

from benchmarks import report
from benchmarks.join_data import files
from benchmarks.join_engine import PlanRun, fingerprint, run_plan
from benchmarks.join_figures import (
    MEAN_REGRET,
    MEAN_TAU,
    NOISE,
    WORST_REGRET,
    PlanFigures,
    PointFigures,
    Summary,
    summary,
)
from benchmarks.join_points import Given, Point, join_query
from benchmarks.join_settings import SETTINGS, showcase_points, sweep_points
from thalweg.model.settings import Config
from thalweg.optimizer.cost.early_aggregation import HASH, NESTED_LOOP, Stream, costs, plan_of
from thalweg.optimizer.estimate import estimate
from thalweg.statistics.constants import join_constants
from thalweg.testing.comparison import compare
from thalweg.testing.reference_joins import reference_join

ENOUGH = 4_000.0  # ms after which a plan is not run again: next to that, what disturbs a batch is little


def measure(root: Path, repeats: int, quick: bool, console: Console) -> list[PointFigures]:
    """All points, in order; a line each."""
    found = []
    for point in [*sweep_points(quick), *showcase_points(quick)]:
        figures = measured(point, root, repeats)
        found.append(figures)
        times = ", ".join(f"{name} {p.predicted:,.0f}/{p.measured:,.0f}" for name, p in figures.plans.items())
        verdict = (
            f"{figures.rows:,} rows equal"
            if not figures.differing
            else f"ROWS DIFFER: {', '.join(figures.differing)}"
        )
        console.print(
            f"{point.figure} {point.value:g}: predicted/measured ms: {times}; {verdict}",
            markup=False,
            soft_wrap=True,
        )
    return found


def measured(point: Point, root: Path, repeats: int) -> PointFigures:
    """All plans of a point in turns, the least time of each, and whether their results are the same."""
    runs: dict[str, list[PlanRun]] = {plan: [] for plan in point.plans}
    for turn in range(repeats):
        for plan in point.plans[:: -1 if turn % 2 else 1]:
            if sum(r.ms for r in runs[plan]) <= ENOUGH:
                runs[plan].append(run_plan(point, config_of(point, plan), root))
    _compare_again(point, runs, root, repeats)
    prints = {plan: fingerprint(found[0].rows) for plan, found in runs.items()}
    first = prints[point.plans[0]]
    costs_of = {plan: (predicted(point, plan), paper_cost(point)[plan]) for plan in point.plans}
    plans = {plan: _figures(*costs_of[plan], min(found, key=lambda r: r.ms)) for plan, found in runs.items()}
    return PointFigures(point, plans, first[0], tuple(p for p, f in prints.items() if f != first or not f[0]))


def _compare_again(point: Point, runs: dict[str, list[PlanRun]], root: Path, repeats: int) -> None:
    """Where the plan that is predicted to be cheapest was not the fastest, both run as often again: one disturbance decides nothing."""
    chosen, best = (
        min(point.plans, key=lambda p: predicted(point, p)),
        min(runs, key=lambda p: min(r.ms for r in runs[p])),
    )
    for _ in range(repeats if chosen != best else 0):
        for plan in (chosen, best):
            runs[plan].append(run_plan(point, config_of(point, plan), root))


def config_of(point: Point, plan: str) -> Config:
    """The settings that force a plan."""
    return Config(early_aggregation=plan, evaluate=point.evaluate, join=point.method)


def predicted(point: Point, plan: str) -> float:
    """What the engine's cost model says of the measured batches, in ms, by the true statistics of the streams."""
    early = plan_of(plan, len(point.inputs))
    found = estimate(
        join_query(point), early, point.evaluate, point.method, point.statistics, join_constants()
    )
    return found.nanos * point.batch * point.measured / 1e6


def paper_cost(point: Point) -> dict[str, float]:
    """What the paper's formulas say, with all constants 1."""
    streams = [Stream(g.rate, g.rate * g.window, g.groups, 1 / point.keys) for g in point.inputs]
    return costs(streams, join=HASH if point.method == "hash" else NESTED_LOOP)


def _figures(cost: float, paper: float, run: PlanRun) -> PlanFigures:
    return PlanFigures(cost, paper, run.ms, run.batches[-1].steps, run.state_rows)


def check_definition(root: Path) -> int:
    """Every plan of a small point of every figure against the definition; how many result rows were compared."""
    compared = 0
    for setting in SETTINGS:
        point = setting.point("definition", 0, 1)
        small = replace(
            point, inputs=tuple(Given(8, g.window, min(g.groups, 5)) for g in point.inputs), measured=2
        )
        paths = [files(f, small.spans, root / "data") for f in small.feeds]
        batches = [{f"s{n}": pq.read_table(p) for n, p in enumerate(row)} for row in zip(*paths, strict=True)]
        bound = small.bound()
        expected = reference_join(join_query(small), bound.streams, batches)
        for plan in small.plans:
            compare(run_plan(small, config_of(small, plan), root, partitions=2).rows, expected)
            compared += expected.num_rows
    return compared


# ---- tables ----


def show(figures: list[PointFigures], compared: int, console: Console) -> None:
    """A table per sweep, and the summary."""
    for name in dict.fromkeys(_table_of(f.point) for f in figures):
        console.print(_sweep_table(name, [f for f in figures if _table_of(f.point) == name]))
    by_set = {
        name: [f for f in figures if _set_of(f.point) == name]
        for name in dict.fromkeys(_set_of(f.point) for f in figures)
    }
    rows = [_summary_row(name, summary(same)) for name, same in {**by_set, "all": figures}.items()]
    columns = [
        "",
        "points",
        f"regret: mean <= {MEAN_REGRET:g}",
        f"worst <= {WORST_REGRET:g}",
        f"tau >= {MEAN_TAU:g}",
    ]
    columns += [f"tau beyond {NOISE:.0%}", "paper's formula: regret", "tau"]
    console.print(
        report.table("the chosen plan against the best, and predicted order against measured", columns, rows)
    )
    console.print(_wins_table(by_set))
    console.print(f"{compared:,} result rows of smaller points equal to the definition, all plans")
    wrong = [f for f in figures if f.differing]
    if wrong:
        console.print(f"[red]results differ at {len(wrong)} points[/]")


def _table_of(point: Point) -> str:
    return point.figure if "figure 10" not in point.figure else f"figure 10, {point.method}"


def _set_of(point: Point) -> str:
    return _table_of(point).rpartition(" ")[0] if "figure 10" not in point.figure else _table_of(point)


def _sweep_table(name: str, figures: list[PointFigures]) -> Any:
    plans = figures[0].point.plans
    rows = []
    for f in figures:
        place = f.point.figure.split()[3] + " " if "figure 10" in f.point.figure else ""
        times = [_time(f, p) for p in plans]
        tau = f.tau()
        rows.append(
            [
                f"{place}{f.point.value:g}",
                *times,
                f.chosen,
                f"{f.regret:.2f}",
                "" if tau is None else f"{tau:.2f}",
            ]
        )
    first = figures[0].point
    title = f"{name}: {first.method}, {first.evaluate}, predicted/measured ms; first point: {first.label()}"
    return report.table(title, ["value", *plans, "chosen", "regret", "tau"], rows)


def _time(f: PointFigures, plan: str) -> str:
    text = f"{f.plans[plan].predicted:,.0f}/{f.plans[plan].measured:,.0f}"
    return f"[bold]{text}[/]" if plan == f.best else text


def _summary_row(name: str, s: Summary) -> list[str]:
    good, bad = "[green]", "[red]"
    return [
        name,
        str(s.points),
        f"{good if s.mean_regret <= MEAN_REGRET else bad}{s.mean_regret:.2f}[/]",
        f"{good if s.worst_regret <= WORST_REGRET else bad}{s.worst_regret:.2f}[/]",
        f"{good if s.mean_tau >= MEAN_TAU else bad}{s.mean_tau:.2f}[/]",
        f"{s.mean_clear_tau:.2f}",
        f"{s.paper_regret:.2f}",
        f"{s.paper_tau:.2f}",
    ]


def _wins_table(by_set: dict[str, list[PointFigures]]) -> Any:
    """How often each plan was best, and how often within the noise of the best; plans of three inputs apart."""
    rows = []
    for name, same in by_set.items():
        s = summary(same)
        won = [f"{p} {s.wins.get(p, 0)} ({s.near.get(p, 0)})" for p in same[0].point.plans if s.near.get(p)]
        rows.append([name, ", ".join(won)])
    return report.table(
        f"points at which a plan was best (within {NOISE:.0%} of the best)", ["", "plans"], rows
    )


def as_data(figures: list[PointFigures], compared: int) -> dict[str, Any]:
    """The figures as JSON holds them."""
    points = [
        {
            **asdict(f.point),
            "label": f.point.label(),
            "plans": {p: asdict(m) for p, m in f.plans.items()},
            "chosen": f.chosen,
            "best": f.best,
            "regret": f.regret,
            "tau": f.tau(),
            "tau_beyond_noise": f.tau(NOISE),
            "rows": f.rows,
            "differing": f.differing,
        }
        for f in figures
    ]
    sets = {
        name: [f for f in figures if _set_of(f.point) == name]
        for name in dict.fromkeys(_set_of(f.point) for f in figures)
    }
    found = {
        name: {**asdict(summary(same)), "reached": summary(same).reached}
        for name, same in {**sets, "all": figures}.items()
        if same
    }
    return {"points": points, "summary": found, "compared_with_definition": compared}
