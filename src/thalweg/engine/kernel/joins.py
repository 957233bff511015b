"""Joins in the work stage: one hash range brings their sides together and takes the steps of each evaluation."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.evaluations.base import KEPT, MET, SENT, SHOWN, Moment, Step
from thalweg.compile.evaluations.rows import at_once, shown_outputs
from thalweg.compile.evaluations.running import final_slots, trimmed_sql
from thalweg.compile.inputs import ALL, NEW, OLD
from thalweg.compile.lengths import rarer
from thalweg.compile.sub_joins import in_order, sub_sql
from thalweg.compile.views import PAIRS, gathered, grouped, no_rows_sql
from thalweg.engine.blame import blaming
from thalweg.engine.kernel.buckets import Sender
from thalweg.engine.kernel.connection import query
from thalweg.engine.kernel.relations import relation_rows
from thalweg.engine.kernel.shelf import Merge, stack
from thalweg.engine.kernel.showing import show, show_shared
from thalweg.engine.kernel.stock import Stock
from thalweg.expr.nodes import Column
from thalweg.model.attaching import inner_streams, is_full, sides_that_wait
from thalweg.plan.grid import Cut
from thalweg.plan.instants import alive_instants, final_instants, is_emitted, times
from thalweg.plan.nodes import Fragment
from thalweg.plan.pool import ALL as ALL_BITS
from thalweg.plan.pool import SET
from thalweg.plan.ranges import Range
from thalweg.plan.shape import Shape
from thalweg.state.manifest import StateFile

RESULT = "result:"


@dataclass(frozen=True)
class Turn:
    """What a batch is to a join of instants: those that become final, whether all is made anew, and the files of what was kept."""

    shape: Shape
    final: Range
    again: bool
    kept: tuple[StateFile, ...] = ()


class JoinWork:
    """All joins of one hash range in one batch."""

    def __init__(self, stock: Stock, sender: Sender) -> None:
        self.stock, self.compiled, self.plan, self.sender = stock, stock.compiled, stock.plan, sender
        self.shelf, self.tables, self.report, self.task = (
            stock.shelf,
            stock.tables,
            stock.report,
            stock.shelf.task,
        )
        self.slots: dict[str, tuple[int, ...]] = {}
        self.sizes: dict[tuple[str, str], int] = {}
        self.rows: dict[str, pa.Table] = {}
        self.subs = {s.id: s for s in self.plan.subs}
        self.turns: dict[str, Turn] = {}

    def run(self) -> None:
        """Sides, then joins."""
        self.turns = {s.join.id: self._turn(s) for s in self.compiled.joins if s.query.every is not None}
        for fragment in self.plan.fragments:
            if self.plan.joins_of(fragment.id):
                with blaming(self.plan.queries_of(fragment.id)):
                    self._bring(fragment)
        for shape in self.compiled.joins:
            started = time.perf_counter()
            with blaming(self.plan.queries_of(shape.join.id)):
                rows = self._made(shape)
            self.report.time(f"{shape.join.evaluate} {shape.join.id}", rows, time.perf_counter() - started)

    def _made(self, shape: Shape) -> int:
        if shape.query.running is not None:
            return self._in_order(shape)
        return self._rows(shape) if shape.query.every is None else self._instants(shape)

    def _bring(self, side: Fragment) -> None:
        """Register all that is known of a side, and apart from each other what is old and what is new."""
        if side.static:
            relation = next(r for r in self.plan.relations if r.name == side.source)
            rows = relation_rows(relation, self.compiled.lifts[side.id])
            self._offer(side, rows, rows.num_rows)
            self.sizes[ALL, side.id] = rows.num_rows
            return
        edges = self._edges(side)
        old, new = [*self._old(side, edges), *self.stock.moved(side)], in_slots(self.stock.new(side), edges)
        if side.common:
            old, new = [worded(side, t) for t in old], [worded(side, t) for t in new]
        if not old and not new:
            if any(j.asked.attached for j, _ in self.plan.joins_of(side.id)):
                self._offer(side, query(no_rows_sql(side)), 0)
            return
        whole = stack([*old, *new])
        if side.early and any(EVALUATIONS[j.evaluate].wants_merged for j, _ in self.plan.joins_of(side.id)):
            whole = self.stock.merged(side, whole)
        self.stock.present[side.id] = whole
        fresh = sum(t.num_rows for t in new)
        self.sizes |= {
            (ALL, side.id): whole.num_rows,
            (NEW, side.id): fresh,
            (OLD, side.id): whole.num_rows - fresh,
        }
        self._offer(side, whole, whole.num_rows - fresh)

    def _edges(self, side: Fragment) -> list[Range] | None:
        """The slots that its joins need of a side; None where some needs all."""
        found: list[Range] = []
        for join, number in self.plan.joins_of(side.id):
            edges, turn = EVALUATIONS[join.evaluate].edges, self.turns.get(join.id)
            if edges is None or turn is None or turn.again or not turn.kept:
                return None
            if turn.final[0] < turn.final[1]:
                found += edges(turn.shape, number, turn.final)
        return found

    def _old(self, side: Fragment, edges: list[Range] | None) -> list[pa.Table]:
        """What was kept of a side, of the slots that are needed."""
        files = self.shelf.files(side.id)
        if edges is None:
            return [self.shelf.read(f) for f in files]
        some = [f for f in files if any(f.low < high and f.high >= low for low, high in edges)]
        return in_slots([self.shelf.read(f) for f in some], edges)

    def _offer(self, side: Fragment, whole: pa.Table, old: int) -> None:
        """Register a side; rows that may be results are numbered, and say whether they are new."""
        if any(j.asked.every is None for j, _ in self.plan.joins_of(side.id)):
            self.rows[side.id] = whole
            numbers = np.arange(whole.num_rows, dtype=np.int32)
            whole = whole.append_column("__row", pa.array(numbers)).append_column(
                "__new", pa.array(numbers >= old)
            )
        self.tables.offer(f"side_{side.id}", whole)

    def _complete(self, shape: Shape) -> bool:
        """Whether every stream that must have a partner has rows with all the parts that are asked for; else nothing can have been joined."""
        if is_full(shape.query):
            return any(self._has_parts(shape, n) for n in shape.streams)
        return all(self._has_parts(shape, n) for n in inner_streams(shape.query))

    def _has_parts(self, shape: Shape, number: int) -> bool:
        wanted = {p.column.name for p in shape.parts if p.input == number}
        present = self.stock.present.get(shape.sides[number].id)
        return present is not None and wanted <= set(present.column_names)

    def _rows(self, shape: Shape) -> int:
        fresh = tuple(n for n in shape.streams if any(t.num_rows for t in self.stock.new(shape.sides[n])))
        waited = (self.stock.before, self.stock.frontiers)
        if not (fresh or self._has_waited(shape)) or not self._complete(shape):
            return 0
        moment = Moment(fresh=fresh, sizes=self.sizes, waited=waited)
        if shape.join.sub and at_once(shape, moment):
            self._meet(shape.join.sub)
        return self._take(shape, moment)

    def _in_order(self, shape: Shape) -> int:
        """The rows that the frontier has passed, with what is kept of those before them."""
        id, (side,) = shape.join.id, shape.sides
        moved = [t for t in self.shelf.foreign(id, side.cut) if t.num_rows]
        kept = [*self.shelf.tables(id), *moved]
        if kept:
            self.tables.offer(KEPT, stack(kept))
        waited = (self.stock.before, self.stock.frontiers)
        if not self._complete(shape):
            self._keep(shape, moved)
            return 0
        return self._take(shape, Moment(kept=bool(kept), waited=waited), moved)

    def _has_waited(self, shape: Shape) -> bool:
        """Whether rows without a partner may come out though nothing is new."""
        moved = any(self.stock.before.get(s) != self.stock.frontiers.get(s) for s in shape.query.streams)
        return moved and bool(sides_that_wait(shape.query))

    def _meet(self, id: str) -> None:
        """A sub-join, once for all who go on from it."""
        for sub in in_order(self.subs, id):
            if (ALL, sub.id) not in self.sizes:
                started = time.perf_counter()
                table = query(sub_sql(sub, self.sizes))
                self.tables.offer(sub.id, table)
                self.sizes[ALL, sub.id] = table.num_rows
                self.report.time(f"meet {sub.id}", table.num_rows, time.perf_counter() - started)

    def _turn(self, shape: Shape) -> Turn:
        """What a batch is to a join of instants, and what is kept of it."""
        join, evaluation = shape.join, EVALUATIONS[shape.join.evaluate]
        final = final_instants(shape.query, self.stock.before, self.stock.frontiers)
        again = self.shelf.is_cut_anew(join.id) or (join.takes_over and self.shelf.begins(join.id))
        if evaluation.keeps is None or final[0] >= final[1]:
            return Turn(shape, final, again)
        files = self.shelf.files(join.id, final[0] - evaluation.keeps)
        return Turn(shape, final, again, tuple(f for f in files if f.rows))

    def _instants(self, shape: Shape) -> int:
        """Results of the instants that become final now, where there are any."""
        join, turn = shape.join, self.turns[shape.join.id]
        final, evaluation = turn.final, EVALUATIONS[join.evaluate]
        goes_on = evaluation.edges is not None and turn.kept and not turn.again
        if not (goes_on or self._complete(shape)) or (final[0] >= final[1] and not turn.again):
            return 0
        slots = tuple(self._slots(shape, n) for n in shape.streams)
        there = [(*s, (final[0] - 1) * shape.step - 1) for s in slots] if goes_on else slots
        alive = alive_instants(shape, [tuple(sorted(s)) for s in there], final) if evaluation.stands else []
        users = {
            (times(self.plan.query(e.query), join.asked), e.begin, e.until): e
            for e in self.plan.users(join.id)
        }
        shown = tuple(
            i for i in alive if any(i % n == 0 and is_emitted(e, i // n) for (n, _, _), e in users.items())
        )
        if turn.kept:
            kept = stack([self.shelf.read(f) for f in turn.kept])
            self.tables.offer(KEPT, kept)
            self.sizes[ALL, KEPT] = kept.num_rows
        moment = Moment(final, tuple(alive), shown, slots, (), self.sizes, bool(turn.kept), turn.again)
        return self._take(shape, moment)

    def _take(self, shape: Shape, moment: Moment, moved: Sequence[pa.Table] = ()) -> int:
        """The steps of an evaluation, one after another; the rows that go on."""
        made, pairs, kept, met = 0, 0, [*moved], pa.table({})
        for step in EVALUATIONS[shape.join.evaluate].steps(shape, moment):
            is_gathered = step.to == SHOWN and met.num_columns
            table = self._outputs(shape, step, met) if is_gathered else self._taken(step)
            table, found = without_pairs(table)
            pairs += table.num_rows if step.pairs else found
            if step.to == MET:
                met = self._gathered(shape, table)
            elif step.to == KEPT:
                kept.append(table)
            elif step.to == SENT:
                made += self._send(shape, table)
            elif step.to == SHOWN:
                made += self._shown(shape, table)
            else:
                self.tables.offer(step.to, table)
        self._keep(shape, kept)
        if (
            not shape.query.attached
        ):  # rows without a partner are no pairs, and of those that have one not all come out
            self.report.time(f"pairs {shape.join.id}", pairs, 0.0)
        return made

    def _shown(self, shape: Shape, table: pa.Table) -> int:
        """Results to the queries that they are of."""
        users = self.plan.users(shape.join.id)
        if not shape.join.pool:
            return show(self.task, self.report, [e.query for e in users], table, "work")
        parts = self.compiled.parts[shape.join.id]
        return show_shared(self.task, self.report, self.plan, shape.join.pool, table, parts, "work")

    def _gathered(self, shape: Shape, pairs: pa.Table) -> pa.Table:
        """What is shown of rows that have met, taken from their sides by number."""
        found = {}
        read = (*(o.expr for o in shown_outputs(shape.query)), *(t.expr for t in shape.query.kept))
        for name, (n, column) in gathered(shape, read).items():
            found[name] = (
                self.rows[shape.sides[n].id].column(column).combine_chunks().take(pairs.column(f"{n}.row"))
            )
        return pa.table(
            found | ({SET: pairs.column(SET)} if shape.join.pool else {"0.row": pairs.column("0.row")})
        )

    def _outputs(self, shape: Shape, step: Step, met: pa.Table) -> pa.Table:
        """Rows that have met as results; where these are bare columns there is nothing to compute."""
        outputs = shown_outputs(shape.query)
        if all(isinstance(o.expr, Column) for o in outputs) and not shape.query.kept:
            names = {o.name: o.expr.name for o in outputs if isinstance(o.expr, Column)} | (
                {SET: SET} if shape.join.pool else {}
            )
            return pa.table({name: met.column(column) for name, column in names.items()})
        self.tables.offer(MET, met)
        return self._taken(step)

    def _taken(self, step: Step) -> pa.Table:
        if step.instants is not None:
            self.tables.offer("inst", pa.table({"i": pa.array(step.instants, pa.int64())}))
        return query(step.sql)

    def _keep(self, shape: Shape, tables: list[pa.Table]) -> None:
        id, evaluation = shape.join.id, EVALUATIONS[shape.join.evaluate]
        if evaluation.keeps is not None and id in self.stock.needed:
            merge = self._merging(shape) if evaluation.merges else None
            self.shelf.keep(id, tables, self.stock.needed[id], merge)

    def _merging(self, shape: Shape) -> Merge:
        return lambda whole: (
            self._merged_lives(shape, whole) if shape.query.running is None else self._trimmed(shape, whole)
        )

    def _trimmed(self, shape: Shape, whole: pa.Table) -> pa.Table:
        self.tables.offer("several", whole)
        return query(
            trimmed_sql(shape, "several", final_slots(shape, (self.stock.before, self.stock.frontiers))[1])
        )

    def _merged_lives(self, shape: Shape, whole: pa.Table) -> pa.Table:
        self.tables.offer("lives", whole)
        return query(grouped(shape, ['"slot"'], 'SELECT * FROM "lives"'))

    def _send(self, shape: Shape, table: pa.Table) -> int:
        """Partial results to the partition of their group; of a pool's, those at instants that somebody who takes them is given."""
        if nths := rarer(shape):
            table = _given(table, shape.keys[-1].strip('"'), nths)
        if table.num_rows:
            self.tables.offer("partial", table)
            cut = query(f'SELECT *, {Cut((shape.groups,)).sql(self.task.partitions)} AS p FROM "partial"')
            self.sender.table(RESULT + shape.join.id, cut)
        return int(table.num_rows)

    def _slots(self, shape: Shape, number: int) -> tuple[int, ...]:
        """The slots that a side has, sorted; none where it has no rows with all the parts that are asked for."""
        id = shape.sides[number].id
        if not self._has_parts(shape, number):
            return ()
        if id not in self.slots:
            found = pc.unique(self.stock.present[id].column("slot"))
            self.slots[id] = tuple(sorted(found.to_pylist()))
        return self.slots[id]


def _given(table: pa.Table, whole: str, nths: Mapping[int, int]) -> pa.Table:
    """The groups of a pool that are given to somebody: not those of members alone whose instants are others."""
    sets, instants = table.column(whole).to_numpy(), table.column("i").to_numpy()
    for nth, bits in nths.items():
        sets = np.where(instants % nth == 0, sets, sets & np.uint64(ALL_BITS & ~bits))
    return table.take(pa.array(np.flatnonzero(sets)))


def in_slots(tables: list[pa.Table], ranges: list[Range] | None) -> list[pa.Table]:
    """The rows of tables in some ranges of slots, of tables that have any; all where there are no ranges."""
    if ranges is None:
        return tables
    return [t for t in (_in_slots(t, ranges) for t in tables) if t.num_rows]


def _in_slots(table: pa.Table, ranges: list[Range]) -> pa.Table:
    slots, found = table.column("slot"), pa.scalar(False)
    for low, high in ranges:
        found = pc.or_(found, pc.and_(pc.greater_equal(slots, low), pc.less(slots, high)))
    return table.filter(found) if ranges else table.slice(0, 0)


def without_pairs(table: pa.Table) -> tuple[pa.Table, int]:
    """A table without the column that says how many joined rows each of its rows was made of, and how many that are."""
    if PAIRS not in table.column_names:
        return table, 0
    return table.drop_columns([PAIRS]), int(pc.sum(table.column(PAIRS)).as_py() or 0)


def worded(side: Fragment, table: pa.Table) -> pa.Table:
    """Rows of a commons with all words of their query-sets: those of pools that came later are nothing in older rows."""
    for n in range(side.common):
        if (name := f"{SET}{n}") not in table.column_names:
            table = table.append_column(name, pa.nulls(table.num_rows, pa.uint64()))
    return table
