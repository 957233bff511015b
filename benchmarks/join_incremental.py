"""Part `incremental`: ways to evaluate an aggregate over a join of sliding windows, after section 3 of the IC and TC paper.

delta is its IC, expiry its TC, materialize its PC, and snapshot joins the windows again. Where that is cheaper, a snapshot makes the
pairs of all instants of a batch at once; for MAX, which has no difference, the paper's way stands beside it: `again` at every instant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console

from benchmarks import report
from benchmarks.join_engine import PlanRun, fingerprint, run_plan
from benchmarks.join_points import Given, Point, join_query
from benchmarks.report import Ratio
from thalweg.compile.evaluations import snapshot
from thalweg.model.settings import CHOICES, Config
from thalweg.optimizer.cost.early_aggregation import plan_of
from thalweg.optimizer.estimate import estimate
from thalweg.optimizer.join_plans import may_evaluate
from thalweg.statistics.constants import join_constants

EVALUATIONS = CHOICES["plan.evaluate"][1:]
PAPER_NAMES = {
    "snapshot": "snapshot",
    "delta": "IC, delta",
    "expiry": "TC, expiry",
    "materialize": "PC, materialize",
    "wide": "AS of windows, wide",
    "stairs": "least and greatest of windows, stairs",
}
INSTANTS = 1_000
MAX = "sliding MAX"
MAX_TARGET = 5.0
AGAIN = "again"
MAX_AGGREGATES = ("MAX(a.x) AS first", "MAX(b.x) AS second")


@dataclass(frozen=True)
class EvaluationFigures:
    """One evaluation of one plan: ms per instant, and the state after the last batch beside what was predicted of both."""

    case: str
    window: int
    plan: str
    evaluate: str
    predicted: float
    measured: float
    state_rows: int
    state_bytes: int
    predicted_rows: float
    differs: bool


def window_points(quick: bool) -> Iterator[Point]:
    """COUNT and SUM by 20 groups, results every second, windows of 8 s to 128 s at 100 rows/s."""
    for seconds in (8, 32) if quick else (8, 16, 32, 64, 128):
        inputs = (Given(100, seconds, 20), Given(100, seconds))
        aggregates = ("COUNT(*) AS n", "SUM(b.x) AS total")
        yield Point("windows", seconds, inputs, 100, 1, seconds, 8, 2, aggregates=aggregates)


def max_points(quick: bool) -> Iterator[Point]:
    """MAX by 10 groups over windows of 1,000 s, results every second, a hundred of them a batch.

    With few keys an aggregation set is much smaller than its window, and joining it again costs little; with many it is not. With more
    rows a row has more partners (50, 200), all of which joining again looks for.
    """
    measured = 1 if quick else 3
    for name, rate, keys in (
        ("few keys", 5, 100),
        ("few keys, more rows", 20, 100),
        ("many keys", 60, 60_000),
    ):
        inputs = (Given(rate, INSTANTS, 10), Given(rate, INSTANTS))
        yield Point(
            f"{MAX}, {name}",
            INSTANTS,
            inputs,
            keys,
            1,
            INSTANTS,
            100,
            measured,
            fills=10,
            aggregates=MAX_AGGREGATES,
        )


def measure(root: Path, repeats: int, quick: bool, console: Console) -> list[EvaluationFigures]:
    """All evaluations of LAP and EAP11 at every window, then MAX."""
    found: list[EvaluationFigures] = []
    for point in window_points(quick):
        found += _evaluated(point, ("LAP", "EAP11"), EVALUATIONS, root, repeats, console)
    for point in max_points(quick):
        plans = ("LAP", "EAP11") if "few" in point.figure or not quick else ("LAP",)
        found += _evaluated(point, plans, (AGAIN, "snapshot", "expiry"), root, 1, console)
    return found


def _evaluated(
    point: Point,
    plans: tuple[str, ...],
    evaluations: tuple[str, ...],
    root: Path,
    repeats: int,
    console: Console,
) -> list[EvaluationFigures]:
    found: list[EvaluationFigures] = []
    first = None
    for plan in plans:
        for evaluate in (e for e in evaluations if _is_plan(point, plan, e)):
            runs = [_run(point, plan, evaluate, root) for _ in range(repeats)]
            made = fingerprint(runs[0].rows)
            first = first or made
            found.append(
                _figures(
                    replace(point, evaluate=evaluate),
                    plan,
                    min(r.ms for r in runs),
                    runs[0],
                    made != first or not made[0],
                )
            )
    times = ", ".join(f"{f.plan} {f.evaluate} {f.measured:.2f}" for f in found)
    verdict = "ROWS DIFFER" if any(f.differs for f in found) else "rows equal"
    console.print(
        f"{point.figure} {point.value:g} s: ms per instant: {times}; {verdict}", markup=False, soft_wrap=True
    )
    return found


def _is_plan(point: Point, plan: str, evaluate: str) -> bool:
    """Whether there is such a plan: some evaluations are of inputs that are aggregated early."""
    return evaluate == AGAIN or may_evaluate(join_query(point), evaluate, plan_of(plan, 2))


def _run(point: Point, plan: str, evaluate: str, root: Path) -> PlanRun:
    if evaluate != AGAIN:
        return run_plan(point, Config(early_aggregation=plan, evaluate=evaluate), root)
    with patch.object(snapshot, "meets_once", lambda shape, instants: False):
        return run_plan(point, Config(early_aggregation=plan, evaluate="snapshot"), root)


def _figures(point: Point, plan: str, ms: float, run: Any, differs: bool) -> EvaluationFigures:
    evaluate = "snapshot" if point.evaluate == AGAIN else point.evaluate
    expected = estimate(
        join_query(point), plan_of(plan, 2), evaluate, point.method, point.statistics, join_constants()
    )
    instants = point.measured * point.batch / point.every
    per_instant = expected.nanos * point.every / 1e6
    window = point.inputs[0].window
    state = (run.state_rows, run.state_bytes, expected.state_rows)
    return EvaluationFigures(
        point.figure, window, plan, point.evaluate, per_instant, ms / instants, *state, differs
    )


def max_ratios(figures: list[EvaluationFigures]) -> list[Ratio]:
    """How many times as fast expiry is as joining again at every instant, and as a snapshot: plan by plan, then the best of each."""
    ratios = []
    for case in dict.fromkeys(f.case for f in figures if f.case.startswith(MAX)):
        found = [f for f in figures if f.case == case]
        for plan in dict.fromkeys(f.plan for f in found):
            own = {f.evaluate: f.measured for f in found if f.plan == plan}
            ratios.append(
                Ratio(
                    f"{case}: {plan}, {AGAIN}",
                    own[AGAIN] / own["expiry"],
                    MAX_TARGET if plan == "LAP" else None,
                )
            )
            ratios.append(Ratio(f"{case}: {plan}, snapshot", own["snapshot"] / own["expiry"], None))
        best = {e: min(f.measured for f in found if f.evaluate == e) for e in ("snapshot", "expiry")}
        ratios.append(Ratio(f"{case}: best plan of each", best["snapshot"] / best["expiry"], None))
    return ratios


def show(figures: list[EvaluationFigures], console: Console) -> None:
    """Time and state against the window, and MAX."""
    windows = [f for f in figures if f.case == "windows"]
    for plan in dict.fromkeys(f.plan for f in windows):
        rows = [
            _row(w, [f for f in windows if f.plan == plan and f.window == w])
            for w in dict.fromkeys(f.window for f in windows)
        ]
        made = dict.fromkeys(PAPER_NAMES[f.evaluate] for f in windows if f.plan == plan)
        title = f"{plan}: predicted/measured ms per instant, and KiB of state"
        console.print(report.table(title, ["window, s", *made], rows))
    sliding = [f for f in figures if f.case.startswith(MAX)]
    rows = [
        [
            f"{f.case}: {f.plan}",
            f.evaluate,
            f"{f.predicted:.2f}/{f.measured:.2f}",
            f"{f.state_bytes / 1024:,.0f}",
        ]
        for f in sliding
    ]
    console.print(report.table(f"{INSTANTS:,} instants a window", ["", "", "ms per instant", "KiB"], rows))
    for ratio in max_ratios(figures):
        console.print(f"expiry over joining, {ratio.what}: {ratio}")


def _row(window: int, same: list[EvaluationFigures]) -> list[str]:
    return [
        str(window),
        *(f"{f.predicted:.2f}/{f.measured:.2f}, {f.state_bytes / 1024:,.0f} KiB" for f in same),
    ]


def as_data(figures: list[EvaluationFigures]) -> dict[str, Any]:
    """The figures as JSON holds them."""
    return {
        "evaluations": [asdict(f) for f in figures],
        "sliding_max": [{**asdict(r), "reached": r.reached} for r in max_ratios(figures)],
    }
