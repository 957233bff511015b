"""The points of the early-aggregation paper's figures 6 to 10, scaled up so that the slowest plan takes about a second.

Scale s: windows have s times the paper's rows and the join attribute has s times its values, the groups are the paper's. So
the matches of a row (w * sigma) and the part of a window that its aggregation set is (g / sigma / w) are those of the paper.
The paper's windows are in tuples, ours in time: where it varies a rate, the rows of that window go with it.
Tumbling windows are all of one length, so there the sweep of the window varies both; the sliding variant varies the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchmarks.join_points import Given, Point

WINDOW, GROUPS, RATE, SELECTIVITY, SHOWCASE = "window", "groups", "rate", "selectivity", "showcase"
SWEEPS = (WINDOW, GROUPS, RATE, SELECTIVITY)
SECONDS = 10
SLIDE = 2
GROUP_COUNTS = (3, 27, 243, 2_187, 19_683)
VALUES = (2, 20, 200, 2_000)  # of the join attribute: sigma 0.5 to 0.0005


@dataclass(frozen=True)
class Setting:
    """A figure of the paper: its default setting, and our scale; `dense` is the scale where the join attribute has few values.

    rows: of each window. rates: of the first stream, in parts of the others' rate.
    """

    figure: str
    inputs: int
    method: str
    evaluate: str
    rows: int
    groups: int
    rates: tuple[float, ...]
    scale: int
    dense: int

    def point(self, sweep: str, value: float, scale: int | None = None) -> Point:
        """The default setting as a point."""
        s = scale or self.scale
        given = Given(self.rows * s // SECONDS, SECONDS)
        sliding = self.evaluate != "snapshot"
        every, batch = (SLIDE, 2 * SLIDE) if sliding else (SECONDS, SECONDS)
        inputs = (replace(given, groups=self.groups), *[given] * (self.inputs - 1))
        name = f"{self.figure} {sweep}"
        return Point(name, value, inputs, 10 * s, every, SECONDS, batch, 1, self.method, self.evaluate)


def _two(figure: str, method: str, evaluate: str, scale: int, dense: int) -> Setting:
    return Setting(figure, 2, method, evaluate, 5_000, 150, (0.2, 0.6, 1.0, 1.4, 1.8), scale, dense)


def _three(figure: str, method: str, scale: int, dense: int) -> Setting:
    return Setting(figure, 3, method, "snapshot", 300, 20, (0.5, 1.0, 1.5, 2.0, 3.0), scale, dense)


SETTINGS = (
    _two("figure 6", "hash", "snapshot", 60, 12),
    _two("figure 7", "loop", "snapshot", 6, 6),
    _three("figure 8", "hash", 200, 8),
    _three("figure 9", "loop", 16, 8),
    _two("figure 6, sliding", "hash", "expiry", 40, 8),
)


def sweep_points(quick: bool) -> Iterator[Point]:
    """Figures 6 to 9 and the sliding variant; quick: the ends and the middle of each sweep, with three inputs the ends."""
    for setting in SETTINGS:
        for sweep in SWEEPS:
            points = list(_sweep(setting, sweep))
            last = len(points) - 1
            places = (
                ({0, last} if setting.inputs > 2 else {0, last // 2, last}) if quick else set(range(last + 1))
            )
            yield from (p for i, p in enumerate(points) if i in places)


def _sweep(setting: Setting, sweep: str) -> Iterator[Point]:
    if sweep == WINDOW:
        yield from (_with_window(setting.point(sweep, w), w) for w in (2, 4, 6, 8, 10))
    elif sweep == GROUPS:
        yield from (_with_first(setting.point(sweep, g), groups=g) for g in GROUP_COUNTS)
    elif sweep == RATE:
        base = setting.point(sweep, 1)
        yield from (
            _with_first(replace(base, value=r), rate=round(base.inputs[0].rate * r)) for r in setting.rates
        )
    else:
        yield from (
            replace(setting.point(sweep, 1 / n, setting.dense), keys=n * setting.dense) for n in VALUES
        )


def _with_first(point: Point, **changes: int) -> Point:
    """A point with another first stream."""
    first, *others = point.inputs
    return replace(point, inputs=(replace(first, **changes), *others))


def _with_window(point: Point, seconds: int) -> Point:
    if point.evaluate != "snapshot":
        first, *others = point.inputs
        return replace(
            point, inputs=(replace(first, window=seconds), *(replace(g, window=4) for g in others))
        )
    return replace(
        point,
        inputs=tuple(replace(g, window=seconds) for g in point.inputs),
        every=seconds,
        fill=seconds,
        batch=seconds,
    )


@dataclass(frozen=True)
class Showcase:
    """Figure 10: parameters with which one plan should win, by which streams shrink when they are aggregated early."""

    plan: str
    rows: int
    keys: int
    groups: tuple[int, int]


# LAP: hardly two rows of a window have the same key and group. EAP10: only those of the first stream have, and so on.
# By nested loops plans that compare as many pairs differ by little, so there the winner is often within the noise.
SHOWCASES = {
    "hash": (
        Showcase("LAP", 400_000, 4_000_000, (2, 2)),
        Showcase("EAP10", 400_000, 4_000, (1, 2_000)),
        Showcase("EAP01", 400_000, 4_000, (2_000, 1)),
        Showcase("EAP11", 400_000, 4_000, (2, 2)),
    ),
    "loop": (
        Showcase("LAP", 3_000, 300_000, (2, 2)),
        Showcase("EAP10", 10_000, 50, (1, 2_000)),
        Showcase("EAP01", 10_000, 50, (2_000, 1)),
        Showcase("EAP11", 10_000, 50, (5, 5)),
    ),
}


def showcase_points(quick: bool, parts: Sequence[float] = (0.2, 0.6, 1.0)) -> Iterator[Point]:
    """Figure 10, with the first stream at parts of the second's rate, as there."""
    for method, cases in SHOWCASES.items():
        for case in cases:
            for part in parts[-1:] if quick else parts:
                rate = case.rows // SECONDS
                inputs = (
                    Given(round(rate * part), SECONDS, case.groups[0]),
                    Given(rate, SECONDS, case.groups[1]),
                )
                name = f"figure 10 {SHOWCASE} {case.plan} {method}"
                yield Point(name, part, inputs, case.keys, SECONDS, SECONDS, SECONDS, 1, method)
