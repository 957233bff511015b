"""The stages of a batch after the second: one task per hash range makes results of the partial ones that groups of joins have, and
works on what reads the results of other queries."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.compile.evaluations import EVALUATIONS
from thalweg.compile.landmarks import kept_sql, newest_sql, told_sql, totals_sql
from thalweg.compile.results import changes_sql, groups_sql, last_groups_sql, members_sql, results_sql
from thalweg.compile.retention import changes_id, needed
from thalweg.engine.blame import blaming
from thalweg.engine.kernel.buckets import Sender, receive
from thalweg.engine.kernel.compiled import Compiled, Crew, compiled, compiled_at, manifest
from thalweg.engine.kernel.connection import Tables, query, run
from thalweg.engine.kernel.joins import RESULT
from thalweg.engine.kernel.levels import Arrived, pass_on, work_on
from thalweg.engine.kernel.reporting import partition, reported
from thalweg.engine.kernel.shelf import Shelf, renamed, stack
from thalweg.engine.kernel.showing import show, show_shared
from thalweg.engine.task import Handover, Instants, Notes, Task
from thalweg.model.query import Query
from thalweg.plan.grid import Cut
from thalweg.plan.instants import final_instants, is_emitted, times
from thalweg.plan.narrowed import of_groups
from thalweg.plan.nodes import Emission
from thalweg.plan.pool import numbered
from thalweg.plan.ranges import HIGHEST, LOWEST

PARTIAL = '"partial"'


def finish(
    batches: Iterable[pa.RecordBatch], task: Task, part: int | None = None
) -> Iterator[pa.RecordBatch]:
    """What a level makes of the one before it, in one hash range, added to the report of that one."""
    tables, said = receive(batches, Handover)
    mine, sender = partition() if part is None else part, Sender(task.partitions)
    report = next((Notes.of(h.report) for h in said if h.report.part == mine), Notes(mine))
    level, last = said[0].level if said else 1, task.last
    frontiers = said[0].frontiers if said else {}
    if said and not any(h.report.failed for h in said):
        reported(report, task, lambda: _went_on(level, tables, task, report, sender, frontiers))
    if level == last:
        yield pa.RecordBatch.from_pydict({"report": [report.json()]})
        return
    sender.control(Handover(report.report(), frontiers, level + 1))
    yield from sender.batches()


def _went_on(
    level: int, tables: Arrived, task: Task, report: Notes, sender: Sender, frontiers: Instants
) -> None:
    """Groups of the joins of the level before, then what is read on this one."""
    before = compiled_at(task.plan, level - 1)
    if before.crews or before.finished:
        _Finish(before, task, report, tables, frontiers).run()
    if compiled(task.plan).plan.nested:
        work_on(level, tables, task, report, sender, frontiers)
        pass_on(task, report, sender)


def of_member(table: pa.Table, column: str, bit: int) -> pa.Table:
    """The rows of a pool that one member takes, without their query-sets."""
    sets = table.column(column).to_numpy()
    return table.take(pa.array(np.flatnonzero(sets & np.uint64(1 << bit)))).drop_columns([column])


def at_own_instants(table: pa.Table, nth: int) -> pa.Table:
    """What a pool has at every `nth` of its instants, by the number that a member gives them."""
    if nth == 1:
        return table
    instants = table.column("i").to_numpy()
    own = np.flatnonzero(instants % nth == 0)
    place = table.column_names.index("i")
    return table.take(pa.array(own)).set_column(place, "i", pa.array(instants[own] // nth))


def members_table(sets: pa.ChunkedArray, emissions: Sequence[Emission]) -> pa.Table:
    """For each query-set that there is the members in it, and the instants that each is given."""
    found = np.unique(sets.to_numpy())
    emissions = list({e.bit: e for e in emissions}.values())  # those that ask the same have one bit
    bits = np.array([1 << (e.bit or 0) for e in emissions], np.uint64)
    low = np.array([LOWEST if e.begin is None else e.begin for e in emissions], np.int64)
    high = np.array([HIGHEST if e.until is None else e.until for e in emissions], np.int64)
    at, member = np.nonzero(found[:, None] & bits[None, :])
    return pa.table({"set": found[at], "bit": bits[member], "low": low[member], "high": high[member]})


class _Finish:
    """The groups of one hash range."""

    def __init__(
        self, asked: Compiled, task: Task, report: Notes, tables: Arrived, frontiers: Instants
    ) -> None:
        self.task, self.report, self.tables, self.frontiers = task, report, tables, frontiers
        self.compiled, self.plan = asked, asked.plan
        self.shelf = Shelf(task, report, manifest(task))
        self.needed = needed(self.plan, frontiers)
        self.offered = Tables()
        self.instants = 1
        self._kept: set[str] = set()

    def run(self) -> None:
        """Queries that are alike once, whichever of their plans are running; members of a pool that ask the same of its groups at once."""
        with self.offered:
            for crew in self.compiled.crews:
                started = time.perf_counter()
                with blaming(crew.parts):
                    rows = self._crew(crew)
                self.report.time(f"finish {crew.join}", rows, time.perf_counter() - started)
            for name in self.compiled.finished:
                started, asked = time.perf_counter(), of_groups(self.plan, name)
                with blaming(self.plan.alike[name]):
                    rows = self._finished(asked)
                self.report.time(f"finish {name}", rows, time.perf_counter() - started)

    def _crew(self, crew: Crew) -> int:
        """Results of members of a pool in one statement."""
        tables = [t for t in self.tables.get(RESULT + crew.join, ()) if t.num_rows]
        if not tables:
            return 0
        whole, first = stack(tables), numbered(self.plan.query(crew.emissions[0].query))
        self.offered.offer("partial", whole)
        self.offered.offer("members", members_table(whole.column(f"k{len(first.keys)}"), crew.emissions))
        table = query(members_sql(first, PARTIAL, '"members"', crew.nth))
        return show_shared(
            self.task, self.report, self.plan, self.plan.join(crew.join).pool, table, crew.parts, "finish"
        )

    def _finished(self, asked: Query) -> int:
        if not asked.changes:
            return self._groups(asked)
        join = self.plan.join(self.plan.given_to(asked.name)[-1].nodes[0])
        return self._changes(asked) if EVALUATIONS[join.evaluate].stands else self._gained(asked)

    def _partial(self, asked: Query) -> bool:
        """Offer what the joins of a query sent of the instants that each of them gives out, as `partial`; False where that is nothing."""
        found = []
        for emission in self.plan.given_to(asked.name):
            for table in self.tables.get(RESULT + emission.nodes[0], ()):
                own = at_own_instants(table, times(asked, self.plan.join(emission.nodes[0]).asked))
                shown = [i for i in pc.unique(own.column("i")).to_pylist() if is_emitted(emission, i)]
                given = own.filter(pc.is_in(own.column("i"), pa.array(shown, pa.int64())))
                found.append(
                    given if emission.bit is None else of_member(given, f"k{len(asked.keys)}", emission.bit)
                )
        found = [t for t in found if t.num_rows]
        if found:
            whole = stack(found)
            self.offered.offer("partial", whole)
            self.instants = len(pc.unique(whole.column("i")))
        if found and (asked.having is not None or asked.unnested) and self.task.look:
            self._learn(
                asked, run(f"SELECT count(*) FROM ({groups_sql(asked, PARTIAL, having=False)})")[0][0]
            )
        return bool(found)

    def _groups(self, asked: Query) -> int:
        if not self._partial(asked):
            return 0
        shown = self._show(asked, query(results_sql(asked, PARTIAL)))
        if asked.having is None and not asked.unnested:
            self._learn(asked, shown)
        return shown

    def _learn(self, asked: Query, groups: int) -> None:
        """How many groups an instant has is a statistic; what a pool makes is not known by one of its members."""
        if self.plan.given_to(asked.name)[-1].bit is not None:
            return
        self.report.groups[self.plan.given_to(asked.name)[-1].nodes[0]] = groups / self.instants

    def _changes(self, asked: Query) -> int:
        id = changes_id(self.plan, asked)
        keys = tuple(f'"k{i}"' for i in range(len(asked.keys)))
        moved = self.shelf.foreign(id, Cut((keys,)))
        low, high = final_instants(asked, self.task.frontiers, self.frontiers)
        if low >= high:
            self._keep(id, moved, high)
            return 0
        last = [t for t in (*self.shelf.tables(id, low - 1), *moved) if t.num_rows]
        sources = []
        if last:
            self.offered.offer("last", renamed(stack(last), "slot", "i"))
            sources.append("last")
        if self._partial(asked):
            now = query(groups_sql(asked, PARTIAL))
            self.offered.offer("now", now)
            if asked.having is None:
                self._learn(asked, now.num_rows)
            sources.append("now")
        if not sources:
            return 0
        shown = self._show(asked, query(changes_sql(asked, sources, high)))
        self._keep(id, [query(last_groups_sql(asked, sources, high - 1))], high)
        return shown

    def _gained(self, asked: Query) -> int:
        """Groups that something enters, and no others: they never lose a row."""
        id, shown = changes_id(self.plan, asked), 0
        kept = moved = self.shelf.foreign(id, Cut((tuple(f'"k{i}"' for i in range(len(asked.keys))),)))
        if self._partial(asked):
            if last := [t for t in (*self.shelf.tables(id), *moved) if t.num_rows]:
                self.offered.offer("last", renamed(stack(last), "slot", "i"))
            self.offered.offer("totals", query(totals_sql(asked, bool(last))))
            shown, kept = self._show(asked, query(told_sql(asked))), [*moved, query(kept_sql(asked))]
        if id not in self._kept:
            self._kept.add(id)
            oldest = self.needed.get(id, HIGHEST)
            self.shelf.keep(id, kept, oldest, lambda whole: self._newest(asked, whole))
        return shown

    def _newest(self, asked: Query, whole: pa.Table) -> pa.Table:
        self.offered.offer("several", whole)
        return query(newest_sql(asked, '"several"'))

    def _keep(self, id: str, groups: list[pa.Table], high: int) -> None:
        """Keep the groups of an instant: once, though queries that ask the same may be computed apart."""
        if id not in self._kept:
            self._kept.add(id)
            self.shelf.keep(id, groups, self.needed.get(id, high), None)

    def _show(self, asked: Query, table: pa.Table) -> int:
        return show(self.task, self.report, self.plan.alike[asked.name], table, "finish")
