"""Joins in the work stage: one hash range brings its sides forward and evaluates what has become final."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.engine.faults import reach
from thalweg.engine.kernel.buckets import Sender
from thalweg.engine.kernel.compiled import Compiled
from thalweg.engine.kernel.connection import Tables, query
from thalweg.engine.kernel.relations import relation_rows
from thalweg.engine.kernel.shelf import Merge, Shelf, renamed, stack
from thalweg.plan import invalidation, join_sql
from thalweg.plan.grid import Cut
from thalweg.plan.instants import alive_instants, block_of, final_instants, needed_slots, next_instant
from thalweg.plan.join_views import Shape, grouped, merge_side_sql
from thalweg.plan.nodes import Side
from thalweg.plan.ranges import LOWEST, Range
from thalweg.sinks.parquet import stage

RESULT = "result:"


class JoinWork:
    """All joins of one hash range in one batch."""

    def __init__(
        self,
        compiled: Compiled,
        shelf: Shelf,
        arrived: Mapping[str, list[pa.Table]],
        frontiers: dict[str, int | None],
        sender: Sender,
    ) -> None:
        self.compiled, self.shelf, self.arrived, self.frontiers, self.sender = compiled, shelf, arrived, frontiers, sender
        self.task, self.report = shelf.task, shelf.report
        self.needed = needed_slots(compiled.plan, frontiers)
        self.moved: dict[str, list[pa.Table]] = {}
        self.present: dict[str, pa.Table] = {}
        self.slots: dict[str, list[int]] = {}
        self.sizes: dict[tuple[str, str], int] = {}
        self.tables = Tables()

    def run(self) -> None:
        """Sides, then joins, then what stays of the sides."""
        with self.tables:
            for side in self.compiled.plan.sides:
                self._bring(side)
            for shape in self.compiled.joins:
                self._join(shape)
            for side in self.compiled.plan.sides:
                if side.id in self.needed:
                    self._keep(side)

    def _keep(self, side: Side) -> None:
        """What stays of a side: all but the slots that nobody needs, or what the strategy of its join leaves."""
        started = time.perf_counter()
        users = [(s, n) for s in self.compiled.joins for n, id in enumerate(s.join.sides) if id == side.id]
        gone = [self._gone(shape, number) for shape, number in users]
        if side.id in self.present and all(gone):
            table = query(f'SELECT * FROM "side_{side.id}" WHERE NOT ({" AND ".join(f"({g})" for g in gone)})')
            self.shelf.replace(side.id, table)
            self.report.time(f"keep {side.id}", table.num_rows, time.perf_counter() - started)
            return
        tables = [*self.arrived.get(side.id, []), *self.moved[side.id]]
        blocks = [block_of(shape, number) for shape, number in users]
        block = None if None in blocks else max(b for b in blocks if b is not None)
        self.shelf.keep(side.id, tables, self.needed[side.id], self._merging(side), block)

    def _gone(self, shape: Shape, number: int) -> str | None:
        """The rows that a join's strategy takes out of one of its sides; None where it drops files, or looks at no row."""
        if shape.join.invalidate == invalidation.SLOT:
            return None
        fresh = [n for n in shape.streams if self.arrived.get(shape.sides[n].id)]
        return invalidation.gone_sql(shape, number, self.frontiers, fresh)

    def _bring(self, side: Side) -> None:
        """Register all that is known of a side, and apart from each other what is old and what is new."""
        if side.static:
            relation = next(r for r in self.compiled.plan.relations if r.name == side.source)
            rows = relation_rows(relation, self.compiled.sides[side.id])
            self.tables.offer(f"side_{side.id}", rows)
            self.sizes[join_sql.ALL, side.id] = rows.num_rows
            return
        self.moved[side.id] = [*self.shelf.foreign(side.id, side.cut), *self._inherited(side)]
        old, new = [*self.shelf.tables(side.id), *self.moved[side.id]], self.arrived.get(side.id, [])
        if not old and not new:
            return
        whole = stack([*old, *new])
        self.present[side.id] = whole
        self.tables.offer(f"side_{side.id}", whole)
        fresh = sum(t.num_rows for t in new)
        self.sizes |= {
            (join_sql.ALL, side.id): whole.num_rows,
            (join_sql.NEW, side.id): fresh,
            (join_sql.OLD, side.id): whole.num_rows - fresh,
        }
        if side.timed:
            self.tables.offer(f"old_{side.id}", stack(old) if old else whole.slice(0, 0))
            self.tables.offer(f"new_{side.id}", stack(new) if new else whole.slice(0, 0))

    def _inherited(self, side: Side) -> list[pa.Table]:
        """What an aggregation set that takes over from rows begins with."""
        if side.origin is None or not self.shelf.begins(side.id):
            return []
        rows = [*self.shelf.tables(side.origin), *self.shelf.foreign(side.origin, side.cut)]
        ones = [t.append_column("n", pa.array(np.ones(t.num_rows, np.int64))) for t in rows if t.num_rows]
        return [self._merged_side(side, stack(ones))] if ones else []

    def _join(self, shape: Shape) -> None:
        started = time.perf_counter()
        rows = self._rows(shape) if shape.query.every is None else self._instants(shape)
        self.report.time(f"{shape.join.evaluate} {shape.query.name}", rows, time.perf_counter() - started)

    def _complete(self, shape: Shape) -> bool:
        """Whether every stream has rows with all the parts that are asked for; else nothing can have been joined."""
        for number in shape.streams:
            side = shape.sides[number]
            wanted = {p.column.name for p in shape.parts if p.input == number}
            if side.id not in self.present or not wanted <= set(self.present[side.id].column_names):
                return False
        return True

    def _rows(self, shape: Shape) -> int:
        fresh = [n for n in shape.streams if any(t.num_rows for t in self.arrived.get(shape.sides[n].id, []))]
        if not fresh or not self._complete(shape):
            return 0
        table = query(join_sql.rows_sql(shape, fresh, self.sizes))
        if table.num_rows:
            reach("work:before-results", self.task.fault)
            staged = stage(self.task.outputs[shape.query.name], table, self.task.batch, self.report.part)
            reach("work:after-results", self.task.fault)
            self.report.results.append((shape.query.name, staged, table.num_rows))
        return int(table.num_rows)

    def _instants(self, shape: Shape) -> int:
        """Results of the instants that become final now, where there are any."""
        final = final_instants(shape.query, self.task.frontiers, self.frontiers)
        again = self.shelf.is_cut_anew(shape.join.id) or (shape.join.takes_over and self.shelf.begins(shape.join.id))
        if not self._complete(shape) or (final[0] >= final[1] and not again):
            return 0
        alive = alive_instants(shape, [self._slots(shape.sides[n].id) for n in shape.streams], final)
        begin, until = shape.join.begin, shape.join.until
        shown = [i for i in alive if (begin is None or i >= begin) and (until is None or i < until)]
        if shape.join.evaluate == "snapshot":
            return self._send(shape, self._snapshot(shape, shown)) if shown else 0
        if shape.join.evaluate == "delta":
            return self._delta(shape, final, alive, shown, again)
        return self._expiry(shape, final, shown, again)

    def _snapshot(self, shape: Shape, instants: list[int]) -> pa.Table:
        self._offer_instants(instants)
        return query(join_sql.snapshot_sql(shape, (instants[0], instants[-1] + 1), _many(shape, instants), self.sizes))

    def _expiry(self, shape: Shape, final: Range, shown: list[int], again: bool) -> int:
        """Credit new pairs to the instant of their death; an instant merges what has not died.

        After another cut of the hash ranges, and where this way takes over, all pairs are new: what is kept must be of the rows that are
        here.
        """
        pairs = shape.join.evaluate == "materialize"
        low = LOWEST if final[0] == LOWEST or again else (final[0] - 1) * shape.step
        slots = (low, (final[1] - 1) * shape.step)
        fresh = [n for n in shape.streams if any(slots[0] <= s < slots[1] for s in self._slots(shape.sides[n].id))]
        known = [_living(t) for t in self.shelf.tables(shape.join.id, final[0])]
        kept, sources, range_ = [], [], (shown[0], shown[-1] + 1) if shown else (0, 0)
        if fresh:
            given = shape, slots, final[0], fresh, self.sizes
            born = query(join_sql.pairs_sql(*given) if pairs else join_sql.born_sql(*given, range_))
            self.tables.offer("born", born)
            kept.append(query(join_sql.remaining_sql(shape, final[1] - 1)))
            known += [born] if pairs else []
            sources += [] if pairs else ["born"]
        self._keep_evaluation(shape, kept)
        if known:
            self.tables.offer("alive", stack(known))
            sources.append("alive")
        if not sources or not shown:
            return 0
        self._offer_instants(shown)
        return self._send(shape, query(join_sql.alive_sql(shape, range_, sources)))

    def _delta(self, shape: Shape, final: Range, alive: list[int], shown: list[int], again: bool) -> int:
        """Add what enters and subtract what leaves, instant by instant."""
        self._merge_sides(shape)
        base = [t for t in self.shelf.tables(shape.join.id, final[0] - 1) if t.num_rows]
        if again and final[0] > LOWEST:
            self._offer_instants([final[0] - 1])
            base = [renamed(query(join_sql.base_sql(shape, final[0] - 1, self.sizes)), "i", "slot")]
        instants = sorted({j for i in alive for j in (i, i + 1) if j < final[1]} | ({final[0]} if base and final[0] < final[1] else set()))
        sources = []
        if instants:
            self._offer_instants(instants)
            self.tables.offer(
                "changes", query(join_sql.delta_sql(shape, (instants[0], instants[-1] + 1), _many(shape, instants), self.sizes))
            )
            sources.append("changes")
        if base:
            self.tables.offer("base", renamed(stack(base), "slot", "i"))
            sources.append("base")
        if not sources:
            return 0
        self.tables.offer("totals", query(join_sql.totals_sql(shape, sources)))
        self._keep_evaluation(shape, [query(join_sql.last_totals_sql(shape, final[1] - 1))])
        if not shown:
            return 0
        self._offer_instants(shown)
        return self._send(shape, query(join_sql.standing_sql(shape)))

    def _merge_sides(self, shape: Shape) -> None:
        """One row per columns and slot, so that a row leaves as it entered."""
        for number in shape.streams:
            side = self.compiled.plan.side(shape.sides[number].id)
            if side.early and side.id in self.present:
                self.tables.offer(f"side_{side.id}", self._merged_side(side, self.present[side.id]))

    def _keep_evaluation(self, shape: Shape, tables: list[pa.Table]) -> None:
        id = shape.join.id
        if id in self.needed:
            merge = None if shape.join.evaluate != "expiry" else lambda whole: self._merged_lives(shape, whole)
            self.shelf.keep(id, tables, self.needed[id], merge)

    def _merged_lives(self, shape: Shape, whole: pa.Table) -> pa.Table:
        self.tables.offer("lives", whole)
        return query(grouped(shape, ['"slot"'], 'SELECT * FROM "lives"'))

    def _merging(self, side: Side) -> Merge | None:
        """How pieces of an aggregation set become one; rows stay as they are."""
        return (lambda whole: self._merged_side(side, self._collapsed(side, whole))) if side.early else None

    def _collapsed(self, side: Side, whole: pa.Table) -> pa.Table:
        """An aggregation set that is only read whole, from its beginning on: what all later instants have in common is one slot."""
        users = [(s, n) for s in self.compiled.joins for n, id in enumerate(s.join.sides) if id == side.id]
        if any(s.span(n) is not None or s.visible(n) != "TRUE" for s, n in users):
            return whole
        common = min((next_instant(s.query, self.frontiers) - 1) * s.step for s, _ in users) - 1
        slots = pc.if_else(pc.less(whole.column("slot"), common), common, whole.column("slot")) if common > LOWEST else whole.column("slot")
        return whole.set_column(whole.column_names.index("slot"), "slot", slots)

    def _merged_side(self, side: Side, whole: pa.Table) -> pa.Table:
        self.tables.offer("pieces", whole)
        return query(merge_side_sql(_given(side, whole), '"pieces"'))

    def _send(self, shape: Shape, table: pa.Table) -> int:
        """Partial results to the partition of their group."""
        if table.num_rows:
            self.tables.offer("partial", table)
            cut = query(f'SELECT *, {Cut((shape.keys,)).sql(self.task.partitions)} AS p FROM "partial"')
            self.sender.table(RESULT + shape.query.name, cut)
        return int(table.num_rows)

    def _slots(self, id: str) -> list[int]:
        """The slots that a side has, sorted."""
        if id not in self.slots:
            found = pc.unique(self.present[id].column("slot")) if id in self.present else pa.array([], pa.int64())
            self.slots[id] = sorted(found.to_pylist())
        return self.slots[id]

    def _offer_instants(self, instants: Iterable[int]) -> None:
        self.tables.offer("inst", pa.table({"i": pa.array(instants, pa.int64())}))


def _given(side: Side, table: pa.Table) -> Side:
    """The side with the parts that a table has: older files lack the parts of newer queries."""
    return replace(side, parts=tuple(p for p in side.parts if p.name in table.column_names))


def _many(shape: Shape, instants: list[int]) -> bool:
    """Whether it is less to put every row into all of its instants than to look for its rows at every instant."""
    spans = [s for n in shape.streams if (s := shape.span(n)) is not None]
    return bool(spans) and len(instants) * shape.step >= max(spans)


def _living(table: pa.Table) -> pa.Table:
    """Kept partial results as they stand beside new ones: born long ago."""
    return renamed(table, "slot", "d").append_column("b", pa.array(np.full(table.num_rows, LOWEST, np.int64)))
