"""What one hash range has of every fragment in a batch: what arrived, what moved here, and what stays as state."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.compile import invalidation
from thalweg.compile.pieces import merge_sql, present
from thalweg.compile.retention import block_of
from thalweg.engine.blame import blaming
from thalweg.engine.kernel.compiled import Compiled
from thalweg.engine.kernel.connection import Tables, query
from thalweg.engine.kernel.shelf import Merge, Shelf, from_slot, stack
from thalweg.plan.instants import next_instant
from thalweg.plan.nodes import COUNTED, Derived, Fragment
from thalweg.plan.ranges import LOWEST, Frontiers, Range
from thalweg.plan.shape import Shape


class Stock:
    """The fragments of one hash range; `needed` is what is to be kept of what, from which slot on."""

    def __init__(
        self,
        compiled: Compiled,
        shelf: Shelf,
        arrived: Mapping[str, list[pa.Table]],
        frontiers: dict[str, int | None],
        kept: Mapping[str, int],
    ) -> None:
        self.compiled, self.plan, self.shelf, self.arrived, self.frontiers = (
            compiled,
            compiled.plan,
            shelf,
            arrived,
            frontiers,
        )
        self.report = shelf.report
        self.needed = kept
        self.tables = Tables()
        self.present: dict[str, pa.Table] = {}
        self._moved: dict[str, list[pa.Table]] = {}
        self._sessions: dict[str, pa.Table | None] = {}
        self._shapes = {s.join.id: s for s in compiled.joins}

    @property
    def before(self) -> Frontiers:
        """The frontiers before the batch."""
        return self.shelf.task.frontiers

    def new(self, fragment: Fragment) -> list[pa.Table]:
        """What the batch brought."""
        return self.arrived.get(fragment.id, [])

    def moved(self, fragment: Fragment) -> list[pa.Table]:
        """What came here from other hash ranges, or from rows that it takes over from."""
        if fragment.id not in self._moved:
            self._moved[fragment.id] = [
                *self.shelf.foreign(fragment.id, fragment.cut),
                *self._inherited(fragment),
            ]
        return self._moved[fragment.id]

    def _inherited(self, fragment: Fragment) -> list[pa.Table]:
        """What an aggregation set that takes over from rows begins with."""
        if fragment.origin is None or not self.shelf.begins(fragment.id):
            return []
        rows = self.shelf.all_of(fragment.origin, fragment.cut)
        ones = [
            t.append_column(COUNTED.name, pa.array(np.ones(t.num_rows, np.int64))) for t in rows if t.num_rows
        ]
        return [self.merged(fragment, stack(ones))] if ones else []

    def merged(self, fragment: Fragment, whole: pa.Table) -> pa.Table:
        """Pieces of an aggregation set as one row per columns and slot."""
        self.tables.offer("pieces", whole)
        return query(merge_sql(present(fragment, whole.column_names), '"pieces"', bounded=False))

    def sessions(self, fragment: Fragment) -> pa.Table | None:
        """The open sessions of a fragment, with what the batch brought; None where there are none."""
        if fragment.id not in self._sessions:
            fresh = self._fresh(fragment)
            tables = [*fresh, *self.shelf.tables(fragment.id)]
            whole = stack(tables) if tables else None
            self._sessions[fragment.id] = self.merged(fragment, whole) if fresh and whole else whole
        return self._sessions[fragment.id]

    def _fresh(self, fragment: Fragment) -> list[pa.Table]:
        return [t for t in (*self.new(fragment), *self.moved(fragment)) if t.num_rows]

    def merged_between(self, node: Fragment | Derived, table: pa.Table, needs: Range) -> pa.Table:
        """The instances of a range as one row per key each."""
        started = time.perf_counter()
        self.tables.offer(f"in_{node.id}", table)
        asked = present(node, table.column_names) if isinstance(node, Fragment) else node
        merged = query(merge_sql(asked, f'"in_{node.id}"'), {"low": needs[0], "high": needs[1]})
        self.report.time(f"merge {node.id}", merged.num_rows, time.perf_counter() - started)
        return merged

    def keep(self) -> None:
        """Write what later batches need of every fragment."""
        for fragment in self.plan.fragments:
            if fragment.id in self.needed and not fragment.static:
                with blaming(self.plan.queries_of(fragment.id)):
                    self._keep(fragment)

    def _keep(self, fragment: Fragment) -> None:
        """What stays: all but the slots that nobody needs, or what the strategy of its joins leaves."""
        if fragment.window.session:
            return self._keep_sessions(fragment)
        users = [(self._shapes[j.id], n) for j, n in self.plan.joins_of(fragment.id)]
        tables, oldest = [*self.new(fragment), *self.moved(fragment)], self.needed[fragment.id]
        if not users:
            self.shelf.keep(
                fragment.id,
                tables,
                oldest,
                lambda whole: self.merged_between(fragment, whole, (oldest, -LOWEST)),
            )
        elif not self._replaced(fragment, users):
            blocks = [block_of(shape, number) for shape, number in users]
            block = (
                None
                if None in blocks or self.plan.has_windows(fragment)
                else max(b for b in blocks if b is not None)
            )
            self.shelf.keep(fragment.id, tables, oldest, self._merging(fragment, users), block)

    def _keep_sessions(self, fragment: Fragment) -> None:
        """Sessions that are open stay, each as one row; they are written where any is new, longer or closed."""
        started, whole = time.perf_counter(), self.sessions(fragment)
        if whole is None:
            return
        kept = from_slot(whole, self.needed[fragment.id])
        if kept.num_rows < whole.num_rows or self._fresh(fragment):
            self.shelf.replace(fragment.id, kept)
            self.report.time(f"keep {fragment.id}", kept.num_rows, time.perf_counter() - started)

    def _replaced(self, fragment: Fragment, users: list[tuple[Shape, int]]) -> bool:
        """Whether the strategies of all its joins looked at its rows, and what they left was written in its place."""
        started = time.perf_counter()
        gone = [self._gone(shape, number) for shape, number in users]
        if fragment.id not in self.present or not all(gone):
            return False
        table = query(
            f'SELECT * EXCLUDE ("__row", "__new") FROM "side_{fragment.id}" WHERE NOT ({" AND ".join(f"({g})" for g in gone)})'
        )
        self.shelf.replace(fragment.id, table)
        self.report.time(f"keep {fragment.id}", table.num_rows, time.perf_counter() - started)
        return True

    def _gone(self, shape: Shape, number: int) -> str | None:
        """The rows that a join's strategy takes out of one of its sides; None where it drops files, or looks at no row."""
        if shape.join.invalidate == invalidation.SLOT:
            return None
        fresh = [n for n in shape.streams if self.new(shape.sides[n])]
        return invalidation.gone_sql(shape, number, self.frontiers, fresh)

    def _merging(self, fragment: Fragment, users: list[tuple[Shape, int]]) -> Merge | None:
        """How pieces of an aggregation set become one; rows stay as they are."""
        return (
            (lambda whole: self.merged(fragment, self._collapsed(fragment, whole, users)))
            if fragment.early
            else None
        )

    def _collapsed(self, fragment: Fragment, whole: pa.Table, users: list[tuple[Shape, int]]) -> pa.Table:
        """An aggregation set that is only read whole, from its beginning on: what all later instants have in common is one slot."""
        if self.plan.has_windows(fragment) or any(
            s.span(n) is not None or s.visible(n) != "TRUE" for s, n in users
        ):
            return whole
        common = min((next_instant(s.query, self.frontiers) - 1) * s.step for s, _ in users) - 1
        slots = (
            pc.if_else(pc.less(whole.column("slot"), common), common, whole.column("slot"))
            if common > LOWEST
            else whole.column("slot")
        )
        return whole.set_column(whole.column_names.index("slot"), "slot", slots)
