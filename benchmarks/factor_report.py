"""The figures of the factor-windows benchmark as tables beside the paper's, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from statistics import median
from typing import Any

from rich.console import Console

from benchmarks import report
from benchmarks.against_native import Contest, ratios
from benchmarks.boosts import boost, correlation, own, points, rank_correlation, reading, regret, whole
from benchmarks.paper_tables import EVERY_ROW
from benchmarks.plan_figures import LIMITS, SetFigures

MODELS = ("paper", "paper at our rate", "engine")


def show(figures: list[SetFigures], held: list[Contest], fixed: float | None, console: Console) -> None:
    """All tables that there are figures for."""
    for aggregate in dict.fromkeys(f.aggregate for f in figures):
        same = [f for f in figures if f.aggregate == aggregate]
        console.print(boosts_table(aggregate, same, fixed))
        console.print(regrets_table(aggregate, same))
        if any(f.row in EVERY_ROW for f in same):
            console.print(correlation_table(aggregate, same))
    if figures:
        console.print(planning_table(figures))
    if held:
        console.print(native_table(held))


def by_row(figures: list[SetFigures]) -> dict[str, list[SetFigures]]:
    """The sets of each row, in the order of the run."""
    found: dict[str, list[SetFigures]] = {}
    for f in figures:
        found.setdefault(f.row, []).append(f)
    return found


def boosts_table(aggregate: str, figures: list[SetFigures], fixed: float | None) -> Any:
    """Tables I and III: mean and maximum boost over naive on the steps' own time, ours beside the paper's."""
    rows = []
    for row, sets in by_row(figures).items():
        theirs = EVERY_ROW.get(row)
        best = boost(sets, "best")
        rows.append(
            [
                row,
                f"{sum(s.times for s in sets)} ({len(sets)})",
                str(boost(sets, "shared")),
                f"{theirs.shared_mean} / {theirs.shared_max}" if theirs else "",
                str(boost(sets, "paper")),
                str(best),
                str(boost(sets, "slices")),
                f"{report.mark(best.mean >= theirs.paper_mean)} {theirs.paper_mean} / {theirs.paper_max}"
                if theirs
                else "",
                f"{boost(sets, 'best', reading).mean:.2f}",
                f"{boost(sets, 'best', whole).mean:.2f}",
                " / ".join(f"{fixed / median(s.plans[m].batch for s in sets):.0%}" for m in ("naive", "best"))
                if fixed
                else "",
            ]
        )
    columns = [
        "mean / max", "sets (different)", "shared", "(the paper's)", "paper", "best", "slices", "(the paper's)",
        "best, with reading", "best, end to end", "fixed cost of naive / best batch",
    ]  # fmt: skip
    return report.table(f"{aggregate}: boost over our naive plan, on the steps' own time", columns, rows)


def regrets_table(aggregate: str, figures: list[SetFigures]) -> Any:
    """Every set: the time of each plan and how it stands to the others."""
    rows = []
    for f in figures:
        times = [f"{p.own:,.0f}{'' if p.same_as == m else ' ='}" for m, p in f.plans.items()]
        rows.append(
            [f"{f.row} {f.number}", *times, *(_regret(regret(f, a, b), limit) for a, b, limit in LIMITS)]
        )
    columns = ["set", *(f"{m} ms" for m in figures[0].plans), *(f"{a} / {b}" for a, b, _ in LIMITS)]
    return report.table(f"{aggregate}: every regret (= is the same plan as one before it)", columns, rows)


def _regret(value: float, limit: float) -> str:
    return f"{value:.2f}" if value <= limit else f"[red]{value:.2f} > {limit}[/]"


def correlation_table(aggregate: str, figures: list[SetFigures]) -> Any:
    """How well each model's cost predicts the time of a plan."""
    sets = [f for f in figures if f.row in EVERY_ROW]
    rows = [[model, *_coefficients(sets, model)] for model in MODELS]
    columns = [
        "cost model",
        "plans",
        "Pearson, steps",
        "Spearman, steps",
        "Pearson, end to end",
        "Spearman, end to end",
    ]
    return report.table(
        f"{aggregate}: correlation of predicted cost and measured time, over all different plans",
        columns,
        rows,
    )


def _coefficients(sets: list[SetFigures], model: str) -> list[str]:
    found = [points(sets, model, own), points(sets, model, whole)]
    return [str(len(found[0])), *(f"{c(p):.3f}" for p in found for c in (correlation, rank_correlation))]


def planning_table(figures: list[SetFigures]) -> Any:
    """What the optimizer itself takes, by the size of the set."""
    rows = []
    for size in sorted({len(f.windows) for f in figures}):
        same = [f for f in figures if len(f.windows) == size]
        times = {m: [f.plans[m].planning for f in same] for m in same[0].plans}
        rows.append([str(size), *(f"{median(t):.1f} / {max(t):.1f}" for t in times.values())])
    return report.table("planning time in ms, median / max", ["windows", *figures[0].plans], rows)


def native_table(held: list[Contest]) -> Any:
    """Thalweg against native Spark, end to end."""
    return report.table(
        "against native Spark, end to end",
        ["row", "aggregate", "against", "Thalweg", "native", "boost", ""],
        _contests(held),
    )


def _contests(held: list[Contest]) -> Iterator[list[str]]:
    for ours, theirs, ratio in ratios(held):
        bound = "<" if theirs.outcome is None else ""
        speeds = [report.rate(e) if e else "" for e in (ours.events_per_second, theirs.events_per_second)]
        said = "; ".join(c.failure.splitlines()[-1] for c in (ours, theirs) if c.failure)
        boosted = f"{'>' if bound else ''}{ratio}" if ratio else ""
        yield [
            ours.row,
            ours.aggregate,
            report.NAMES[theirs.engine],
            speeds[0],
            bound + speeds[1],
            boosted,
            said,
        ]


def as_data(figures: list[SetFigures], held: list[Contest]) -> dict[str, Any]:
    """The figures as JSON holds them, with the boosts drawn from them."""
    summaries = [
        {
            "row": row,
            "aggregate": aggregate,
            "boosts": _boosts(sets),
            "paper": asdict(EVERY_ROW[row]) if row in EVERY_ROW else None,
        }
        for aggregate in dict.fromkeys(f.aggregate for f in figures)
        for row, sets in by_row([f for f in figures if f.aggregate == aggregate]).items()
    ]
    native = [
        {"row": c.row, "aggregate": c.aggregate, "engine": c.engine, "failure": c.failure, "at_most": c.at_most,
         "outcome": report.outcome_data(c.outcome) if c.outcome else None}
        for c in held
    ]  # fmt: skip
    against = [{**asdict(r), "reached": r.reached} for _, _, r in ratios(held) if r is not None]
    return {
        "rows": summaries,
        "sets": [asdict(f) for f in figures],
        "native": native,
        "native_boosts": against,
    }


def _boosts(sets: list[SetFigures]) -> dict[str, Any]:
    measures = {"steps": own, "with_reading": reading, "end_to_end": whole}
    modes = [m for m in sets[0].plans if m != "naive"]
    return {name: {m: asdict(boost(sets, m, measure)) for m in modes} for name, measure in measures.items()}
