"""Whether a plan is right: each instance is put together, interval by interval, from what its step reads."""

from __future__ import annotations

from collections.abc import Collection

from thalweg.errors import InternalError
from thalweg.model.windows import Window
from thalweg.optimizer.forest import Forest, Step, base, pieces
from thalweg.optimizer.traits import Traits

INSTANCES = (-3, -1, 0, 1, 7)


def check(forest: Forest, windows: Collection[Window], traits: Traits) -> None:
    """Raise InternalError unless the forest computes exactly the windows asked for, each in a way the aggregate allows."""
    known: set[Window] = set()
    for step in forest:
        _demand(step.window not in known, step, "is computed twice")
        _demand(step.factor == (step.window not in windows), step, "is wrongly marked as asked for or factor")
        _demand(step.source is None or step.source in known, step, "comes before its source")
        _check_ways(step, traits)
        known.add(step.window)
    missing = set(windows) - known
    if missing:
        raise InternalError(f"the plan lacks {', '.join(map(str, sorted(missing)))}")
    unused = set(forest.factors) - {s.source for s in forest}
    if unused:
        raise InternalError(f"no step reads {', '.join(map(str, sorted(unused)))}")


def _check_ways(step: Step, traits: Traits) -> None:
    _demand(step.how in ("rows", "all", "sparse", "prefix"), step, f"has no way named {step.how}")
    _demand(
        (step.source is None) == (step.how == "rows"),
        step,
        f"can't have the source {step.source} by {step.how}",
    )
    _demand(
        step.combined == len(pieces(step)),
        step,
        f"combines {len(pieces(step))} instances, not {step.combined}",
    )
    if step.source is None:
        return
    _check_edges(step, step.source)
    _demand(
        step.how != "prefix" or (traits.invertible and not traits.holistic),
        step,
        "subtracts what can't be subtracted",
    )
    for instance in INSTANCES:
        _check_instance(step, step.source, instance, traits)


def _check_edges(step: Step, source: Window) -> None:
    """A slice must lie in an instance as a whole or not at all: rows are counted where it begins."""
    for edge in (step.window.start(0), step.window.end(0)) if source.edges else ():
        found = any(step.window.slide % s == 0 and (edge - o) % s == 0 for s, o in source.edges)
        _demand(found, step, f"has an edge at {edge} within a slice")


def _check_instance(step: Step, source: Window, instance: int, traits: Traits) -> None:
    """The intervals read, in order: each must begin at the end of the one before, or, where overlap is safe, not after it."""
    first, last = step.window.start(instance), step.window.end(instance)
    _demand((first - source.offset) % source.slide == 0, step, "begins within an instance of its source")
    numbers = [base(step, instance) + piece for piece in pieces(step)]
    if step.how == "prefix":
        _demand(source.tumbling, step, "has running totals over slots that overlap")
        numbers = list(range(*numbers))
    reached = first
    for number in numbers:
        start, end = source.start(number), source.end(number)
        _demand(first <= start and end <= last, step, f"reads [{start}, {end}) outside of [{first}, {last})")
        _demand(start <= reached, step, f"leaves a gap before {start}")
        _demand(traits.may_overlap or start == reached, step, f"counts [{start}, {reached}) twice")
        reached = end
    _demand(reached == last, step, f"ends at {reached}, not {last}")


def _demand(condition: bool, step: Step, fault: str) -> None:
    if not condition:
        raise InternalError(f"window {step.window} {fault}")
