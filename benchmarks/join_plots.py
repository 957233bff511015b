"""Pictures of the join benchmarks, as PNG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.join_figures import PlanFigures, PointFigures
from benchmarks.join_incremental import EvaluationFigures
from benchmarks.join_native import Contest
from benchmarks.join_settings import SWEEPS
from benchmarks.join_streams import Invalidation, JoinFigures
from benchmarks.plots import _panels, _save

COLORS = ("#c2703d", "#e0b04c", "#7a9e7e", "#0b6e99", "#9a9a9a", "#8c6bb1", "#d06f9c", "#222222")
NAMES = {
    "window": "seconds of the window",
    "groups": "groups of the first stream",
    "rate": "relative rate of the first stream",
}
NAMES["selectivity"] = "join selectivity"


def sweeps(figures: Sequence[PointFigures], directory: Path) -> None:
    """A picture per figure of the paper: a panel per sweep, predicted above and measured below, as there."""
    for name in dict.fromkeys(
        f.point.figure.rpartition(" ")[0] for f in figures if "figure 10" not in f.point.figure
    ):
        same = [f for f in figures if f.point.figure.rpartition(" ")[0] == name]
        figure, panels = _grid(2, len(SWEEPS))
        for column, sweep in enumerate(SWEEPS):
            points = [f for f in same if f.point.figure.endswith(f" {sweep}")]
            _curves(panels[0][column], points, lambda p: p.predicted)
            _curves(panels[1][column], points, lambda p: p.measured)
            panels[0][column].set_title(sweep)
            panels[1][column].set_xlabel(NAMES[sweep])
        panels[0][0].set_ylabel("predicted, ms")
        panels[1][0].set_ylabel("measured, ms")
        handles, labels = next((p.get_legend_handles_labels() for p in panels.flat if p.lines), ([], []))
        figure.legend(handles, labels, loc="outside lower center", ncols=max(len(labels), 1), frameon=False)
        _save(figure, directory / f"joins-{name.replace(',', '').replace(' ', '-')}.png")


def _curves(panel: Any, points: Sequence[PointFigures], value: Callable[[PlanFigures], float]) -> None:
    for number, plan in enumerate(points[0].point.plans if points else ()):
        x, y = [f.point.value for f in points], [value(f.plans[plan]) for f in points]
        panel.plot(x, y, marker="o", markersize=3, label=plan, color=COLORS[number])
    panel.set_yscale("log")
    if points and max(f.point.value for f in points) > 50 * min(f.point.value for f in points):
        panel.set_xscale("log")


def showcases(figures: Sequence[PointFigures], path: Path) -> None:
    """Figure 10: the four plans at the points where each should win, the full rate, hash and loop."""
    chosen = [f for f in figures if "figure 10" in f.point.figure and f.point.value == 1]
    if not chosen:
        return
    methods = list(dict.fromkeys(f.point.method for f in chosen))
    figure, panels = _panels(len(methods), width=5.2, shared=False)
    for panel, method in zip(panels, methods, strict=True):
        same = [f for f in chosen if f.point.method == method]
        for i, plan in enumerate(same[0].point.plans):
            places = [n + (i - 1.5) * 0.2 for n in range(len(same))]
            panel.bar(places, [f.plans[plan].measured for f in same], 0.18, label=plan, color=COLORS[i])
        panel.set_xticks(range(len(same)), [f"for {f.point.figure.split()[3]}" for f in same])
        panel.set(yscale="log", title=method)
    panels[0].set_ylabel("ms")
    panels[0].legend(frameon=False, fontsize=7)
    _save(figure, path)


def predictions(figures: Sequence[PointFigures], path: Path) -> None:
    """Predicted against measured time, a point per plan."""
    if not figures:
        return
    figure, panels = _panels(1, width=4.6)
    for number, plan in enumerate(
        dict.fromkeys("LAP" if p == "LAP" else "EAP" for f in figures for p in f.plans)
    ):
        found = [m for f in figures for p, m in f.plans.items() if p.startswith(plan)]
        panels[0].scatter(
            [m.predicted for m in found],
            [m.measured for m in found],
            s=8,
            alpha=0.7,
            label=plan,
            color=COLORS[3 * number],
        )
    panels[0].set(xscale="log", yscale="log", xlabel="predicted, ms", ylabel="measured, ms")
    panels[0].legend(frameon=False)
    _save(figure, path)


def stream_joins(figures: Sequence[JoinFigures], strategies: Sequence[Invalidation], path: Path) -> None:
    """Loop and hash by rate and by buckets, and the state of each invalidation strategy batch by batch."""
    if not figures:
        return
    figure, panels = _panels(3, width=4.2, shared=False)
    for panel, start in ((panels[0], "figure 4"), (panels[1], ("figure 5", "figure 6"))):
        lines = dict.fromkeys((f.figure, f.method) for f in figures if f.figure.startswith(start))
        for number, (name, method) in enumerate(lines):
            same = [f for f in figures if (f.figure, f.method) == (name, method)]
            label = f"{method} {name.partition(', ')[2]}"
            style = {"marker": "o", "markersize": 3, "linestyle": "-" if method == "hash" else "--"}
            panel.plot(
                [f.value for f in same],
                [f.measured for f in same],
                label=label,
                color=COLORS[number],
                **style,
            )
        panel.set(yscale="log", ylabel="ms for 30 s")
        if lines:
            panel.legend(frameon=False, fontsize=7)
    panels[0].set_xlabel("rate of one stream over the other's")
    panels[1].set(xlabel="hash ranges", xscale="log")
    for number, s in enumerate(strategies):
        seconds = [2 * (i + 1) for i in range(len(s.state_rows))]
        panels[2].plot(seconds, s.state_rows, label=s.strategy, color=COLORS[number], linewidth=5 - number)
    panels[2].set(xlabel="seconds", ylabel="rows of state")
    panels[2].legend(frameon=False, fontsize=7)
    _save(figure, path)


def incremental(figures: Sequence[EvaluationFigures], path: Path) -> None:
    """Time per instant and state against the window."""
    found = [f for f in figures if f.case == "windows"]
    if not found:
        return
    figure, panels = _panels(2, width=4.6, shared=False)
    for number, evaluate in enumerate(dict.fromkeys(f.evaluate for f in found)):
        for plan, style in (("LAP", "-"), ("EAP11", "--")):
            same = [f for f in found if (f.evaluate, f.plan) == (evaluate, plan)]
            for panel, values in zip(
                panels, ([f.measured for f in same], [f.state_bytes / 2**20 for f in same]), strict=True
            ):
                panel.plot(
                    [f.window for f in same], values, style, color=COLORS[number], label=f"{evaluate}, {plan}"
                )
    panels[0].set_ylabel("ms per instant")
    panels[1].set_ylabel("MiB of state")
    for panel in panels:
        panel.set(xscale="log", yscale="log", xlabel="instants a window")
    panels[1].legend(frameon=False, fontsize=7)
    _save(figure, path)


def native(held: Iterable[Contest], path: Path) -> None:
    """Seconds of each engine; what did not end is hatched, up to the limit."""
    found = [c for c in held if c.seconds]
    if not found:
        return
    figure, panels = _panels(1, width=7.5, height=0.4 * len(found) + 1.2)
    for i, c in enumerate(found):
        ended = c.outcome is not None
        bar = panels[0].barh(
            i,
            c.seconds,
            0.7,
            color=COLORS[3 if "Thalweg" in c.entrant.name else 0],
            hatch="" if ended else "//",
        )
        panels[0].bar_label(
            bar, [f"{c.seconds:.1f} s" if ended else f"not ended in {c.limit:.0f} s"], fontsize=7, padding=2
        )
    panels[0].set_yticks(
        range(len(found)), [f"{c.entrant.case}: {c.entrant.name}" for c in found], fontsize=7
    )
    panels[0].set_xlabel("seconds")
    panels[0].invert_yaxis()
    _save(figure, path)


def _grid(rows: int, columns: int) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        rows, columns, figsize=(3.2 * columns, 2.8 * rows), squeeze=False, sharey=True, layout="constrained"
    )
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
    return figure, panels
