"""The first stage of a batch: chunks of the streams become buckets of partial aggregates, by hash range."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.compile.lifts import heavy_sql, statistics_sql
from thalweg.compile.roll_up import rolled_table
from thalweg.compile.unions import united_sql
from thalweg.connectors.base import sink_at
from thalweg.connectors.inbox import check_left
from thalweg.connectors.reading.footers import Facts, check_footers, may_misfit
from thalweg.connectors.reading.naming import local_path
from thalweg.engine.blame import Blamed, blaming
from thalweg.engine.faults import Aborted, reach
from thalweg.engine.kernel.buckets import Sender, unpack
from thalweg.engine.kernel.chunks import check_filled, check_times, files_sql, scan_sql
from thalweg.engine.kernel.compiled import Compiled, compiled
from thalweg.engine.kernel.connection import Tables, check_reach, connection, keep, query, run
from thalweg.engine.kernel.judging import is_environment
from thalweg.engine.kernel.reporting import begin, check_functions, described, of_function
from thalweg.engine.kernel.sifting import Sifted, sifted
from thalweg.engine.task import Control, Made, SideCount, StreamFacts, Task, Trouble
from thalweg.errors import DataError
from thalweg.expr.nested import holds_floats
from thalweg.model.nesting import all_nested
from thalweg.model.query import Query, QueryInput
from thalweg.model.reading import columns_judged, columns_read
from thalweg.model.stream import Column, Stream
from thalweg.once import cached_property
from thalweg.plan.nodes import Fragment
from thalweg.plan.ranges import LOWEST
from thalweg.state.local import flush
from thalweg.state.manifest import StepTime


@dataclass
class Chunks:
    """What one task got of one stream."""

    paths: list[str] = field(default_factory=list)
    tables: list[pa.Table] = field(default_factory=list)


def ingest(batches: Iterable[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
    """Turn the chunks of a task into buckets and one control row for every partition."""
    found = _collect(batches)
    if not found:
        return
    sender = Sender(task.partitions)
    steps: dict[str, StepTime] = {}
    streams: dict[str, StreamFacts] = {}
    failure: Trouble | None = None
    try:
        reach("ingest:start", task.fault)
        begin(task)
        plan = compiled(task.plan)
        for name, chunks in found.items():
            streams[name] = StreamIngest(plan, plan.plan.stream(name), task, sender, steps).run(chunks)
        check_functions(task)
    except Aborted:
        raise
    except Exception as e:
        failure = described(of_function(task) or e)
        sender.rows.clear()
    sender.control(Control(streams, steps, failure))
    yield from sender.batches()


def _collect(batches: Iterable[pa.RecordBatch]) -> dict[str, Chunks]:
    found: dict[str, Chunks] = {}
    for batch in batches:
        for stream, path, data in zip(
            batch.column("stream"), batch.column("path"), batch.column("data"), strict=True
        ):
            chunks = found.setdefault(stream.as_py(), Chunks())
            if path.is_valid:
                chunks.paths.append(local_path(path.as_py()))
            else:
                chunks.tables.append(unpack(data))
    return found


class StreamIngest:
    """Reads the chunks of one stream once for all fragments that start from its rows."""

    def __init__(
        self, plan: Compiled, stream: Stream, task: Task, sender: Sender, steps: dict[str, StepTime]
    ) -> None:
        self.plan, self.stream, self.task, self.sender, self.steps = plan, stream, task, sender, steps
        self.files = stream.stored
        self.fragments = plan.lifted.get(stream.name, [])
        # Written here: what can't be is the fault of the plan, not of the query whose step it is.
        self.lifts = plan.lifts
        self.facts = StreamFacts()
        frontier = task.frontiers.get(stream.name)
        self.frontier = LOWEST if frontier is None else frontier

    @cached_property
    def conditions(self) -> dict[tuple[str, ...], list[str]]:
        """Each set of conditions on the rows of the stream, with the queries that read it so: asked of late rows alone."""
        return _conditions(self.plan, self.stream)

    def run(self, chunks: Chunks) -> StreamFacts:
        """Facts about what was read."""
        self.facts = replace(self.facts, files=len(chunks.paths))
        if chunks.tables:
            with Tables() as tables:
                tables.offer("chunk", pa.concat_tables(chunks.tables))
                self._read("chunk")
        if chunks.paths:
            self._read_files(chunks.paths)
        return self.facts

    def _read_files(self, paths: list[str]) -> None:
        """Read files; where one is bad, or has bad rows, stop with its name, or set that aside and read the rest."""
        sent, before = len(self.sender.rows), deepcopy(self.facts)
        check_reach(paths)
        check_left(paths)
        try:
            check_filled(self.files, paths)
            known = check_footers(self.files, paths)
            self._read(files_sql(self.files, paths), known, paths)
        except (duckdb.Error, DataError, Blamed) as error:
            del self.sender.rows[sent:]
            if is_environment(error):
                raise
            found = sifted(self.files, paths, self._judged)
            if not found.is_bad:
                raise
            self.facts = before
            self._set_aside(found)
            if found.source is not None:
                self._read(found.source)
            found.forget()

    def _set_aside(self, found: Sifted) -> None:
        """Stage what is bad where bad rows go, and count it."""
        reach("ingest:before-bad-rows", self.task.fault)
        self._stage(f"bad:{self.stream.name}", found.bad)
        self.facts = replace(
            self.facts, bad_rows=found.bad_rows, bad_files=found.bad_files, set_aside=found.first
        )
        reach("ingest:after-bad-rows", self.task.fault)

    def _stage(self, output: str, rows: pa.Table) -> None:
        """Stage rows for an output that is no query's."""
        sink = sink_at(self.task.outputs[output])
        staged = sink.stage(rows, self.task.batch, 0)
        if self.task.durable:
            flush(sink.staged_files(staged))
        self.facts = replace(self.facts, staged=(*self.facts.staged, (output, staged)))

    def _read(self, source: str, known: Facts | None = None, paths: Sequence[str] = ()) -> None:
        """Scan a source: counts, late rows, and every fragment's partial aggregates. Footers that say enough save a pass."""
        started = time.perf_counter()
        with blaming(self._pooled):
            scanned = self._scan(source, known is not None, paths)
        on_time = known is not None and known.low >= self.frontier
        rows, top, late, untimed = (
            (known.rows, known.top, 0, 0) if known is not None and on_time else self._counts()
        )
        if untimed:
            check_times(self.files, paths)
        self._time(f"scan {self.stream.name}", rows, started)
        self._lift_all(self.stream.name, rows)
        if late:
            with blaming(dict.fromkeys(name for names in self.conditions.values() for name in names)):
                self._late_rows(source)
        for union, part in self.plan.united.get(self.stream.name, ()):
            self._unite(union, part, scanned)
        f = self.facts
        highest = max((t for t in (f.top, top) if t is not None), default=None)
        self.facts = replace(
            f, rows=f.rows + rows, late=f.late + late, untimed=f.untimed + untimed, top=highest
        )

    def _scan(self, source: str, near: bool, paths: Sequence[str]) -> str:
        """A view where the rows are read once from a columnar file; a table where they would be parsed again and again. Returns its rows."""
        rows = scan_sql(self.stream, source, self._scanned(paths), near, self.task.moment)
        if (
            self.task.scan == "table"
            or self.stream.format != "parquet"
            or sum(f.id not in self.plan.rolled for f in self.fragments)
            + len(self.plan.united.get(self.stream.name, ()))
            > 1
            or self._is_apart(paths)
        ):
            if sets := self.plan.sets(self.stream.name):
                rows = f"SELECT *, {sets} FROM ({self._values(rows)})"
            run(f"CREATE OR REPLACE TEMP TABLE scan_rows AS {rows}")
            run("DROP TABLE IF EXISTS scan_values")
            rows = "SELECT * FROM scan_rows"
        run(f"CREATE OR REPLACE TEMP VIEW scan AS {rows}")
        return rows

    def _unite(self, union: str, part: QueryInput, scanned: str) -> None:
        """Lift rows as those of a union that they are part of, and of the unions that this is part of."""
        rows, fragments = united_sql(part, scanned, self.frontier), self.plan.lifted.get(union, [])
        if fragments:
            with blaming(dict.fromkeys(n for f in fragments for n in self.plan.plan.queries_of(f.id))):
                count = self._scan_united(union, rows, fragments)
            self._lift_all(union, count)
        for other, its_part in self.plan.united.get(union, ()):
            self._unite(other, its_part, rows)

    def _scan_united(self, union: str, rows: str, fragments: Sequence[Fragment]) -> int:
        """Rows of a union in the place of the stream's; how many, where that is asked."""
        sets = self.plan.sets(union)
        if sum(f.id not in self.plan.rolled for f in fragments) > 1 or sets:
            run(
                f"CREATE OR REPLACE TEMP TABLE united AS SELECT {', '.join(['*', *([sets] if sets else [])])} FROM ({rows})"
            )
            rows = "SELECT * FROM united"
        run(f"CREATE OR REPLACE TEMP VIEW scan AS {rows}")
        looked = self.task.look and any(f.counted for f in fragments)
        return int(run("SELECT count(*) FROM scan")[0][0]) if looked else 0

    def _values(self, rows: str) -> str:
        """Rows of which query-sets are computed: out of the reach of Parquet's statistics where a float decides."""
        if self.stream.format != "parquet" or not self._judges_floats():
            return rows
        run(f"CREATE OR REPLACE TEMP TABLE scan_values AS {rows}")
        return "SELECT * FROM scan_values"

    @property
    def _asked(self) -> list[Query]:
        """All that is computed from the rows."""
        return [*self.plan.plan.asked, *(j.asked for j in self.plan.plan.joins)]

    def _scanned(self, paths: Sequence[str]) -> frozenset[str]:
        """The columns that queries read; all where a value may not fit and late rows are kept, with all columns."""
        if self.stream.late_rows and (self.stream.format != "parquet" or may_misfit(self.files, paths)):
            return frozenset(self.stream.types)
        known = frozenset((*self.stream.types, *self.stream.fields))
        kept = (f.reads & known for f in self.fragments)
        return frozenset().union(*(columns_read(q, self.stream.name) for q in self._asked), *kept)

    @property
    def _judged(self) -> list[Column]:
        """The columns whose values decide whether a row is bad: those that are read, at most."""
        read = (
            frozenset(self.stream.types) if self.stream.late_rows else self._scanned(()) | {self.stream.time}
        )
        behind = self.stream.behind(read)
        return [c for c in (*self.files.columns, *self.stream.fields.values()) if c.name in behind]

    def _is_apart(self, paths: Sequence[str]) -> bool:
        """Whether rows must be read before anything is computed with them, so that no condition hides a value that does not fit."""
        return any(f.pool for f in self.fragments) or self._judges_floats() or may_misfit(self.files, paths)

    @property
    def _pooled(self) -> Iterator[str]:
        """The queries whose query-sets are computed as rows are read."""
        return (name for f in self.fragments if f.pool for name in self.plan.plan.queries_of(f.id))

    def _judges_floats(self) -> bool:
        """Whether a float is more than the argument of an aggregate. Parquet's least and greatest values leave out NaN, so a
        comparison that is decided by them would be wrong for it."""
        judged = frozenset().union(*(columns_judged(q, self.stream.name) for q in self._asked))
        behind = judged | self.stream.behind((*judged, self.stream.time))
        columns = (*self.stream.columns, *self.stream.fields.values())
        return any(c.name in behind for c in columns if holds_floats(c.type))

    def _counts(self) -> tuple[int, int | None, int, int]:
        late = f'count(*) FILTER (WHERE "__time" < {self.frontier})'
        row = run(
            f'SELECT count(*), max("__time"), {late}, count(*) FILTER (WHERE "__time" IS NULL) FROM scan'
        )[0]
        return int(row[0]), row[1], int(row[2]), int(row[3])

    def _lift_all(self, stream: str, rows: int) -> None:
        """Every fragment of the rows that are scanned: the stream's, or those of a union."""
        for name, table in self.plan.cells.get(stream, {}).items():
            keep(name, table)
        with Tables() as made:
            for fragment in self.plan.lifted.get(stream, ()):
                with blaming(self.plan.plan.queries_of(fragment.id)):
                    self._lift(fragment, rows, made)

    def _lift(self, fragment: Fragment, rows: int, made: Tables) -> None:
        """What is made for a fragment: of the rows, or of what was made for another one, which stays at hand for those that need it."""
        started = time.perf_counter()
        lift, partitions = self.lifts[fragment.id], self.task.partitions
        given = {} if fragment.id in self.plan.rolled else {"frontier": self.frontier}
        table = query(f"SELECT *, {fragment.cut.sql(partitions)} AS p FROM ({lift})", given)
        if fragment.id in self.plan.rolled_from:
            made.offer(rolled_table(fragment.id), table)
        if fragment.early and not fragment.window.session:
            self.facts.made[fragment.id] = Made(table.num_rows, len(pc.unique(table.column("slot"))))
        self.sender.table(fragment.id, table, fragment.cut.copies(partitions), fragment.split)
        if self.task.look and fragment.counted:
            self.facts.sides[fragment.id] = (
                *self.facts.sides.get(fragment.id, ()),
                self._side_count(fragment, rows),
            )
        self._time(f"lift {fragment.id}", table.num_rows, started)

    def _side_count(self, fragment: Fragment, rows: int) -> SideCount:
        """How many values a side's columns have, and which of them are frequent."""

        def found(sql: str) -> Any:
            return connection().execute(sql, {"frontier": self.frontier}).fetchall()

        chosen, values, *keys = found(statistics_sql(fragment, with_sets=False))[0]
        heavy = [
            tuple(found(heavy_sql(fragment, some, rows, with_sets=False))) if some else ()
            for some in fragment.counted
        ]
        return SideCount(rows, int(chosen), int(values), tuple(map(int, keys)), tuple(heavy))

    def _late_rows(self, source: str) -> None:
        late = f'"__time" < {self.frontier}'
        for conditions, count in zip(self.conditions, self._late_counts(late), strict=True):
            for name in self.conditions[conditions]:
                self.facts.late_by_query[name] = self.facts.late_by_query.get(name, 0) + count
        if self.stream.late_rows:
            reach("ingest:before-late-rows", self.task.fault)
            self._stage(
                f"late:{self.stream.name}",
                query(
                    f'SELECT * EXCLUDE ("__time") FROM ({scan_sql(self.stream, source, moment=self.task.moment)}) WHERE {late}'
                ),
            )
            reach("ingest:after-late-rows", self.task.fault)

    def _late_counts(self, late: str) -> tuple[int, ...]:
        """Late rows that satisfy each set of conditions, in one pass."""
        chosen = [" AND ".join(f"({c})" for c in conditions) or "TRUE" for conditions in self.conditions]
        counts = ", ".join(f"count(*) FILTER (WHERE {c})" for c in chosen)
        return tuple(run(f"SELECT {counts} FROM scan WHERE {late}")[0]) if counts else ()

    def _time(self, step: str, rows: int, started: float) -> None:
        self.steps[step] = self.steps.get(step, StepTime()).plus(rows, (time.perf_counter() - started) * 1000)


def _conditions(plan: Compiled, stream: Stream) -> dict[tuple[str, ...], list[str]]:
    """Each set of conditions on the rows of a stream, with the queries that read it so; a join may read it more than once."""
    found: dict[tuple[str, ...], list[str]] = {}
    for q in plan.plan.queries:
        for given in (i for inner in (q, *all_nested((q,))) for i in inner.inputs):
            if given.is_stream and given.source == stream.name:
                found.setdefault(tuple(c.sql for c in given.where), []).append(q.name)
    return found
