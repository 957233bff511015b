"""Joins in the work stage: one hash range brings their sides together and takes the steps of each evaluation."""

from __future__ import annotations

import time

import pyarrow as pa
import pyarrow.compute as pc

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.evaluations.base import KEPT, SENT, SHOWN, Moment, Step
from thalweg.compile.inputs import ALL, NEW, OLD
from thalweg.compile.views import grouped
from thalweg.engine.kernel.buckets import Sender
from thalweg.engine.kernel.connection import query
from thalweg.engine.kernel.relations import relation_rows
from thalweg.engine.kernel.shelf import stack
from thalweg.engine.kernel.showing import show, show_shared
from thalweg.engine.kernel.stock import Stock
from thalweg.plan.grid import Cut
from thalweg.plan.instants import alive_instants, final_instants, is_emitted
from thalweg.plan.nodes import Fragment
from thalweg.plan.shape import Shape

RESULT = "result:"


class JoinWork:
    """All joins of one hash range in one batch."""

    def __init__(self, stock: Stock, sender: Sender) -> None:
        self.stock, self.compiled, self.plan, self.sender = stock, stock.compiled, stock.plan, sender
        self.shelf, self.tables, self.report, self.task = stock.shelf, stock.tables, stock.report, stock.shelf.task
        self.slots: dict[str, tuple[int, ...]] = {}
        self.sizes: dict[tuple[str, str], int] = {}

    def run(self) -> None:
        """Sides, then joins."""
        for fragment in self.plan.fragments:
            if self.plan.joins_of(fragment.id):
                self._bring(fragment)
        for shape in self.compiled.joins:
            started = time.perf_counter()
            rows = self._rows(shape) if shape.query.every is None else self._instants(shape)
            self.report.time(f"{shape.join.evaluate} {shape.join.id}", rows, time.perf_counter() - started)

    def _bring(self, side: Fragment) -> None:
        """Register all that is known of a side, and apart from each other what is old and what is new."""
        if side.static:
            relation = next(r for r in self.plan.relations if r.name == side.source)
            rows = relation_rows(relation, self.compiled.lifts[side.id])
            self.tables.offer(f"side_{side.id}", rows)
            self.sizes[ALL, side.id] = rows.num_rows
            return
        old, new = [*self.shelf.tables(side.id), *self.stock.moved(side)], self.stock.new(side)
        if not old and not new:
            return
        whole = stack([*old, *new])
        if side.early and any(EVALUATIONS[j.evaluate].wants_merged for j, _ in self.plan.joins_of(side.id)):
            whole = self.stock.merged(side, whole)
        self.stock.present[side.id] = whole
        self.tables.offer(f"side_{side.id}", whole)
        fresh = sum(t.num_rows for t in new)
        self.sizes |= {(ALL, side.id): whole.num_rows, (NEW, side.id): fresh, (OLD, side.id): whole.num_rows - fresh}
        if side.timed:
            self.tables.offer(f"old_{side.id}", stack(old) if old else whole.slice(0, 0))
            self.tables.offer(f"new_{side.id}", stack(new) if new else whole.slice(0, 0))

    def _complete(self, shape: Shape) -> bool:
        """Whether every stream has rows with all the parts that are asked for; else nothing can have been joined."""
        for number in shape.streams:
            side = shape.sides[number]
            wanted = {p.column.name for p in shape.parts if p.input == number}
            present = self.stock.present.get(side.id)
            if present is None or not wanted <= set(present.column_names):
                return False
        return True

    def _rows(self, shape: Shape) -> int:
        fresh = tuple(n for n in shape.streams if any(t.num_rows for t in self.stock.new(shape.sides[n])))
        if not fresh or not self._complete(shape):
            return 0
        return self._take(shape, Moment(fresh=fresh, sizes=self.sizes))

    def _instants(self, shape: Shape) -> int:
        """Results of the instants that become final now, where there are any."""
        join, evaluation = shape.join, EVALUATIONS[shape.join.evaluate]
        final = final_instants(shape.query, self.stock.before, self.stock.frontiers)
        again = self.shelf.is_cut_anew(join.id) or (join.takes_over and self.shelf.begins(join.id))
        if not self._complete(shape) or (final[0] >= final[1] and not again):
            return 0
        slots = tuple(self._slots(shape.sides[n].id) for n in shape.streams)
        alive = alive_instants(shape, slots, final)
        users = self.plan.users(join.id)
        shown = tuple(i for i in alive if any(is_emitted(e, i) for e in users))
        kept = [] if evaluation.keeps is None else [t for t in self.shelf.tables(join.id, final[0] - evaluation.keeps) if t.num_rows]
        if kept:
            self.tables.offer(KEPT, stack(kept))
        return self._take(shape, Moment(final, tuple(alive), shown, slots, (), self.sizes, bool(kept), again))

    def _take(self, shape: Shape, moment: Moment) -> int:
        """The steps of an evaluation, one after another; the rows that go on."""
        made, kept = 0, []
        for step in EVALUATIONS[shape.join.evaluate].steps(shape, moment):
            table = self._taken(step)
            if step.to == KEPT:
                kept.append(table)
            elif step.to == SENT:
                made += self._send(shape, table)
            elif step.to == SHOWN:
                made += self._shown(shape, table)
            else:
                self.tables.offer(step.to, table)
        self._keep(shape, kept)
        return made

    def _shown(self, shape: Shape, table: pa.Table) -> int:
        """Results to the queries that they are of."""
        users = self.plan.users(shape.join.id)
        if not shape.join.pool:
            return show(self.task, self.report, [e.query for e in users], table, "work")
        parts = self.compiled.parts[shape.join.id]
        return show_shared(self.task, self.report, self.plan, shape.join.pool, table, parts, "work")

    def _taken(self, step: Step) -> pa.Table:
        if step.instants is not None:
            self.tables.offer("inst", pa.table({"i": pa.array(step.instants, pa.int64())}))
        return query(step.sql)

    def _keep(self, shape: Shape, tables: list[pa.Table]) -> None:
        id, evaluation = shape.join.id, EVALUATIONS[shape.join.evaluate]
        if evaluation.keeps is not None and id in self.stock.needed:
            merge = (lambda whole: self._merged_lives(shape, whole)) if evaluation.merges else None
            self.shelf.keep(id, tables, self.stock.needed[id], merge)

    def _merged_lives(self, shape: Shape, whole: pa.Table) -> pa.Table:
        self.tables.offer("lives", whole)
        return query(grouped(shape, ['"slot"'], 'SELECT * FROM "lives"'))

    def _send(self, shape: Shape, table: pa.Table) -> int:
        """Partial results to the partition of their group."""
        if table.num_rows:
            self.tables.offer("partial", table)
            cut = query(f'SELECT *, {Cut((shape.groups,)).sql(self.task.partitions)} AS p FROM "partial"')
            self.sender.table(RESULT + shape.join.id, cut)
        return int(table.num_rows)

    def _slots(self, id: str) -> tuple[int, ...]:
        """The slots that a side has, sorted."""
        if id not in self.slots:
            present = self.stock.present.get(id)
            found = pc.unique(present.column("slot")) if present is not None else pa.array([], pa.int64())
            self.slots[id] = tuple(sorted(found.to_pylist()))
        return self.slots[id]
