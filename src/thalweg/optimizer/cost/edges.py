"""What each way to compute a window costs, in a form that the search can add up fast.

Both cost models, the paper's and the engine's, have the same shape. An instance of W1 made of c instances of W2 costs
`times(W1) * (c * reads(W2) + moves(W1)) + fixed(W1)`, times being how often the instance recurs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from thalweg.model.windows import Window
from thalweg.optimizer.combining import combined, prefix_possible
from thalweg.optimizer.coverage import covering_multiplier
from thalweg.optimizer.forest import Step
from thalweg.optimizer.traits import Features, Traits


@dataclass(frozen=True, eq=False, slots=True)
class Vertex:
    """A window with its weights.

    times: instances per period. reads: cost of reading one instance. totals: of adding one to a running total.
    moves: cost per instance that no source saves. fixed: cost of the step itself. root: cost of the whole window from the
    rows. factor: not asked for.
    """

    window: Window
    times: float
    reads: float
    totals: float
    moves: float
    fixed: float
    root: float
    factor: bool


Weigh = Callable[[Window, bool], Vertex]
"""A cost model: gives a window, asked for or a factor window, its weights."""


@dataclass(frozen=True)
class Edges:
    """The ways between windows that an aggregate and the features in use allow, and their costs."""

    traits: Traits
    features: Features

    def cost(self, w1: Vertex, w2: Vertex) -> float:
        """The least cost of computing W1 from W2, infinite if it can't be."""
        if w1.factor and w2.factor and not self.features.chains:
            return inf
        count = combined(w1.window, w2.window, self.traits, self.features)
        if not count:
            return inf
        plain = w1.times * (count * w2.reads + w1.moves) + w1.fixed
        return min(plain, self._prefix(w1, w2)) if self.traits.invertible else plain

    def step(self, w1: Vertex, w2: Vertex | None) -> Step:
        """The way of least cost as a step of a plan."""
        if w2 is None:
            return Step(w1.window, factor=w1.factor)
        source = w2.window
        if self._prefix(w1, w2) <= self.cost(w1, w2):
            return Step(w1.window, source, "prefix", 2, w1.factor)
        count = combined(w1.window, source, self.traits, self.features)
        how = "all" if count == covering_multiplier(w1.window, source) else "sparse"
        return Step(w1.window, source, how, count, w1.factor)

    def _prefix(self, w1: Vertex, w2: Vertex) -> float:
        if not prefix_possible(w1.window, w2.window, self.traits, self.features):
            return inf
        return prefix_cost(w1, w2)


def prefix_cost(w1: Vertex, w2: Vertex) -> float:
    """Each instance of W2 is added to the running total once; each of W1 takes two totals."""
    return w2.times * w2.totals + 2 * w1.times * w1.reads + w1.fixed


def priced(step: Step, weigh: Weigh) -> float:
    """The cost of one step of a plan, whatever way it takes."""
    w1 = weigh(step.window, step.factor)
    if step.source is None:
        return w1.root
    w2 = weigh(step.source, False)
    return (
        prefix_cost(w1, w2)
        if step.how == "prefix"
        else w1.times * (step.combined * w2.reads + w1.moves) + w1.fixed
    )
