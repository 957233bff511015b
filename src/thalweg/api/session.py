"""The one place that puts the parts together: names, plans, Spark, and the directory that survives."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from thalweg.api import show
from thalweg.api.changes import Changes, asks_same, changes, check_redefined
from thalweg.api.console import print_results
from thalweg.api.declaring import absolute, free_name, query_of, readable_name, relation_of
from thalweg.api.explaining import SampledPlanners, explained
from thalweg.api.handle import QueryHandle
from thalweg.api.outcomes import Assigned, Created, Declared, Dropped, Explained, Outcome, Outcomes
from thalweg.api.places import Places, check_late_rows, check_results
from thalweg.api.results import result_files
from thalweg.api.running import Running
from thalweg.api.sources import Given, file_source, source_of
from thalweg.connectors.base import Source
from thalweg.connectors.console import new_rows
from thalweg.connectors.files import check_apart, check_first_file
from thalweg.engine.kernel.relations import check_relation
from thalweg.engine.ledger import Ledger
from thalweg.engine.runner import BatchProgress, Runner
from thalweg.engine.workload import Workload
from thalweg.errors import StatementError, UsageError
from thalweg.explain import Explanation
from thalweg.model.catalog import Catalog, known
from thalweg.model.query import Query
from thalweg.model.settings import with_setting
from thalweg.model.stream import Relation, Stream
from thalweg.optimizer.planner import WindowPlanner, planner_for
from thalweg.optimizer.retiring import is_retired
from thalweg.plan.nodes import Plan
from thalweg.sql import statements as st
from thalweg.sql.source import Source as Text
from thalweg.sql.source import Span
from thalweg.state.directory import Directory
from thalweg.state.history import latest_at
from thalweg.state.lives import Lives
from thalweg.state.lives import read as read_lives
from thalweg.state.manifest import Manifest


class Session:
    """Continuous queries over streams, planned together, run as one Spark job per micro-batch.

    `dir` keeps state, results and progress: a session opened on it again goes on where the last one stopped.
    Without it a temporary directory is used. Any thread may use it, also while it runs: a statement is carried out whole, and a batch
    has all of it or nothing. `console` is called with name, batch and new rows of queries INTO 'console'; it prints
    them unless it is set to something else.
    """

    def __init__(
        self, dir: str | Path | None = None, spark: Any = None, master: str | None = None, settings: dict[str, str] | None = None
    ) -> None:
        self.directory = Directory(dir if dir is not None else tempfile.mkdtemp(prefix="thalweg-"))
        self.catalog = Catalog()
        self.console: Callable[[str, int, pa.Table], None] | None = print_results
        self.fault: str | None = None
        self._running = Running(self.directory, spark, master, SampledPlanners().of)
        self.listeners = self._running.listeners
        self.listeners.append(self._print_console)
        self._change = threading.RLock()
        self._dropped: dict[str, QueryHandle] = {}
        self._places = Places(self.directory.results, self.lives, self._ran)
        self._ran_before: dict[str, Query] | None = None
        self._replans = 0
        for key, value in (settings or {}).items():
            self.set(key, value)

    # ---- declaring ----

    def stream(self, name: str, source: Any, time: str, watermark: str = "0 seconds", columns: str | None = None, **options: Any) -> Stream:
        """Declare a stream from a directory, a Spark streaming DataFrame, or an iterable of Arrow tables.

        Of an iterable that is given again when the session is opened again, what was taken before is passed over: by its place, or by its
        name where pairs (name, table) are given, as an iterable does that begins with new rows.
        `columns` is `"auction BIGINT, price BIGINT, at TIMESTAMP"`; a DataFrame brings its own, Parquet files too.
        Options are those of CREATE STREAM: format, files_per_batch, late_rows, idle_timeout, on_bad_file, rate, ...; `distinct`
        may be a dict, `{"auction": 1000}`.
        """
        given = Given(name, source, columns, {"time": time, "watermark": watermark, **options}, self.directory.inbox)
        return self._declare(source_of(given))

    def _declare(self, source: Source) -> Stream:
        stream = source.stream
        with self._change:
            self._running.check_sound()
            catalog = self.catalog.with_stream(stream)
            check_late_rows(stream, {q.name: self.output_of(q) for q in self.catalog.queries.values()})
            self._running.add_source(source)
            self._become(catalog)
        return stream

    def relation(self, name: str, path: str | Path, columns: str | None = None, format: str = "parquet", **options: Any) -> Relation:
        """Declare a static table from a file or a directory; `columns` as for a stream, Parquet files bring their own.

        It is read when it is needed and must stay as it is while queries that join it run.
        """
        return self._relate(relation_of(name, columns, format=format, path=str(path), **options))

    def _relate(self, relation: Relation) -> Relation:
        relation = replace(relation, path=absolute(relation.path) or "")
        with self._change:
            self._become(self.catalog.with_relation(relation))
        return relation

    def query(self, sql: str, name: str | None = None, into: str | None = None, replace: bool = False) -> QueryHandle:
        """Create a query from a SELECT. Created while data flows, it begins with the first window after all rows seen.

        Without a name it gets one by what it reads. With `replace` it takes the place of the query of its name, if there is one.
        """
        select = st.parse_select(sql)
        with self._change:
            given = st.checked_name(name, "query") if name is not None else readable_name(self.catalog, select, self.lives())
            return self._create(st.CreateQuery(given, into, select, sql, "REPLACE" if replace else "CREATE"))

    def _create(self, statement: st.CreateQuery) -> QueryHandle:
        with self._change:
            self._running.check_sound()
            if statement.way == "ALTER":
                known(statement.name, {**self._ran(), **self.catalog.queries}, "query")
            query = query_of(self.catalog, statement.select, statement.name, statement.into)
            if statement.way == "CREATE":
                catalog = self.catalog.with_query(query)
            else:
                before = self._ran().get(query.name) or (self.catalog.queries.get(query.name) if self._running.runner is not None else None)
                self._places.set_apart(query, before)
                catalog = self.catalog.with_other_query(query)
            self._check_output(query)
            if not query.windows:
                self._planner(catalog).join(query)
            if (runner := self._running.runner) is not None:
                self._check_relations(query)
                if not (ran := self._ran().get(query.name)) or not asks_same(ran, query):
                    self._check_new_output(query, runner)
            self._become(catalog)
            self._dropped.pop(query.name, None)
            return QueryHandle(self, query.name, query)

    def _ran(self) -> dict[str, Query]:
        """The queries of the last batch."""
        if (runner := self._running.runner) is not None:
            return {q.name: q for q in runner.last[1].queries if not is_retired(q.name)}
        if self._ran_before is None:
            self._ran_before = {q.name: q for q in self._last()[1].queries if not is_retired(q.name)}
        return self._ran_before

    def check(self) -> Changes:
        """What changed since the last run; refused, before Spark is started, if it is what nobody can have meant."""
        found = changes(self._ran(), self.catalog.queries)
        check_redefined(found, self.catalog.redefined)
        written = {str(self.directory.root): "the session's directory"}
        written |= {self.output_of(q): f"what query {q.name} writes" for q in self.catalog.queries.values()}
        for stream in self.catalog.streams.values():
            check_apart(stream, written)
        self._running.check_sources(self.catalog.streams.values(), self.latest_manifest())
        for query in self.catalog.queries.values():
            self._check_relations(query)
        return found

    def check_files(self) -> tuple[str, ...]:
        """Refuse declared columns that the first files have not; returns the paths that are not there yet, without refusing them."""
        paths = [(s.path, partial(check_first_file, s)) for s in self.catalog.streams.values() if s.path]
        paths += [(r.path, partial(check_relation, r)) for r in self.catalog.relations.values()]
        for path, check in paths:
            if Path(path).exists():
                check()
        return tuple(path for path, _ in paths if not Path(path).exists())

    def _check_output(self, query: Query) -> None:
        """Refuse a result directory that is used for something else."""
        others = {q.name: self.output_of(q) for q in self.catalog.queries.values() if q.name != query.name}
        check_results(self.catalog, self.output_of(query), others)

    def _check_relations(self, query: Query) -> None:
        for name in query.relations:
            check_relation(self.catalog.relations[name])

    def drop(self, query: str | QueryHandle) -> None:
        """Drop a query, by name or handle; the others go on, and its results stay."""
        name = query if isinstance(query, str) else query.name
        with self._change:
            if isinstance(query, QueryHandle) and not query.is_live:
                raise UsageError(f"query {name} was dropped already", "its results can still be read")
            catalog = self.catalog.without_query(name)
            self._dropped[name] = QueryHandle(self, name, self.catalog.queries[name])
            self._become(catalog)

    def handle(self, name: str) -> QueryHandle:
        """A query that lives, or the last of that name that was dropped, also before a restart."""
        if (query := self.catalog.queries.get(name)) is not None:
            return QueryHandle(self, name, query)
        if name in self._dropped:
            return self._dropped[name]
        lives = {life.name: life for life in self.lives()}
        known(name, [*self.catalog.queries, *lives], "query")
        return QueryHandle(self, name, life=lives[name])

    @property
    def queries(self) -> dict[str, QueryHandle]:
        """The queries that live, by name; each tells its status."""
        return {name: QueryHandle(self, name, query) for name, query in self.catalog.queries.items()}

    def set(self, key: str, value: str) -> None:
        """Change a setting; one that concerns the plan makes the workload be planned again."""
        with self._change:
            catalog = replace(self.catalog, config=with_setting(self.catalog.config, key, value))
            planner = planner_for(catalog.config, None, catalog.streams.values(), catalog.relations.values())
            for query in catalog.queries.values():
                if not query.windows:
                    planner.join(query)
            self._become(catalog)

    def _become(self, catalog: Catalog) -> None:
        """Change what is declared; what runs, runs it from the next batch on."""
        self.catalog = catalog
        self._running.offer(self._workload())

    def sql(self, text: str, origin: str = "") -> Outcomes:
        """Run a script of statements; returns what became of each."""
        return Outcomes(self._placed(s, Text(text, origin), span) for s, span in st.placed_script(text, origin))

    def _placed(self, statement: st.Statement, source: Text, span: Span) -> Outcome:
        """Carry a statement out; what can't be done is told at its place."""
        try:
            return self._execute(statement)
        except StatementError:
            raise
        except UsageError as error:
            raise source.refused(error, span) from error

    def _execute(self, statement: st.Statement) -> Outcome:
        match statement:
            case st.CreateStream(stream):
                return Declared("stream", self._declare(file_source(stream)).name)
            case st.CreateTable(relation):
                return Declared("table", self._relate(relation).name)
            case st.CreateQuery():
                replaced = statement.name in self.catalog.queries
                handle = self._create(statement)
                return Created(handle.name, handle.directory, replaced)
            case st.DropQuery(name):
                self.drop(name)
                return Dropped("query", name)
            case st.DropStream(name):
                with self._change:
                    self._become(self.catalog.without_stream(name))
                return Dropped("stream", name)
            case st.DropTable(name):
                with self._change:
                    self._become(self.catalog.without_relation(name))
                return Dropped("table", name)
            case st.SetOption(key, value):
                self.set(key, value)
                return Assigned(key, value)
            case st.Show(what):
                return self._show(what)
            case st.Explain():
                return Explained(" ".join(statement.text.split()), self._explain_statement(statement))

    def _show(self, what: str) -> Outcome:
        match what:
            case "QUERIES":
                return show.queries(self.catalog, self.output_of)
            case "STREAMS":
                return show.streams(self.catalog)
            case "STATISTICS":
                return show.statistics(self.catalog, self.latest_manifest())
        return Explained(f"SHOW {what}", self.explain())

    def _explain_statement(self, statement: st.Explain) -> Explanation:
        catalog = self.catalog
        if statement.select is not None:
            return self.explain(query_of(catalog, statement.select, free_name(catalog)), analyze=statement.analyze)
        if statement.query is not None:
            known(statement.query, catalog.queries, "query")
            return self.explain(catalog.queries[statement.query], analyze=statement.analyze)
        return self.explain(analyze=statement.analyze)

    def explain(self, query: Query | None = None, analyze: bool = False) -> Explanation:
        """How the workload (with this query) is computed, with the alternatives and their costs.

        With `analyze`, what the last batch measured stands beside what was expected; also after a restart.
        """
        manifest, ran = self._last() if analyze or self._running.runner is not None else (Manifest(), Plan())
        return explained(self.catalog, manifest, ran, query, analyze)

    def _last(self) -> tuple[Manifest, Plan]:
        """The last batch, and the plan that it ran."""
        if (runner := self._running.runner) is not None:
            return runner.last
        ledger = Ledger(self.directory)
        if (manifest := ledger.latest()).plan:
            self.directory.check_format()
        return manifest, ledger.plan_of(manifest)

    def _planner(self, catalog: Catalog) -> WindowPlanner:
        """What a query is checked with before it is accepted."""
        runner = self._running.runner
        manifest = runner.manifest if runner is not None else None
        return planner_for(catalog.config, manifest, catalog.streams.values(), catalog.relations.values())

    def latest_manifest(self) -> Manifest:
        """What the last committed batch left behind."""
        return runner.manifest if (runner := self._running.runner) is not None else latest_at(self.directory.manifests)

    def lives(self) -> Lives:
        """When the queries were part of batches, oldest first."""
        if (runner := self._running.runner) is not None:
            return runner.lives
        return read_lives(self.directory.queries, latest_at(self.directory.manifests).batch)

    def output_of(self, query: Query) -> str:
        """The directory of a query's results."""
        return self._places.of(query)

    # ---- running ----

    @property
    def spark(self) -> Any:
        """The Spark session, started when first needed."""
        return self._running.spark

    @property
    def runner(self) -> Runner:
        """The runner over this session's directory."""
        return self._running.open(self.catalog.config)

    @property
    def status(self) -> str:
        """`new`, `running`, `stopped`, `failed` or `closed`."""
        return self._running.status

    @property
    def error(self) -> Exception | None:
        """What made the last run fail."""
        return self._running.error

    def start(self, available_now: bool = False) -> None:
        """Start the streaming query. It runs in the background until `stop`."""
        with self._change:
            if not self.catalog.streams:
                raise UsageError("there is no stream to read", "declare one with CREATE STREAM")
            self.check()
            self._running.start(self._workload(), self.fault, available_now, self._check_queries)

    def _check_queries(self, runner: Runner) -> None:
        self.check()
        running = {q.name for q in runner.plan.queries}
        for query in self.catalog.queries.values():
            if query.name not in running:
                self._check_new_output(query, runner)
            self._check_relations(query)

    def _check_new_output(self, query: Query, runner: Runner) -> None:
        """Refuse to mix the results of a query with those of an earlier one."""
        directory = self.output_of(query)
        if result_files(directory) or runner.writes_to(directory):
            hint = f"remove them, or give query {query.name} another name or another INTO directory"
            raise UsageError(f"{directory}: holds results of an earlier query", hint)

    def _workload(self) -> Workload:
        """What is declared, as the runner takes it."""
        c = self.catalog
        outputs = {q.name: self.output_of(q) for q in c.queries.values()}
        outputs |= {f"late:{s.name}": s.late_rows for s in c.streams.values() if s.late_rows}
        relations = tuple(c.relations.values())
        return Workload(tuple(c.streams.values()), tuple(c.queries.values()), outputs, self._replans, relations, c.config)

    def _print_console(self, done: BatchProgress) -> None:
        """Give what a batch has published of queries INTO 'console' to `console`."""
        for name, query in self.catalog.queries.items():
            rows = new_rows(query, done.published)
            if self.console is not None and rows is not None:
                self.console(name, done.batch, rows)

    def replan(self) -> None:
        """Plan the whole workload again at the next batch, with what is known by then."""
        with self._change:
            self._replans += 1
            self._become(self.catalog)

    def run_available(self) -> None:
        """Process everything that is there now, then return."""
        self.start(available_now=True)
        self.wait()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run ends and all listeners know (True), or the time is up (False); an error of a batch is raised here."""
        return self._running.wait(timeout)

    def reports(self) -> list[Any]:
        """Spark's own reports (`StreamingQueryProgress`) of the last batches, also when the run has ended."""
        return self._running.reports()

    def stop(self) -> None:
        """Stop between two batches and let the directory go."""
        self._running.stop()
        self._ran_before = None

    def close(self) -> None:
        """Stop, and end the Spark session if this session started it and no other uses it."""
        self._running.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
