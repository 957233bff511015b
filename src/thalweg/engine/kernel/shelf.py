"""The state of one hash range in one batch: what the last manifest names, and what the batch writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.engine.faults import reach
from thalweg.engine.kernel.compiled import recut
from thalweg.engine.kernel.connection import HASH, Tables, query
from thalweg.engine.task import Notes, Task
from thalweg.plan.grid import Cut
from thalweg.plan.ranges import LOWEST
from thalweg.state.compaction import are_few, to_merge, to_rewrite
from thalweg.state.files import overlaps, read_state, write_state
from thalweg.state.manifest import Manifest, StateFile

Merge = Callable[[pa.Table], pa.Table]


class Shelf:
    """Reads and writes tables with a column "slot" under names of their meaning."""

    def __init__(self, task: Task, report: Notes, before: Manifest) -> None:
        self.task, self.report, self.before = task, report, before
        self._recut = recut(task, before)

    def files(self, id: str, oldest: int = LOWEST) -> list[StateFile]:
        """The files of this very hash range."""
        return [
            f
            for f in self._named(id)
            if not self._is_foreign(f) and f.part == self.report.part and f.high >= oldest
        ]

    def read(self, file: StateFile) -> pa.Table:
        """The table in a file."""
        return read_state(self.task.state, file)

    def tables(self, id: str, oldest: int = LOWEST) -> list[pa.Table]:
        """What this hash range has from `oldest` on."""
        return [self.read(f) for f in self.files(id, oldest)]

    def begins(self, id: str) -> bool:
        """Whether this is the first batch of a plan, and there is nothing of that name yet."""
        return Path(self.task.plan).name != self.before.plan and not self._named(id)

    def is_cut_anew(self, id: str) -> bool:
        """Whether there are files that were cut by another parallelism or another hash."""
        return any(self._is_foreign(f) for f in self._named(id))

    def foreign(self, id: str, cut: Cut) -> list[pa.Table]:
        """Rows that belong here in files that were cut in another way than now; of copies one is read."""
        return self._belonging(id, [f for f in self._named(id) if self._is_foreign(f)], cut)

    def all_of(self, id: str, cut: Cut) -> list[pa.Table]:
        """Rows of a name that belong here when they are cut in some way, whatever way they are cut in."""
        if self._recut.splits.get(id) == cut.split:
            return [*self.tables(id), *self.foreign(id, cut)]
        return self._belonging(id, self._named(id), cut)

    def _belonging(self, id: str, files: Sequence[StateFile], cut: Cut) -> list[pa.Table]:
        part, parts, old = (
            self.report.part,
            self.task.partitions,
            replace(cut, split=self._recut.splits.get(id)),
        )
        home = cut.home(part, parts)
        if home is None:
            return []
        anywhere = (
            self.before.hash != HASH or not cut.nests or cut.split != old.split or cut.split is not None
        )
        return [
            self._own_rows(f, old, cut, home)
            for f in files
            if cut.home(f.part, f.parts) == f.part and (anywhere or overlaps(f, part, parts))
        ]

    def keep(
        self, id: str, tables: list[pa.Table], oldest: int, merge: Merge | None, block: int | None = None
    ) -> None:
        """Write what later batches need, merging small files on the way.

        With `block` only files of the same so many slots are merged, and files at the edge are cut: what has expired is gone soon.
        Rows that are few are one file, written anew: that takes no longer than a file of the new ones alone.
        """
        kept = [k for t in tables if (k := from_slot(t, oldest)).num_rows]
        files = self.files(id, oldest)
        if block is None:
            self._rewrite(id, kept, to_merge(files), oldest, merge)
            return
        if merge is None and are_few(files, sum(k.num_rows for k in kept)):
            if kept or any(f.low < oldest for f in files):
                self._rewrite(id, kept, files, oldest, merge)
            return
        self._rewrite(id, kept, (), oldest, merge)
        for group in to_rewrite(files, oldest, block):
            self._rewrite(id, [], group, oldest, merge)

    def _rewrite(
        self, id: str, tables: list[pa.Table], files: Sequence[StateFile], oldest: int, merge: Merge | None
    ) -> None:
        """Write new tables and what is still needed of some files as one file in their place."""
        if not tables and not files:
            return
        started = time.perf_counter()
        whole = stack([*tables, *(from_slot(self.read(f), oldest) for f in files)])
        if files:
            whole = merge(whole) if merge is not None else whole
            self.report.merged += [f.path for f in files]
        self._write(id, whole)
        self.report.time(f"keep {id}", whole.num_rows, time.perf_counter() - started)

    def replace(self, id: str, whole: pa.Table) -> None:
        """Write a table in the place of all files of this hash range."""
        self.report.merged += [f.path for f in self.files(id)]
        self._write(id, whole)

    def _write(self, id: str, whole: pa.Table) -> None:
        reach("work:before-state", self.task.fault)
        if whole.num_rows:
            made = write_state(
                self.task.state, id, whole, self.task.batch, self.report.part, self.task.partitions
            )
            self.report.files.append(made)
        reach("work:after-state", self.task.fault)

    def _named(self, id: str) -> tuple[StateFile, ...]:
        return self.before.of(id)

    def _is_foreign(self, file: StateFile) -> bool:
        is_other = file.parts != self.task.partitions or self.before.hash != HASH
        return is_other or file.fragment in self._recut.ids

    def _own_rows(self, file: StateFile, old: Cut, cut: Cut, home: int) -> pa.Table:
        """The rows of a file that belong here. Those of a value that is split now are dealt out by their number in the file."""
        table, parts = self.read(file), self.task.partitions
        numbers = pa.array(np.arange(table.num_rows))
        is_dealt = cut.split is not None and cut.split.dealt
        with Tables() as tables:
            tables.offer("foreign", table.append_column("__n", numbers))
            place = cut.sql(parts, f'"__n" % {parts}' if is_dealt else str(home))
            once = self._once(file, old, tables)
            return query(f'SELECT * EXCLUDE ("__n") FROM "foreign" WHERE {place} = {home} AND {once}')

    def _once(self, file: StateFile, old: Cut, tables: Tables) -> str:
        """Whether a row of a file is no copy of one in the first hash range, which has all that was copied.

        By another hash than now values were split that are not known any more: they are those that the first hash range has too.
        """
        if old.split is None or old.split.dealt or file.part == 0:
            return "TRUE"
        if self.before.hash == HASH:
            return f"NOT ({old.hot_sql})"
        first = [self.read(f) for f in self._named(file.fragment) if f.part == 0]
        if not first:
            return "TRUE"
        tables.offer("first", stack(first))
        alike = " AND ".join(f'"first".{c} = "foreign".{c}' for c in old.columns)
        return f'NOT EXISTS (FROM "first" WHERE {alike})'


def stack(tables: list[pa.Table]) -> pa.Table:
    """Tables of one meaning as one; a part that an older file lacks is NULL there."""
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")


def from_slot(table: pa.Table, oldest: int) -> pa.Table:
    """The rows of a table from a slot on."""
    if oldest <= LOWEST or table.num_rows == 0:
        return table
    return table.filter(pc.greater_equal(table.column("slot"), oldest))


def renamed(table: pa.Table, old: str, new: str) -> pa.Table:
    """A table with one column under another name."""
    return table.rename_columns([new if c == old else c for c in table.column_names])
