"""A plan for many windows as a frozen value: a forest in which each window is computed from the rows or from another window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from thalweg.model.windows import Window
from thalweg.once import cached_property
from thalweg.optimizer.coverage import covering_multiplier
from thalweg.optimizer.units import Scale
from thalweg.plan.pieces import Pieces, covering


@dataclass(frozen=True)
class Step:
    """How the instances of one window are computed.

    how: `rows` (each row is added to every instance it falls in); `all` (every instance of the source that lies within
    is combined, as in the paper); `sparse` (as few as cover it: one at every range of the source from the start, and
    the last); `prefix` (the difference of two running totals over the source's tumbling slots).
    combined: instances of the source per instance, 0 from the rows, 2 running totals for `prefix`.
    factor: no query asks for this window.
    State: the instances that a later step has still to read, one row per key each.
    """

    window: Window
    source: Window | None = None
    how: str = "rows"
    combined: int = 0
    factor: bool = False


@dataclass(frozen=True)
class Forest:
    """The steps of a plan, each source before the windows that are computed from it."""

    steps: tuple[Step, ...]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    @cached_property
    def of(self) -> dict[Window, Step]:
        """The step of each window."""
        return {s.window: s for s in self.steps}

    @property
    def factors(self) -> tuple[Window, ...]:
        """The windows that no query asks for."""
        return tuple(s.window for s in self.steps if s.factor)

    def users(self, window: Window) -> tuple[Step, ...]:
        """The steps that read a window."""
        return tuple(s for s in self.steps if s.source == window)


def pieces(step: Step) -> Pieces:
    """The instances of the source that make up instance m, counted from `base(step, m)`.

    For `prefix`, the slots before which the two running totals end: their difference is the instance.

    >>> [list(pieces(Step(Window(10, 2), Window(4, 2), how))) for how in ("sparse", "all")]
    [[0, 2, 3], [0, 1, 2, 3]]
    >>> list(pieces(Step(Window(10, 2), Window(2, 2), "prefix", 2)))
    [0, 5]
    """
    if step.source is None:
        return Pieces(0)
    within = covering_multiplier(step.window, step.source)
    if step.how == "prefix":
        return Pieces(2, within)
    if step.how == "all":
        return Pieces(within)
    return covering(within, max(1, step.source.range // step.source.slide))


def base(step: Step, instance: int) -> int:
    """The instance of the source that begins where an instance of the step's window begins."""
    if step.source is None:
        raise ValueError(f"{step.window} is computed from the rows")
    return (step.window.start(instance) - step.source.offset) // step.source.slide


def in_time(forest: Forest, scale: Scale) -> Forest:
    """A forest over windows that are counted in units as one over windows in microseconds."""

    def scaled(step: Step) -> Step:
        return replace(
            step, window=scale.up(step.window), source=None if step.source is None else scale.up(step.source)
        )

    return Forest(tuple(map(scaled, forest.steps)))
