"""Pictures of the figures, as PNG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.boosts import boost, correlation, points
from benchmarks.paper_tables import ROWS
from benchmarks.plan_figures import SetFigures

COLORS = {
    "Thalweg": "#0b6e99",
    "Spark union": "#c2703d",
    "Spark exploded": "#e0b04c",
    "DuckDB alone": "#9a9a9a",
}
BOOST_COLORS = ("#c9c9c9", "#e0b04c", "#0b6e99")
MODE_COLORS = {"naive": "#c2703d", "shared": "#9a9a9a", "paper": "#e0b04c", "best": "#0b6e99"}


def throughput(figures: Mapping[tuple[str, int, int], float], path: Path) -> None:
    """Events/s by (engine, windows, batch): a panel per number of windows, a group of bars per size of batch."""
    counts = sorted({n for _, n, _ in figures})
    if not counts:
        return
    figure, panels = _panels(len(counts), width=3.6)
    for panel, n in zip(panels, counts, strict=True):
        batches = sorted({b for _, m, b in figures if m == n})
        engines = [e for e in COLORS if any((e, n, b) in figures for b in batches)]
        for i, engine in enumerate(engines):
            places = [x + (i - (len(engines) - 1) / 2) * 0.8 / len(engines) for x in range(len(batches))]
            heights = [figures.get((engine, n, b), 0) / 1e6 for b in batches]
            bars = panel.bar(places, heights, 0.75 / len(engines), label=engine, color=COLORS[engine])
            panel.bar_label(bars, [f"{h:.2g}" if h else "" for h in heights], fontsize=7, padding=1)
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_xticks(range(len(batches)), [f"{b / 1e6:g} M" for b in batches])
        panel.set_title(f"{n} window{'s' if n > 1 else ''}")
        panel.set_xlabel("events per micro-batch")
    panels[0].set_ylabel("M events/s")
    handles = {
        label: h for panel in panels for h, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(),
        handles,
        loc="outside lower center",
        ncols=min(len(handles), 2 * len(counts)),
        frameon=False,
    )
    _save(figure, path)


def boosts(figures: Sequence[SetFigures], path: Path) -> None:
    """The mean boost over naive of each row of the paper's tables, ours beside the paper's; a panel per aggregate."""
    aggregates = list(dict.fromkeys(f.aggregate for f in figures if f.row in ROWS))
    rows = [row for row in ROWS if any(f.row == row for f in figures)]
    if not rows:
        return
    figure, panels = _panels(len(aggregates), width=5.2, height=0.45 * len(rows) + 1.6)
    for panel, aggregate in zip(panels, aggregates, strict=True):
        for i, row in enumerate(rows):
            sets = [f for f in figures if f.row == row and f.aggregate == aggregate]
            values = (ROWS[row].paper_mean, boost(sets, "paper").mean, boost(sets, "best").mean)
            for j, (label, color) in enumerate(
                zip(("in the paper", "its plan, here", "our plan"), BOOST_COLORS, strict=True)
            ):
                bar = panel.barh(
                    i + (j - 1) * 0.27, values[j], 0.25, color=color, label=label if i == 0 else None
                )
                panel.bar_label(bar, [f"{values[j]:.1f}"], fontsize=7, padding=2)
        panel.set_yticks(range(len(rows)), rows)
        panel.set_title(aggregate)
        panel.set_xlabel("boost over the naive plan, mean of the sets")
    panels[0].invert_yaxis()
    panels[0].legend(frameon=False, loc="upper right")
    _save(figure, path)


def costs(figures: Sequence[SetFigures], path: Path) -> None:
    """Predicted cost against the steps' own time, a point per plan, a panel per model."""
    sets = [f for f in figures if f.row in ROWS]
    if not sets:
        return
    models = list(next(iter(sets[0].plans.values())).predicted)
    figure, panels = _panels(len(models), width=4.2)
    for panel, model in zip(panels, models, strict=True):
        for mode, color in MODE_COLORS.items():
            plans = [f.plans[mode] for f in sets if mode in f.plans and f.plans[mode].same_as == mode]
            panel.scatter(
                [p.predicted[model] for p in plans],
                [p.own for p in plans],
                s=12,
                color=color,
                label=mode,
                alpha=0.8,
            )
        panel.set(
            xscale="log",
            yscale="log",
            xlabel="predicted cost",
            title=f"{model}: r = {correlation(points(sets, model)):.2f}",
        )
        panel.xaxis.set_minor_formatter("")
        panel.yaxis.set_minor_formatter("")
    panels[0].set_ylabel("steps' own time, ms")
    panels[0].legend(frameon=False)
    _save(figure, path)


def _panels(count: int, width: float, height: float = 3.6, shared: bool = True) -> tuple[Any, list[Any]]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        1, count, figsize=(width * count, height), sharey=shared, squeeze=False, layout="constrained"
    )
    for panel in panels[0]:
        panel.spines[["top", "right"]].set_visible(False)
    return figure, list(panels[0])


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
