"""The first stage of a batch: chunks of the streams become buckets of partial aggregates, by hash range."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.engine.faults import Aborted, reach
from thalweg.engine.kernel.buckets import Sender, unpack
from thalweg.engine.kernel.chunks import Facts, check_file, check_footers, check_times, files_sql, local_path, scan_sql
from thalweg.engine.kernel.compiled import Compiled, compiled
from thalweg.engine.kernel.connection import Tables, clean_message, connection, query, run
from thalweg.engine.task import Task, describe_error
from thalweg.errors import DataError, InternalError
from thalweg.logical.join import JoinQuery
from thalweg.logical.stream import Stream
from thalweg.plan.arithmetic import identifier
from thalweg.plan.join_views import statistics_sql
from thalweg.plan.nodes import Fragment, Side
from thalweg.plan.ranges import LOWEST
from thalweg.sinks.parquet import stage


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
    facts: dict[str, Any] = {"streams": {}, "steps": {}, "error": None}
    try:
        reach("ingest:start", task.fault)
        plan = compiled(task.plan)
        for name, chunks in found.items():
            facts["streams"][name] = _StreamIngest(plan, plan.plan.stream(name), task, sender, facts["steps"]).run(chunks)
    except Aborted:
        raise
    except Exception as e:
        facts["error"] = describe_error(e if not isinstance(e, duckdb.Error) else InternalError(clean_message(e)))
        sender.rows.clear()
    sender.control(facts)
    yield from sender.batches()


def _collect(batches: Iterable[pa.RecordBatch]) -> dict[str, Chunks]:
    found: dict[str, Chunks] = {}
    for batch in batches:
        for stream, path, data in zip(batch.column("stream"), batch.column("path"), batch.column("data"), strict=True):
            chunks = found.setdefault(stream.as_py(), Chunks())
            if path.is_valid:
                chunks.paths.append(local_path(path.as_py()))
            else:
                chunks.tables.append(unpack(data))
    return found


class _StreamIngest:
    """Reads the chunks of one stream once for all fragments that start from its rows."""

    def __init__(self, plan: Compiled, stream: Stream, task: Task, sender: Sender, steps: dict[str, list[float]]) -> None:
        self.plan, self.stream, self.task, self.sender, self.steps = plan, stream, task, sender, steps
        self.fragments = [f for f in plan.plan.fragments if f.stream == stream.name and f.source is None]
        self.sides = [s for s in plan.plan.sides if s.source == stream.name and not s.static]
        self.conditions = _conditions(plan, stream)
        self.kept: dict[str, list[tuple[int, ...]]] = {}
        self.groups: dict[str, tuple[int, int]] = {}
        frontier = task.frontiers.get(stream.name)
        self.frontier = LOWEST if frontier is None else frontier

    def run(self, chunks: Chunks) -> dict[str, Any]:
        """Facts about what was read."""
        facts: dict[str, Any] = {"rows": 0, "late": 0, "untimed": 0, "top": None, "late_by_query": {}, "late_files": [], "bad": []}
        if chunks.tables:
            with Tables() as tables:
                tables.offer("chunk", pa.concat_tables(chunks.tables))
                self._read("chunk", facts)
        if chunks.paths:
            self._read_files(chunks.paths, facts)
        facts["groups"], facts["sides"] = self.groups, self.kept
        return facts

    def _read_files(self, paths: list[str], facts: dict[str, Any]) -> None:
        """Read files; where one is bad, stop with its name, or leave it out if the stream says so."""
        sent = len(self.sender.rows)
        try:
            known = check_footers(self.stream, paths)
            self._read(files_sql(self.stream, paths), facts, known, paths)
        except (duckdb.Error, DataError) as error:
            del self.sender.rows[sent:]
            bad = self._bad_files(paths)
            if not bad:
                raise
            if self.stream.on_bad_file != "skip":
                raise next(iter(bad.values())) from error
            facts["bad"] += list(bad)
            rest = [p for p in paths if p not in bad]
            if rest:
                self._read(files_sql(self.stream, rest), facts)

    def _bad_files(self, paths: Sequence[str]) -> dict[str, DataError]:
        bad = {}
        for path in paths:
            try:
                check_file(self.stream, path)
            except DataError as e:
                bad[path] = e
        return bad

    def _read(self, source: str, facts: dict[str, Any], known: Facts | None = None, paths: Sequence[str] = ()) -> None:
        """Scan a source: counts, late rows, and every fragment's partial aggregates. Footers that say enough save a pass."""
        started = time.perf_counter()
        self._scan(source, known is not None)
        on_time = known is not None and known.low >= self.frontier
        rows, top, late, untimed = (known.rows, known.top, 0, 0) if known is not None and on_time else self._counts()
        if untimed:
            check_times(self.stream, paths)
        self._time(f"scan {self.stream.name}", rows, started)
        for fragment in self.fragments:
            self._lift(fragment)
        for side in self.sides:
            self._side(side, rows)
        if late:
            self._late_rows(source, facts)
        facts["rows"] += rows
        facts["late"] += late
        facts["untimed"] += untimed
        facts["top"] = max((t for t in (facts["top"], top) if t is not None), default=None)

    def _scan(self, source: str, near: bool) -> None:
        """A view where the rows are read once from a columnar file; a table where they would be parsed again and again."""
        lifts = [*(self.plan.lifts[f.id] for f in self.fragments), *(self.plan.sides[s.id] for s in self.sides)]
        texts = "".join([*lifts, *(c for conditions in self.conditions.values() for given in conditions for c in given)])
        columns = [c.name for c in self.stream.columns if identifier(c.name) in texts]
        rows = scan_sql(self.stream, source, columns, near)
        if self.task.scan == "table" or self.stream.format != "parquet" or len(lifts) > 1 or self._compares_floats(texts):
            run(f"CREATE OR REPLACE TEMP TABLE scan_rows AS {rows}")
            rows = "SELECT * FROM scan_rows"
        run(f"CREATE OR REPLACE TEMP VIEW scan AS {rows}")

    def _compares_floats(self, texts: str) -> bool:
        """Whether a float is used other than as the argument of an aggregate. Parquet's least and greatest values leave out
        NaN, so a comparison that is decided by them would be wrong for it."""
        floats = [identifier(c.name) for c in self.stream.columns if c.type in ("FLOAT", "DOUBLE")]
        return any(name in re.sub(rf"\b\w+\({re.escape(name)}\)", "", texts) for name in floats)

    def _counts(self) -> tuple[int, int | None, int, int]:
        late = f'count(*) FILTER (WHERE "__time" < {self.frontier})'
        row = run(f'SELECT count(*), max("__time"), {late}, count(*) FILTER (WHERE "__time" IS NULL) FROM scan')[0]
        return int(row[0]), row[1], int(row[2]), int(row[3])

    def _lift(self, fragment: Fragment) -> None:
        started = time.perf_counter()
        lift = self.plan.lifts[fragment.id]
        table = query(f"SELECT *, {fragment.cut.sql(self.task.partitions)} AS p FROM ({lift})", {"frontier": self.frontier})
        self.groups[fragment.id] = (table.num_rows, len(pc.unique(table.column("slot"))))
        self.sender.table(fragment.id, table)
        self._time(f"lift {fragment.id}", table.num_rows, started)

    def _side(self, side: Side, rows: int) -> None:
        started = time.perf_counter()
        kept = self.plan.sides[side.id]
        partitions = self.task.partitions
        table = query(f"SELECT *, {side.cut.sql(partitions)} AS p FROM ({kept})", {"frontier": self.frontier})
        self.sender.table(side.id, table, side.cut.copies(partitions))
        if self.task.look:
            counts = connection().execute(statistics_sql(side), {"frontier": self.frontier}).fetchall()[0]
            self.kept.setdefault(side.id, []).append((rows, *map(int, counts)))
        self._time(f"lift {side.id}", table.num_rows, started)

    def _late_rows(self, source: str, facts: dict[str, Any]) -> None:
        late = f'"__time" < {self.frontier}'
        for name, given in self.conditions.items():
            for conditions in given:
                condition = " AND ".join([late, *(f"({c})" for c in conditions)])
                count = run(f"SELECT count(*) FROM scan WHERE {condition}")[0][0]
                facts["late_by_query"][name] = facts["late_by_query"].get(name, 0) + count
        if self.stream.late_rows:
            reach("ingest:before-late-rows", self.task.fault)
            table = query(f'SELECT * EXCLUDE ("__time") FROM ({scan_sql(self.stream, source)}) WHERE {late}')
            facts["late_files"].append(stage(self.task.outputs[f"late:{self.stream.name}"], table, self.task.batch, 0))
            reach("ingest:after-late-rows", self.task.fault)

    def _time(self, step: str, rows: int, started: float) -> None:
        before = self.steps.get(step, [0, 0.0])
        self.steps[step] = [before[0] + rows, before[1] + (time.perf_counter() - started) * 1000]


def _conditions(plan: Compiled, stream: Stream) -> dict[str, list[tuple[str, ...]]]:
    """Per query that reads a stream, the conditions on its rows; a join may read it more than once."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for q in plan.plan.queries:
        if isinstance(q, JoinQuery):
            given = [tuple(c.sql for c in i.where) for i in q.inputs if i.is_stream and i.source == stream.name]
        else:
            given = [tuple(c.sql for c in q.where)] if q.stream == stream.name else []
        if given:
            found[q.name] = given
    return found
