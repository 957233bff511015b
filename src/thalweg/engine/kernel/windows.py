"""Windows in the work stage: one hash range closes what has become final, derives longer windows, and gives out results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.compile.derive import derive_sql
from thalweg.compile.windows import EmissionStep, Member, WindowCrew, bundle_facts, bundle_name, bundle_sql
from thalweg.connectors.shared import Part
from thalweg.engine.blame import blaming
from thalweg.engine.kernel.connection import query
from thalweg.engine.kernel.members import Given, shared_results
from thalweg.engine.kernel.shelf import stack
from thalweg.engine.kernel.showing import show, show_shared
from thalweg.engine.kernel.stock import Stock
from thalweg.plan.narrowed import of_groups
from thalweg.plan.nodes import Derived, Fragment
from thalweg.plan.ranges import LOWEST, Range, emitted, finalized, source_range

APART = 0.5
"""Where so few rows of pieces may be of the same instances, merging them takes longer than reading them twice."""


SPREAD = 8
"""Up to so many slots for a row, those that tables have in common are looked up one by one."""
Slots = np.ndarray[Any, np.dtype[np.int64]]
MANY = 50_000
"""From so many rows of a source on its windows are no longer computed in one pass: a statement more takes less than the pass does."""


def overlap(tables: Sequence[pa.Table]) -> float:
    """The part of the rows whose slots other tables have too; where slots are far apart, those from the first to the last of each are taken
    for its own.

    >>> overlap([pa.table({"slot": [1, 2, 3, 4]}), pa.table({"slot": [3, 4, 5, 6]})])
    0.5
    >>> overlap([pa.table({"slot": [1, 3, 5]}), pa.table({"slot": [2, 4, 6]})])
    0.0
    """
    slots = [t.column("slot").to_numpy() for t in tables if t.num_rows]
    low, high = min(int(s.min()) for s in slots), max(int(s.max()) for s in slots)
    rows = sum(len(s) for s in slots)
    return (_met(slots, low, high) if high - low < SPREAD * rows else _within(slots)) / rows


def _met(slots: Sequence[Slots], low: int, high: int) -> float:
    """How many rows have a slot that several tables have."""
    tables = np.zeros(high - low + 1, np.uint16)
    for some in slots:
        own = np.zeros_like(tables)
        own[some - low] = 1
        tables += own
    return float(sum(np.count_nonzero(tables[some - low] > 1) for some in slots))


def _within(slots: Sequence[Slots]) -> float:
    """How many rows lie where another table may have rows, if those of each are evenly spread."""
    ends, shared = [(int(s.min()), int(s.max())) for s in slots], 0.0
    for n, (some, (low, high)) in enumerate(zip(slots, ends, strict=True)):
        others = [
            (max(low, a), min(high, b)) for m, (a, b) in enumerate(ends) if m != n and a <= high and b >= low
        ]
        width = max((b for _, b in others), default=low - 1) - min((a for a, _ in others), default=low) + 1
        shared += len(some) * width / (high - low + 1)
    return shared


class WindowWork:
    """All windows of one hash range in one batch."""

    def __init__(self, stock: Stock) -> None:
        self.stock, self.compiled, self.plan = stock, stock.compiled, stock.plan
        self.shelf, self.tables, self.report = stock.shelf, stock.tables, stock.report
        self._given_out: dict[object, Range] = {}
        shared = (i for crew, _ in self.compiled.window_crews for i in crew.emissions)
        self.emitted = {i: self._emitted(i) for i in (*self.compiled.emissions, *shared)}
        self.numbers = {id(e): i for i, e in enumerate(self.plan.emissions)}

    def run(self) -> None:
        """Fragments, what is derived from them in order, then results."""
        for fragment in self.plan.fragments:
            if self.plan.has_windows(fragment):
                with blaming(self.plan.queries_of(fragment.id)):
                    if fragment.window.session:
                        self._offer_sessions(fragment)
                        continue
                    self._offer(fragment, [*self.stock.new(fragment), *self.stock.moved(fragment)])
        for derived in self.plan.derived:
            if derived.id not in self.compiled.inlined:
                with blaming(self.plan.queries_of(derived.id)):
                    self._bring(derived)
        self._results()
        for crew, parts in self.compiled.window_crews:
            with blaming(parts):
                self._shared_results(crew, parts)

    def _moves(self, stream: str) -> tuple[int | None, int | None]:
        return self.stock.before.get(stream), self.stock.frontiers.get(stream)

    def _emitted(self, number: int) -> Range:
        """Which instances are given out: the same for all who look at a window of a stream from the same time on."""
        e = self.plan.emissions[number]
        alike = self.plan.query(e.query).stream, e.window, e.begin, e.until
        if alike not in self._given_out:
            self._given_out[alike] = emitted(e, *self._moves(alike[0]))
        return self._given_out[alike]

    def _final(self, derived: Derived) -> Range:
        return finalized(derived.window, *self._moves(self.plan.fragment(derived.base).source))

    def _bring(self, derived: Derived) -> None:
        """What is derived now, what its users need, and what stays as state."""
        tables = [*self._derive(derived), *self.shelf.foreign(derived.id, derived.cut)]
        self._offer(derived, tables)
        if derived.id in self.stock.needed:
            oldest = self.stock.needed[derived.id]
            self.shelf.keep(
                derived.id,
                tables,
                oldest,
                lambda whole: self.stock.merged_between(derived, whole, (oldest, -LOWEST)),
            )

    def _uses(self, node: Fragment | Derived) -> list[tuple[object, Range]]:
        """The statements that read a node in this batch, with the ranges of instances that they need."""
        users = [self.numbers[id(e)] for e in self.plan.users(node.id)] if isinstance(node, Fragment) else []
        direct = [(i, self.emitted[i]) for i in users if i in self.emitted]
        children = self.plan.children(node.id)
        derived = [
            (self.compiled.readers.get(c.id, c.id), source_range(c, node.window, self._final(c)))
            for c in children
        ]
        return [(reader, needs) for reader, needs in (*direct, *derived) if needs[0] < needs[1]]

    def _offer(self, node: Fragment | Derived, tables: list[pa.Table]) -> None:
        """Register `all_F`: new instances and those of the state that are needed; merged once where several statements read them and many
        are in several pieces."""
        uses = self._uses(node)
        if not uses:
            return
        needs = (min(low for _, (low, _) in uses), max(high for _, (_, high) in uses))
        files = [f for f in self.shelf.files(node.id, needs[0]) if f.low < needs[1]]
        inputs = [t for t in (*tables, *map(self.shelf.read, files)) if t.num_rows]
        if not inputs:
            return
        whole = stack(inputs)
        if len({reader for reader, _ in uses}) > 1 and overlap(inputs) > APART:
            whole = self.stock.merged_between(node, whole, needs)
        self.tables.offer(f"all_{node.id}", whole)

    def _offer_sessions(self, fragment: Fragment) -> None:
        """Register `all_F`: every session that is not known to be over, those that this batch ends among them."""
        started = time.perf_counter()
        if (found := self.stock.sessions(fragment)) is not None:
            self.tables.offer(f"all_{fragment.id}", found)
            self.report.time(f"merge {fragment.id}", found.num_rows, time.perf_counter() - started)

    def _derive(self, derived: Derived) -> list[pa.Table]:
        (low, high), given = self._final(derived), self.tables.columns.get(f"all_{derived.parent}")
        if low >= high or given is None:
            return []
        started = time.perf_counter()
        asked = replace(derived, parts=tuple(p for p in derived.parts if p.name in given))
        table = query(derive_sql(asked, self.plan.node(derived.parent).window), {"low": low, "high": high})
        self.tables.offer(f"new_{derived.id}", table)
        self.report.time(f"derive {derived.id}", table.num_rows, time.perf_counter() - started)
        return [table]

    def _results(self) -> None:
        """One statement for all windows of queries that are alike."""
        by_query: dict[str, list[int]] = {}
        for i, step in self.compiled.emissions.items():
            if self.emitted[i][0] < self.emitted[i][1] and self._has_input(step):
                by_query.setdefault(self.plan.emissions[i].query, []).append(i)
        for name, emissions in by_query.items():
            started = time.perf_counter()
            with blaming(self.plan.alike[name]):
                table = query(*self._result_sql(name, emissions))
            show(self.stock.shelf.task, self.report, self.plan.alike[name], table, "work")
            self.report.time(f"emit {name}", table.num_rows, time.perf_counter() - started)

    def _shared_results(self, crew: WindowCrew, parts: dict[str, Part]) -> None:
        """One statement for the queries of a pool that make the same of a window."""
        now = [
            (self.plan.emissions[i], self.emitted[i])
            for i in crew.emissions
            if self.emitted[i][0] < self.emitted[i][1]
        ]
        there = set().union(*(self.tables.columns.get(n, set()) for n in crew.inputs))
        if (
            not now
            or not all(n in self.tables.columns for n in crew.inputs)
            or not crew.folds.keys() <= there
        ):
            return
        started = time.perf_counter()
        table = shared_results(
            crew, self.tables, [Given(parts[e.query].bit, e.bit or 0, given) for e, given in now]
        )
        show_shared(self.stock.shelf.task, self.report, self.plan, crew.pool, table, parts, "work")
        self.report.time(f"emit {crew.inputs[0]}", table.num_rows, time.perf_counter() - started)

    def _result_sql(self, name: str, emissions: list[int]) -> tuple[str, dict[str, int]]:
        """The statement for a query's windows that close now: those with a common source in one pass, the others each by itself."""
        together: dict[str, list[int]] = {}
        for i in emissions:
            if i in self.compiled.bundles:
                together.setdefault(self.compiled.bundles[i][1], []).append(i)
        together = {
            source: members
            for source, members in together.items()
            if len(members) > 1 and self.tables.held[f"all_{source}"].num_rows < MANY
        }
        texts = [self._bundle_sql(name, source, members) for source, members in together.items()]
        alone = [i for i in emissions if i not in {i for m in together.values() for i in m}]
        bounds = {f"{side}_{i}": self.emitted[i][k] for i in alone for k, side in enumerate(("low", "high"))}
        return " UNION ALL ".join([*texts, *(self.compiled.emissions[i].sql for i in alone)]), bounds

    def _bundle_sql(self, name: str, source: str, emissions: list[int]) -> str:
        asked, node, members = (
            of_groups(self.plan, name),
            self.plan.node(source),
            [self._member(i) for i in emissions],
        )
        self.tables.offer(bundle_name(asked, node), pa.table(bundle_facts(node.window, members)))
        return bundle_sql(asked, node, members)

    def _member(self, number: int) -> Member:
        emission = self.plan.emissions[number]
        derived = self.plan.node(emission.nodes[0])
        assert isinstance(derived, Derived)
        return emission, derived, self.emitted[number]

    def _has_input(self, step: EmissionStep) -> bool:
        """Rows of a result reach all of its nodes, so where one has nothing there is no result."""
        found: set[str] = set().union(*(self.tables.columns.get(n, set()) for n in step.inputs))
        return all(n in self.tables.columns for n in step.inputs) and step.parts <= found
