"""The one place that puts the parts together: names, plans, Spark, and the directory that survives."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg import show
from thalweg.catalog import Catalog, known
from thalweg.config import with_setting
from thalweg.declaring import CONSOLE, absolute, free_name, query_of, relation_of, stream_of
from thalweg.engine.kernel.relations import relation_files
from thalweg.engine.runner import BatchProgress, Runner, Workload
from thalweg.engine.spark import prepare, source_evolution, start_spark
from thalweg.engine.streaming import Streaming
from thalweg.errors import StatementError, UsageError
from thalweg.explain import Explanation, explain
from thalweg.known import Sampled
from thalweg.logical.join import JoinQuery
from thalweg.logical.stream import Relation, Stream
from thalweg.plan.build import AnyQuery, advance, build
from thalweg.plan.codec import loads
from thalweg.plan.nodes import Plan
from thalweg.planning import LatePlanner, WindowPlanner, planner_for
from thalweg.results import as_format, print_results, read_results, result_files
from thalweg.sampling import sample
from thalweg.sources.dataframe import columns_of, packed_chunks
from thalweg.sources.files import file_chunks
from thalweg.sources.inbox import Inbox
from thalweg.sql import statements as st
from thalweg.sql.source import Source, Span
from thalweg.state.directory import Directory
from thalweg.state.manifest import Manifest, latest


class QueryHandle:
    """A live query of a session."""

    def __init__(self, session: Session, name: str) -> None:
        self._session, self.name = session, name

    @property
    def query(self) -> AnyQuery:
        """What it asks, as a frozen value."""
        return self._session.catalog.queries[self.name]

    @property
    def directory(self) -> str:
        """Where its result files are."""
        return self._session.output_of(self.query)

    def explain(self) -> str:
        """The plan that it is part of, as text."""
        return str(self._session.explain(self.query))

    def drop(self) -> None:
        """Take it out of the workload; its results stay."""
        self._session.drop(self.name)

    def results(self, format: str = "arrow") -> Any:
        """All results so far: `arrow` (a pyarrow.Table), `pandas` or `spark` (DataFrames)."""
        return as_format(lambda: read_results(self.query, self.directory), self.directory, format, lambda: self._session.spark)


class Session:
    """Continuous queries over streams, planned together, run as one Spark job per micro-batch.

    `dir` keeps state, results and progress: a session opened on it again goes on where the last one stopped.
    Without it a temporary directory is used. `console` is called with name, batch and new rows of queries INTO 'console'; it prints
    them unless it is set to something else.
    """

    def __init__(
        self, dir: str | Path | None = None, spark: Any = None, master: str | None = None, settings: dict[str, str] | None = None
    ) -> None:
        self.directory = Directory(dir if dir is not None else tempfile.mkdtemp(prefix="thalweg-"))
        self.catalog = Catalog()
        self.listeners: list[Callable[[BatchProgress], None]] = [self._print_console]
        self.console: Callable[[str, int, pa.Table], None] | None = print_results
        self.fault: str | None = None
        self._spark, self._master, self._own_spark = spark, master, spark is None
        self._frames: dict[str, Any] = {}
        self._inboxes: dict[str, Inbox] = {}
        self._streaming: Streaming | None = None
        self._runner: Runner | None = None
        self._replans = 0
        self._sampled: tuple[Catalog | None, Sampled] = (None, Sampled())
        for key, value in (settings or {}).items():
            self.set(key, value)

    # ---- declaring ----

    def stream(self, name: str, source: Any, time: str, watermark: str = "0 seconds", columns: str | None = None, **options: Any) -> Stream:
        """Declare a stream from a directory, a Spark streaming DataFrame, or an iterable of Arrow tables.

        `columns` is `"auction BIGINT, price BIGINT, at TIMESTAMP"`; a DataFrame brings its own, Parquet files too.
        Options are those of CREATE STREAM: format, files_per_batch, late_rows, idle_timeout, on_bad_file, rate, ...; `distinct`
        may be a dict, `{"auction": 1000}`.
        """
        if isinstance(source, str | Path):
            stream = stream_of(name, columns, path=str(source), time=time, watermark=watermark, **options)
        elif hasattr(source, "isStreaming"):
            if not source.isStreaming:
                raise UsageError(f"stream {name}: the DataFrame is not a streaming one", "read it with spark.readStream")
            declared = ", ".join(f"`{c.name}` {c.type}" for c in columns_of(source))
            stream = replace(stream_of(name, declared, path="-", time=time, watermark=watermark, **options), format="dataframe", path=None)
            self._frames[name] = source
        elif isinstance(source, Iterable):
            inbox = Inbox(self.directory.inbox / name, source)
            stream = stream_of(name, columns, path=str(inbox.path), time=time, watermark=watermark, **{"files_per_batch": 1, **options})
            self._inboxes[name] = inbox
        else:
            raise UsageError(
                f"stream {name}: can't read from {type(source).__name__}",
                "give a path, a streaming DataFrame, or an iterable of Arrow tables",
            )
        return self._declare(stream)

    def _declare(self, stream: Stream) -> Stream:
        stream = replace(stream, path=absolute(stream.path), late_rows=absolute(stream.late_rows))
        self.catalog = self.catalog.with_stream(stream)
        return stream

    def relation(self, name: str, path: str | Path, columns: str | None = None, format: str = "parquet", **options: Any) -> Relation:
        """Declare a static table from a file or a directory; `columns` as for a stream, Parquet files bring their own.

        It is read when it is needed and must stay as it is while queries that join it run.
        """
        return self._relate(relation_of(name, columns, format=format, path=str(path), **options))

    def _relate(self, relation: Relation) -> Relation:
        relation = replace(relation, path=absolute(relation.path) or "")
        self.catalog = self.catalog.with_relation(relation)
        return relation

    def query(self, sql: str, name: str, into: str | None = None) -> QueryHandle:
        """Create a query from a SELECT. Created while data flows, it begins with the first window after all rows seen."""
        return self._create(st.CreateQuery(st.checked_name(name, "query"), into, st.parse_select(sql), sql))

    def _create(self, statement: st.CreateQuery) -> QueryHandle:
        query = query_of(self.catalog, statement.select, statement.name, statement.into)
        self._check_output(query)
        if isinstance(query, JoinQuery):
            self._planner().join(query)
            if self._runner is not None:
                self._check_relations(query)
        self.catalog = self.catalog.with_query(query)
        self._changed()
        return QueryHandle(self, query.name)

    def _check_output(self, query: AnyQuery) -> None:
        """Refuse a result directory that is used for something else."""
        streams = self.catalog.streams.values()
        taken = {s.path: f"stream {s.name} is read from there" for s in streams if s.path}
        taken |= {s.late_rows: f"late rows of stream {s.name} go there" for s in streams if s.late_rows}
        taken |= {self.output_of(q): f"query {q.name} writes there" for q in self.catalog.queries.values() if q.name != query.name}
        if (used := taken.get(self.output_of(query))) is not None:
            raise UsageError(f"{self.output_of(query)}: {used}", "give each query a directory of its own")

    def _check_relations(self, query: JoinQuery) -> None:
        for name in query.relations:
            relation_files(self.catalog.relations[name])

    def drop(self, name: str) -> None:
        """Drop a query; the others go on."""
        self.catalog = self.catalog.without_query(name)
        self._changed()

    def set(self, key: str, value: str) -> None:
        """Change a setting; one that concerns the plan makes the workload be planned again."""
        catalog = replace(self.catalog, config=with_setting(self.catalog.config, key, value))
        planner = planner_for(catalog.config, None, catalog.streams.values(), catalog.relations.values())
        for query in catalog.queries.values():
            if isinstance(query, JoinQuery):
                planner.join(query)
        self.catalog = catalog
        self._changed()

    def sql(self, text: str, origin: str = "") -> list[Any]:
        """Run a script of statements; returns what each of them has to show (a text or a handle, or None)."""
        return [self._placed(s, Source(text, origin), span) for s, span in st.placed_script(text, origin)]

    def _placed(self, statement: st.Statement, source: Source, span: Span) -> Any:
        """Carry a statement out; what can't be done is told at its place."""
        try:
            return self._execute(statement)
        except StatementError:
            raise
        except UsageError as error:
            raise source.refused(error, span) from error

    def _execute(self, statement: st.Statement) -> Any:
        match statement:
            case st.CreateStream(stream):
                self._declare(stream)
            case st.CreateTable(relation):
                self._relate(relation)
            case st.CreateQuery():
                return self._create(statement)
            case st.DropQuery(name):
                self.drop(name)
            case st.DropStream(name):
                self.catalog = self.catalog.without_stream(name)
            case st.DropTable(name):
                self.catalog = self.catalog.without_relation(name)
            case st.SetOption(key, value):
                self.set(key, value)
            case st.Show(what):
                return self._show(what)
            case st.Explain():
                return self._explain_statement(statement)
        return None

    def _show(self, what: str) -> Any:
        match what:
            case "QUERIES":
                return show.queries(self.catalog, self.output_of)
            case "STREAMS":
                return show.streams(self.catalog)
            case "STATISTICS":
                return show.statistics(self.catalog, self.latest_manifest())
        return self.explain()

    def _explain_statement(self, statement: st.Explain) -> Explanation:
        if statement.select is not None:
            return self.explain(query_of(self.catalog, statement.select, free_name(self.catalog)), analyze=statement.analyze)
        if statement.query is not None:
            known(statement.query, self.catalog.queries, "query")
            return self.explain(self.catalog.queries[statement.query], analyze=statement.analyze)
        return self.explain(analyze=statement.analyze)

    def explain(self, query: AnyQuery | None = None, analyze: bool = False) -> Explanation:
        """How the workload (with this query) is computed, with the alternatives and their costs.

        With `analyze`, what the last batch measured stands beside what was expected; also after a restart.
        """
        manifest = self.latest_manifest() if analyze or self._runner is not None else Manifest()
        streams, queries = self.catalog.streams.values(), {**self.catalog.queries, **({query.name: query} if query else {})}.values()
        ran, relations = self._ran(manifest), tuple(self.catalog.relations.values())
        planner = planner_for(self.catalog.config, manifest, streams, relations, sample(streams, relations, queries))
        if ran.queries:
            plan = advance(ran, streams, queries, planner, manifest.tops, manifest.frontiers, relations=relations)
        else:
            plan = build(streams, queries, planner, relations=relations)
        return explain(plan, planner, query.name if query else None, manifest if analyze and manifest.batch >= 0 else None)

    def _ran(self, manifest: Manifest) -> Plan:
        """The plan of the last batch."""
        if self._runner is not None:
            return self._runner.plan
        if not manifest.plan:
            return Plan()
        self.directory.check_format()
        plan: Plan = loads((self.directory.plans / manifest.plan).read_text())
        return plan

    def _planner(self) -> WindowPlanner:
        c, manifest = self.catalog, self._runner.manifest if self._runner is not None else None
        return planner_for(c.config, manifest, c.streams.values(), c.relations.values(), self._sample(c) if manifest is not None else None)

    def _sample(self, catalog: Catalog) -> Sampled:
        """What files said when the workload that runs was first planned."""
        if self._sampled[0] is not catalog:
            self._sampled = catalog, sample(catalog.streams.values(), catalog.relations.values(), catalog.queries.values())
        return self._sampled[1]

    def latest_manifest(self) -> Manifest:
        """What the last committed batch left behind."""
        return self._runner.manifest if self._runner is not None else latest(self.directory.manifests)

    def output_of(self, query: AnyQuery) -> str:
        """The directory of a query's results."""
        return query.into if query.into and query.into != CONSOLE else str(self.directory.results / query.name)

    # ---- running ----

    @property
    def spark(self) -> Any:
        """The Spark session, started when first needed."""
        if self._spark is None:
            self.directory.create()
            self._spark = start_spark(self._master, log=self.directory.root / "spark.log")
        return self._spark

    @property
    def runner(self) -> Runner:
        """The runner over this session's directory."""
        if self._runner is None:
            self.directory.create()
            self.directory.lock()
            config = self.catalog.config
            partitions = config.partitions or int(self.spark.sparkContext.defaultParallelism)
            self._runner = Runner(self.directory, partitions, LatePlanner(self._planner), exchange=config.exchange, scan=config.scan)
        return self._runner

    def start(self, available_now: bool = False) -> None:
        """Start the streaming query. It runs in the background until `stop`."""
        if self._streaming is not None and self._streaming.is_active:
            raise UsageError("the session runs already", "stop it first")
        if not self.catalog.streams:
            raise UsageError("there is no stream to read", "declare one with CREATE STREAM")
        runner = self.runner
        prepare(self.spark)
        for inbox in self._inboxes.values():
            inbox.fill(available_now)
        runner.failure, runner.stopping, runner.fault, runner.listeners = None, False, self.fault, self.listeners
        self._check_new_outputs(runner)
        for query in self.catalog.queries.values():
            if isinstance(query, JoinQuery):
                self._check_relations(query)
        self._changed()
        runner.recover()
        trigger = {"availableNow": True} if available_now else {"processingTime": f"{self.catalog.config.trigger} seconds"}
        named, streaming = not self._frames, Streaming(runner)
        with source_evolution(self.spark, named):
            streaming.start(self._sources(named), self.directory.checkpoint, trigger)
        self._streaming = streaming

    def _check_new_outputs(self, runner: Runner) -> None:
        before = {q.name for q in runner.plan.queries}
        for query in self.catalog.queries.values():
            directory = self.output_of(query)
            if query.name not in before and result_files(directory):
                raise UsageError(
                    f"{directory}: holds results of an earlier query", f"remove them, or give query {query.name} another INTO directory"
                )

    def _sources(self, named: bool) -> Any:
        frames = [
            packed_chunks(self._frames[s.name], s.name) if s.format == "dataframe" else file_chunks(self.spark, s, named)
            for s in self.catalog.streams.values()
        ]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.union(frame)
        return whole

    def _changed(self) -> None:
        """Tell the runner the workload as it is now; the next batch runs it."""
        if self._runner is None:
            return
        queries, streams = self.catalog.queries.values(), self.catalog.streams.values()
        outputs = {q.name: self.output_of(q) for q in queries}
        outputs |= {f"late:{s.name}": s.late_rows for s in streams if s.late_rows}
        relations, settings = tuple(self.catalog.relations.values()), self.catalog.config.plan_settings
        self._runner.workload = Workload(tuple(streams), tuple(queries), outputs, self._replans, relations, settings)

    def _print_console(self, done: BatchProgress) -> None:
        """Give what a batch has published of queries INTO 'console' to `console`."""
        for name, query in self.catalog.queries.items():
            files = [path for owner, path in done.published if owner == name]
            if self.console is not None and query.into == CONSOLE and files:
                self.console(name, done.batch, pa.concat_tables([pq.read_table(f) for f in files]))

    def replan(self) -> None:
        """Plan the whole workload again at the next batch, with what is known by then."""
        self._replans += 1
        self._changed()

    def run_available(self) -> None:
        """Process everything that is there now, then return."""
        self.start(available_now=True)
        self.wait()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the streaming query ends (True) or the time is up (False); an error of a batch is raised here."""
        return self._streaming is None or self._streaming.wait(timeout)

    def reports(self) -> list[Any]:
        """Spark's own reports (`StreamingQueryProgress`) of the last batches, also when the run has ended."""
        return self._streaming.reports() if self._streaming is not None else []

    def stop(self) -> None:
        """Stop between two batches and let the directory go."""
        if self._streaming is not None and self._runner is not None:
            self._streaming.stop()
        self.directory.unlock()
        self._runner = None

    def close(self) -> None:
        """Stop, and end the Spark session if this session started it."""
        self.stop()
        if self._own_spark and self._spark is not None:
            self._spark.stop()
            self._spark = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
