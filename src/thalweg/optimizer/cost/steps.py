"""What a plan over many windows costs the engine per micro-batch, from the rows that are really there.

A step from the rows updates one hash table entry per row and instance it falls in, before the exchange. Every other step
reads (key, instance) rows of its source: of t time units there are as many as distinct keys are expected in them,
`keys * (1 - exp(-rate * t / keys))`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import exp

from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.cost.calibration import Constants
from thalweg.optimizer.cost.edges import Vertex, Weigh, priced
from thalweg.optimizer.forest import Forest, Step
from thalweg.optimizer.slices import share
from thalweg.optimizer.traits import Traits
from thalweg.statistics.records import WindowStatistics


@dataclass(frozen=True)
class StepEstimate:
    """What one step is expected to do per batch.

    rows_in: rows or (key, instance) rows read. rows_out: (key, instance) rows made. state_rows: rows kept between batches.
    """

    step: Step
    rows_in: float
    rows_out: float
    state_rows: float
    cost: float


def distinct_keys(statistics: WindowStatistics, micros: float) -> float:
    """The keys that occur in a stretch of event time.

    >>> round(distinct_keys(WindowStatistics(rate=100, keys=1000, batch=SECOND), 10 * SECOND))
    632
    """
    return statistics.keys * (1 - exp(-statistics.rate * micros / SECOND / statistics.keys))


def lengths(w: Window) -> tuple[float, float]:
    """How long instances are, and how far apart: of slices in the mean."""
    if not w.edges:
        return w.range, w.slide
    mean = w.slide / float(share(w))
    return mean, mean


def instance_rows(w: Window, statistics: WindowStatistics, size: int = 1) -> float:
    """The (key, instance) rows of an instance; not every slot has a slice."""
    part = float(share(w)) if w.edges else 1.0
    return part * distinct_keys(statistics, lengths(w)[0] * size)


def engine_weights(
    statistics: WindowStatistics, constants: Constants, traits: Traits, size: int = 1
) -> Weigh:
    """The engine's cost for windows counted in units of `size` microseconds."""
    batch = statistics.batch / size
    events = statistics.rate * statistics.batch / SECOND
    value = constants.value if traits.holistic else 0.0

    @lru_cache(maxsize=8192)
    def weigh(w: Window, factor: bool) -> Vertex:
        range_, slide = lengths(w)
        times = batch / slide
        updates = events * range_ / slide
        rows = instance_rows(w, statistics, size)
        # A batch touches (batch + r) / s instances, each in at most min(batch, r) of its length.
        sent = min(updates, (batch + range_) / slide * distinct_keys(statistics, min(batch, range_) * size))
        root = updates * (constants.row + value) + sent * constants.exchange + constants.step
        root += events * len(w.edges) * constants.edge
        moves = value * statistics.rate * w.range * size / SECOND
        # A step has work only in batches in which an instance ends.
        fixed = constants.step * min(1.0, times)
        return Vertex(w, times, constants.combine * rows, constants.total * rows, moves, fixed, root, factor)

    return weigh


def compresses(w: Window, statistics: WindowStatistics, constants: Constants, size: int = 1) -> bool:
    """Whether a factor window holds clearly fewer (key, instance) rows than there are rows in its instances.

    >>> compresses(Window(100, 100), WindowStatistics(rate=1000, keys=10, batch=SECOND), Constants())
    False
    """
    micros = w.range * size
    return distinct_keys(statistics, micros) <= constants.compression * statistics.rate * micros / SECOND


def engine_cost(
    forest: Forest, traits: Traits, statistics: WindowStatistics, constants: Constants | None = None
) -> float:
    """The cost of a plan per batch, in hash-aggregate updates."""
    return sum(e.cost for e in estimates(forest, traits, statistics, constants))


def opened_cost(w: Window, batch: float, opened: float) -> float:
    """What a derived window that others read costs beyond its step: it is handed on in the batches in which an instance ends.

    >>> opened_cost(Window(60, 60), 60, 100.0), opened_cost(Window(3600, 3600), 60, 96.0), opened_cost(Window(1, 1), 60, 100.0)
    (100.0, 1.6, 100.0)
    """
    return opened * min(1.0, batch / w.slide)


def kept_rows(step: Step, forest: Forest, statistics: WindowStatistics, size: int = 1) -> float:
    """Rows of state of a step: an instance from the rows is kept while it is open, and any while a longer one that reads it is."""
    kept = max(
        [
            step.window.range if step.source is None else 0,
            *(u.window.range for u in forest.users(step.window)),
        ]
    )
    return kept / step.window.slide * instance_rows(step.window, statistics, size)


def keeping(
    statistics: WindowStatistics, constants: Constants, size: int = 1
) -> Callable[[Window, float], float]:
    """What it costs per batch to keep the instances of a window for so many units."""
    return lambda w, length: constants.state * length / w.slide * distinct_keys(statistics, w.range * size)


def beside_steps(forest: Forest, statistics: WindowStatistics, constants: Constants, size: int = 1) -> float:
    """What a plan costs per batch beyond its steps: what is handed from one window to another, and state."""
    sources, batch = {s.source for s in forest}, statistics.batch / size
    opened = sum(
        opened_cost(s.window, batch, constants.opened)
        for s in forest
        if s.source is not None and s.window in sources
    )
    return opened + constants.state * sum(kept_rows(s, forest, statistics, size) for s in forest)


def estimates(
    forest: Forest, traits: Traits, statistics: WindowStatistics, constants: Constants | None = None
) -> tuple[StepEstimate, ...]:
    """What each step of a plan is expected to read, make, keep and cost per batch."""
    constants = constants or Constants()
    weigh = engine_weights(statistics, constants, traits)
    return tuple(_estimate(s, forest, traits, statistics, weigh, constants) for s in forest)


def _estimate(
    step: Step,
    forest: Forest,
    traits: Traits,
    statistics: WindowStatistics,
    weigh: Weigh,
    constants: Constants,
) -> StepEstimate:
    w, batch = step.window, statistics.batch
    if w.session:
        return _session_estimate(step, traits, statistics, constants)
    rows = instance_rows(w, statistics)
    if step.source is None:
        rows_in = statistics.rate * batch / SECOND
    elif step.how == "prefix":
        rows_in = batch / step.source.slide * instance_rows(step.source, statistics)
    else:
        rows_in = batch / w.slide * step.combined * instance_rows(step.source, statistics)
    kept = kept_rows(step, forest, statistics)
    opened = opened_cost(w, batch, constants.opened) if step.source is not None and forest.users(w) else 0.0
    return StepEstimate(
        step, rows_in, batch / w.slide * rows, kept, priced(step, weigh) + opened + constants.state * kept
    )


def _session_estimate(
    step: Step, traits: Traits, statistics: WindowStatistics, constants: Constants
) -> StepEstimate:
    """Sessions: rows are aggregated by slots as long as the gap, and what that makes is put in order with the sessions that are open, those of
    the keys that had a row within the gap. A session ends with each row of a key that none follows so soon."""
    batch, gap, rate = statistics.batch, step.window.range, statistics.rate
    rows = rate * batch / SECOND
    sent = min(rows, (batch + gap) / gap * distinct_keys(statistics, min(batch, gap)))
    kept = distinct_keys(statistics, gap)
    value = constants.value * rows if traits.holistic else 0.0
    work = rows * constants.row + value + sent * constants.exchange + (sent + kept) * constants.combine
    made = round(rows * exp(-rate * gap / SECOND / statistics.keys), 3)
    return StepEstimate(step, rows, made, kept, work + 2 * constants.step + constants.state * kept)
