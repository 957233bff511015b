"""The one place that puts the parts together: names, plans, Spark, and the directory that survives."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from html import escape
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from thalweg.api import show
from thalweg.api.changes import Changes
from thalweg.api.checks import check_catalog, check_files, check_new_output, check_relations
from thalweg.api.console import print_results
from thalweg.api.declarations import Declarations
from thalweg.api.declaring import given_history, given_ttl, readable_name, relation_of, selected
from thalweg.api.executing import executed
from thalweg.api.explaining import Explaining, SampledPlanners
from thalweg.api.functions import made_of
from thalweg.api.handle import QueryHandle
from thalweg.api.outcomes import Outcome, Outcomes
from thalweg.api.past import Past
from thalweg.api.places import Places, local
from thalweg.api.pushing import Pushing
from thalweg.api.remembering import QUERY
from thalweg.api.running import Running
from thalweg.api.sources import Given, remembered_source, source_of
from thalweg.api.status import StreamStatus, beginning_text, read_status
from thalweg.connectors.console import new_rows
from thalweg.connectors.pushed import Receipt
from thalweg.engine.progress import BatchProgress
from thalweg.engine.runner import Runner
from thalweg.errors import UsageError
from thalweg.explain import Explanation
from thalweg.expr.python import Function
from thalweg.model.catalog import Catalog, known
from thalweg.model.query import Query
from thalweg.model.stream import Relation, Stream
from thalweg.plan.nodes import Plan
from thalweg.sql import statements as st
from thalweg.sql.source import Source as Text
from thalweg.state.changelog import changelog_of
from thalweg.state.directory import Directory
from thalweg.state.lives import DROPPED, Lives
from thalweg.state.manifest import Manifest
from thalweg.state.switches import Switches


class Session:
    """Continuous queries over streams, planned together, run as one Spark job per micro-batch.

    `dir` keeps state, results, progress and what was declared: a session opened on it again goes on where the last one stopped.
    Without it a temporary directory is used. Any thread may use it, also while it runs: a statement is carried out whole, and a batch
    has all of it or nothing. `console` is called with name, batch and new rows of queries INTO 'console'; it prints
    them unless it is set to something else.
    """

    def __init__(
        self,
        dir: str | Path | None = None,
        spark: Any = None,
        master: str | None = None,
        settings: dict[str, str] | None = None,
    ) -> None:
        self.directory = Directory(local(dir) if dir is not None else tempfile.mkdtemp(prefix="thalweg-"))
        self.console: Callable[[str, int, pa.Table], None] | None = print_results
        self.fault: str | None = None
        self._running = Running(self.directory, spark, master, SampledPlanners(self._partitions).of)
        self.listeners = self._running.listeners
        self.listeners.append(self._print_console)
        self._past = Past(self.directory, self._running)
        self._changelog = changelog_of(self.directory)
        self._places = Places(self.directory.results, self._past.lives, lambda: self._changelog.last.recorded)
        self._declarations = Declarations(self._running, self._past, self._places, self._changelog)
        self._running.sources.update(
            {
                s.name: remembered_source(s, self.directory.inbox)
                for s in self.catalog.streams.values()
                if s.path
            }
        )
        self._explaining = Explaining(self._running, self._past, lambda: self.catalog, self._partitions)
        self.pushing = Pushing(self._running, lambda: self.catalog, self.latest_manifest)
        self.listeners.append(self.pushing.listen)
        self._dropped: dict[str, QueryHandle] = {}
        for key, value in (settings or {}).items():
            self.set(key, value)

    # ---- declaring ----

    @property
    def catalog(self) -> Catalog:
        """All that is declared."""
        return self._declarations.catalog

    def stream(
        self,
        name: str,
        source: Any,
        time: str,
        watermark: str = "0 seconds",
        columns: str | None = None,
        **options: Any,
    ) -> Stream:
        """Declare a stream from a directory, a Spark streaming DataFrame, or tables of Arrow or pandas, one or an iterable of them.

        Of an iterable that is given again when the session is opened again, what was taken before is passed over: by its place, or by
        its name where pairs (name, table) are given, as an iterable does that begins with new rows.
        `columns` is `"auction BIGINT, price BIGINT, at TIMESTAMP"`; a DataFrame brings its own, Parquet files and tables too (of an
        iterable the first one, which is waited for); `computed` are more, as in `"at AS TIMESTAMP_MILLIS(ms)"`.
        Options are those of CREATE STREAM: format, files_per_batch, late_rows, bad_rows, on_bad_file, idle_timeout, rate, ...; `distinct`
        may be a dict, `{"auction": 1000}`.
        """
        given = Given(
            name,
            source,
            columns,
            {"time": time, "watermark": watermark, **options},
            self.directory.inbox,
            self.catalog.functions,
        )
        return self._declarations.stream(source_of(given))

    def function(
        self, name: str, function: Callable[..., Any], signature: str, replace: bool = False
    ) -> Function:
        """Declare a Python function for SQL: `session.function("score", score, "BIGINT, STRING -> DOUBLE")`.

        It gets an Arrow array for each parameter, NULLs included, and gives as many values, which must depend on these alone: an array, or
        what `pyarrow.array` takes. With `replace`, queries that are created from then on call it in the place of another of its name.
        """
        return self._declarations.function(*made_of(name, function, signature), replace)

    def relation(
        self, name: str, path: str | Path, columns: str | None = None, format: str = "parquet", **options: Any
    ) -> Relation:
        """Declare a static table from a file or a directory; `columns` as for a stream, Parquet files bring their own.

        It is read when it is needed and must stay as it is while queries that join it run.
        """
        return self._declarations.relation(
            relation_of(name, columns, format=format, path=str(path), **options)
        )

    def query(
        self,
        sql: str,
        name: str | None = None,
        into: str | Path | None = None,
        replace: bool = False,
        history: str | None = None,
        ttl: str | None = None,
    ) -> QueryHandle:
        """Create a query from a SELECT. Created while data flows, it begins with the first window after all rows seen.

        Without a name it gets one by what it reads. With `replace` it takes the place of the query of its name, if there is one.
        With a `history` (`"all"`, `"2 hours"`) it begins earlier: the files that were read are read again for it, beside the batches.
        With a `ttl` (`"1 day"`) a group without a window is forgotten when no row of it comes for so long.
        """
        select, back, forgets = st.parse_select(sql), given_history(history), given_ttl(ttl)
        with self._declarations.changing():
            given = (
                st.checked_name(name, "query")
                if name is not None
                else readable_name(self.catalog, select, self.lives())
            )
            where = None if into is None else os.fspath(into)
            return self._create(
                st.CreateQuery(given, where, select, sql, "REPLACE" if replace else "CREATE", back, forgets)
            )

    def _create(self, statement: st.CreateQuery) -> QueryHandle:
        with self._declarations.changing():
            query = self._declarations.query(statement)
            self._dropped.pop(query.name, None)
            return self.handle(query.name)

    def push(self, stream: str, rows: Any, id: str | None = None) -> Receipt:
        """Push rows to a stream that was declared WITH (format = 'push'): an Arrow table, a pandas DataFrame, or dicts, one a row.

        They are on disk when this returns. Rows under an `id` count once, however often they are pushed: also after a crash.
        Rows that are not as declared are refused, all of them; and so are rows while too much waits to be read (`Backlog`).
        """
        return self.pushing.take(stream, rows, id)

    def drop(self, query: str | QueryHandle) -> None:
        """Drop a query, by name or handle; the others go on, and its results stay."""
        name = query.name if isinstance(query, QueryHandle) else str(query)
        with self._declarations.changing():
            if isinstance(query, QueryHandle) and query.status == "dropped":
                raise UsageError(f"query {name} was dropped already", "its results can still be read")
            known(name, {**self.catalog.queries, **self.catalog.failed}, "query")
            self._dropped[name] = self.handle(name)
            while len(self._dropped) > DROPPED:
                self._dropped.pop(next(iter(self._dropped)))
            self._declarations.drop(QUERY, name)

    def handle(self, name: str) -> QueryHandle:
        """A query that lives or has failed, or the last of that name that was dropped, also before a restart."""
        if (query := self._asked.get(name)) is not None:
            return QueryHandle(self, name, query)
        if (dropped := self._dropped.get(name)) is not None:
            return dropped
        lives = {life.name: life for life in self.lives()}
        known(name, {**self._asked, **lives}, "query")
        return QueryHandle(self, name, life=lives[name])

    @property
    def queries(self) -> dict[str, QueryHandle]:
        """The queries that live or have failed, by name; each tells its status."""
        return {name: QueryHandle(self, name, query) for name, query in self._asked.items()}

    @property
    def _asked(self) -> dict[str, Query]:
        return {**self.catalog.queries, **{name: f.query for name, f in self.catalog.failed.items()}}

    def set(self, key: str, value: str | float) -> None:
        """Change a setting; one that concerns the plan makes the workload be planned again."""
        self._declarations.set(key, str(value))

    def sql(self, text: str, origin: str = "") -> Outcomes:
        """Run a script of statements; returns what became of each. What they change together comes into force together."""
        done: list[Outcome] = []
        for changes, statements in groupby(
            st.placed_script(text, origin), lambda placed: not isinstance(placed[0], st.Show | st.Explain)
        ):
            with self._declarations.changing() if changes else nullcontext():
                done += [executed(self, s, Text(text, origin), span) for s, span in statements]
        return Outcomes(done)

    def explain(
        self, query: Query | QueryHandle | str | None = None, analyze: bool = False, marginal: bool = True
    ) -> Explanation:
        """How the workload (with this SELECT, or this query of it by name or handle) is computed, with the alternatives and their costs.

        With `analyze`, what the last batch measured stands beside what was expected; also after a restart. With `marginal`, what the query
        adds to the others, which is planned for this.
        """
        return self._explaining.explanation(None if query is None else self._meant(query), analyze, marginal)

    def marginal_cost(self, query: Query | QueryHandle | str) -> dict[str, float]:
        """What a query, of the workload or to come, adds to the predicted cost of the others: `cost` in hash-table updates a batch,
        `work_ms` in milliseconds of joins a second of stream, `state_rows`."""
        return self._explaining.marginal(self._meant(query))

    def _meant(self, query: Query | QueryHandle | str) -> Query:
        """The query of a name, a handle or a SELECT."""
        if isinstance(query, str):
            return self.handle(query).query if st.is_name(query) else selected(self.catalog, query)
        return query.query if isinstance(query, QueryHandle) else query

    def _partitions(self) -> int | None:
        """How many partitions there are, once that is known."""
        runner = self._running.runner
        return None if runner is None else runner.partitions

    def latest_manifest(self) -> Manifest:
        """What the last committed batch left behind."""
        return self._past.manifest()

    def last_batch(self) -> tuple[Manifest, Plan]:
        """What the last committed batch left behind, and the plan that it ran."""
        return self._past.last()

    def lives(self) -> Lives:
        """When the queries were part of batches, oldest first."""
        return self._past.lives()

    @property
    def changes(self) -> Switches:
        """What changed in the plan: when, why, and what it brought; the last 200, oldest first."""
        return self._past.switches()

    @property
    def changes_so_far(self) -> Switches:
        """The same at once: what the last of them is expected to bring may not be known yet."""
        return self._past.switches(settled=False)

    def output_of(self, query: Query) -> str:
        """The directory of a query's results."""
        return self._places.of(query)

    def history_of(self, query: Query) -> str:
        """Where a query with a history begins, if rows were read already, and why it is no earlier; else nothing."""
        replays = self._running.replays
        if query.history is None or replays is None or self.latest_manifest().batch < 0:
            return ""
        return beginning_text(replays.beginning_of(query, self._declarations.workload))

    def check(self) -> Changes:
        """What changed since the last run; refused, before Spark is started, if it is what nobody can have meant."""
        last = self._changelog.last
        ran = last.recorded.queries if last.number >= 0 else self._past.ran()
        found = check_catalog(self.catalog, ran, self.directory.root, self._declarations.outputs)
        self._running.check_sources(self.catalog.streams.values(), self.latest_manifest())
        for query in self.catalog.queries.values():
            check_relations(self.catalog, query)
        return found

    def check_files(self) -> tuple[str, ...]:
        """Refuse declared columns that the first files have not; returns the paths that are not there yet, without refusing them."""
        return check_files(self.catalog)

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
    def set_aside(self) -> dict[str, StreamStatus]:
        """The streams of which rows or files were set aside, as they can't be read as declared: how many, the first, and where all are."""
        if not self.directory.exists:
            return {}
        return {s.name: s for s in read_status(self.directory.root).streams if s.bad_rows or s.bad_files}

    @property
    def error(self) -> Exception | None:
        """What made the last run fail."""
        return self._running.error

    def start(self, available_now: bool = False) -> None:
        """Start the streaming query. It runs in the background until `stop`."""
        with self._declarations.lock:
            if not self.catalog.streams:
                raise UsageError("there is no stream to read", "declare one with CREATE STREAM")
            self.check()
            self._running.start(self._declarations.workload, self.fault, available_now, self._begin)

    def hold(self) -> None:
        """Take the directory and finish what a crash interrupted, without running yet: what is changed from here on is on disk before it is
        acknowledged."""
        with self._declarations.lock:
            runner = self._running.open(self.catalog.config)
            self._declarations.begin()
            self.pushing.begin()
            runner.workload = self._declarations.workload
            runner.recover()

    def _begin(self, runner: Runner) -> None:
        """Refuse what can't run, now that the directory is held, and keep what will."""
        self.check()
        running = {(q.name, q.number) for q in runner.plan.queries}
        for query in self.catalog.queries.values():
            place = self.output_of(query)
            if (query.name, query.number) not in running and not self._running.is_replayed(query, place):
                check_new_output(query, place)
        self._declarations.begin()
        self.pushing.begin()

    def _print_console(self, done: BatchProgress) -> None:
        """Give what a batch has published of queries INTO 'console' to `console`."""
        for name, query in self.catalog.queries.items():
            rows = new_rows(query, done.published)
            if self.console is not None and rows is not None:
                self.console(name, done.batch, rows)

    def replan(self) -> None:
        """Plan the whole workload again at the next batch, with what is known by then."""
        self._declarations.replan()

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
        self._past.forget()

    def close(self) -> None:
        """Stop, and end the Spark session if this session started it and no other uses it."""
        self._running.close()

    def _repr_html_(self) -> str:
        listed = show.texts(self.queries.values())
        return f"<p><b>{escape(str(self.directory.root))}</b>: {self.status}</p>{listed}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
