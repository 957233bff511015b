"""What is declared, and how it changes: one statement at a time, each whole or not at all.

Before a session runs, that is its own business. While it runs, a change is in its directory before it is acknowledged.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from thalweg.api.changes import asks_same
from thalweg.api.checks import (
    check_history,
    check_new_output,
    check_no_feedback,
    check_relations,
    check_sessions,
    check_ttl,
)
from thalweg.api.creations import Creations
from thalweg.api.declaring import (
    absolute,
    bound_again,
    check_uncalled,
    query_of,
    with_views_bound,
)
from thalweg.api.past import Past
from thalweg.api.places import Places, check_results, check_rows_beside
from thalweg.api.remembering import (
    FUNCTION,
    QUERY,
    SETTING,
    STREAM,
    TABLE,
    VIEW,
    as_it_was,
    catalog_of,
    check_fitting,
    recorded_of,
    reduced,
    says_all,
    thing,
    things,
)
from thalweg.api.running import Running
from thalweg.connectors.base import Source
from thalweg.engine.workload import Workload, outputs_beside
from thalweg.expr.python import Function
from thalweg.model.catalog import Catalog, known
from thalweg.model.query import Query
from thalweg.model.recorded import Failure
from thalweg.model.settings import with_setting
from thalweg.model.stream import Relation, Stream, View
from thalweg.optimizer.planner import planner_for
from thalweg.sql import statements as st
from thalweg.sql.views import check_view, functions_named, view_of
from thalweg.state.changelog import Changelog
from thalweg.state.functions import FunctionFiles
from thalweg.state.together import Done, Together


class Declarations:
    """The catalog of a session, which begins as its directory remembers it. What runs is told of every change.

    Whoever looks before a change does both in one block of `changing`. `own` is what this session has declared before it ran.
    """

    def __init__(self, running: Running, past: Past, places: Places, changelog: Changelog) -> None:
        self._running, self._past, self._places, self._changelog = running, past, places, changelog
        self.catalog = catalog_of(changelog.last.recorded)
        self.own: frozenset[str] = frozenset()
        self._lasting = frozenset(changelog.last.recorded.lasting)
        self.lock, self._depth = threading.RLock(), 0
        self._number, self._replans = 0, 0
        self._written = self.catalog, self._lasting
        self._stood = self.catalog
        self._creations = Creations(self._given)
        self._together = Together(self._write)
        self._files = FunctionFiles()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Nobody else changes anything; what was changed here is in the directory when the outermost block ends, if the session runs."""
        self.lock.acquire()
        if self._depth == 0:
            self._stood = self.catalog
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            number = self._number if self._depth == 0 and self._is_open else 0
            self.lock.release()
            self._together.wait(number)

    @property
    def _is_open(self) -> bool:
        return self._running.runner is not None

    @property
    def outputs(self) -> dict[str, str]:
        """Where the results of each query go."""
        return {q.name: self._places.of(q) for q in self.catalog.queries.values()}

    @property
    def workload(self) -> Workload:
        """What is declared, as the runner takes it."""
        c = self.catalog
        beside = outputs_beside(c.streams.values(), self._running.directory.bad)
        relations = tuple(c.relations.values())
        return Workload(
            tuple(c.streams.values()),
            tuple(c.queries.values()),
            self.outputs | beside,
            self._replans,
            relations,
            c.config,
        )

    def become(self, catalog: Catalog, *said: str) -> None:
        """Change what is declared, by what was said; what runs, runs it from the next batch on."""
        self._running.check_open()
        there = frozenset(things(catalog))
        self.catalog, self._number = catalog, self._number + 1
        if self._is_open:
            self._lasting = (self._lasting | set(said)) & there
        else:
            self._lasting, self.own = (self._lasting - set(said)) & there, (self.own | set(said)) & there
            if says_all(self.own):
                self.catalog = reduced(catalog, self.own | self._lasting)
            self._running.offer(self.workload)

    def _write(self) -> Done:
        """Put on disk all that was asked for by now, as one entry, and have it run; or take it all back."""
        with self.lock:
            number, catalog, lasting, workload = self._number, self.catalog, self._lasting, self.workload
        try:
            with self._running.directory.telling:
                self._running.check_open()
                if self._is_open:  # else it is told with all the rest when the next run begins
                    self._record(catalog, lasting, workload)
        except Exception as e:
            with self.lock:
                self.catalog, self._lasting = self._written
                return self._number, e
        self._running.offer(workload)
        return number, None

    def _record(self, catalog: Catalog, lasting: frozenset[str], workload: Workload) -> None:
        self._running.directory.guard()
        self._files.write(self._running.directory.functions, catalog.config.durable)
        self._changelog.store.durable = catalog.config.durable
        places = {name: workload.outputs[name] for name in catalog.queries}
        self._changelog.append(recorded_of(catalog, places, lasting))
        self._written = catalog, lasting

    def begin(self) -> None:
        """Keep what is declared at the start of a run, which holds the directory by now."""
        with self.lock:
            self._changelog.check_last()
            check_fitting(self.catalog, self._changelog.last.recorded, self.own)
            self._record(self.catalog, self._lasting, self.workload)
            self._together.reached(self._number)
            if (runner := self._running.runner) is not None:
                runner.on_failed = self.failed

    def _is_remembered(self, kind: str, name: str) -> bool:
        """Whether something is there from an earlier run, and this session may say it again."""
        return not self._is_open and thing(kind, name) not in self.own

    def stream(self, source: Source) -> Stream:
        """One more stream, and what it is read from."""
        stream = source.stream
        with self.changing():
            self._running.check_sound()
            before = self.catalog
            altered = before.streams.get(stream.name)
            if (
                altered is not None
                and self._is_remembered(STREAM, stream.name)
                and altered.goes_on_as(stream)
            ):
                source = replace(source, stream=altered)  # type: ignore[type-var]
                stream = altered
            if self._is_remembered(STREAM, stream.name):
                before = replace(
                    before, streams={n: s for n, s in before.streams.items() if n != stream.name}
                )
            catalog = before.with_stream(stream)
            check_rows_beside(stream, before.streams.values(), self.outputs)
            if self._is_open:
                check_no_feedback(catalog, self._running.directory.root, self.outputs)
            self._running.add_source(source)
            self.become(catalog, thing(STREAM, stream.name))
        return stream

    def more_columns(self, stream: Stream) -> None:
        """A stream with columns beside those that it has. Queries that read it go on as they are."""
        with self.changing():
            self._running.check_sound()
            catalog = replace(self.catalog, streams={**self.catalog.streams, stream.name: stream})
            over = [v for v in catalog.views.values() if stream.name in v.reads]
            catalog = with_views_bound(catalog, over, f"reads {stream.name}")
            self._running.read_anew(stream)
            self.become(catalog, thing(STREAM, stream.name))

    def relation(self, relation: Relation) -> Relation:
        """One more static table."""
        relation = replace(relation, path=absolute(relation.path) or "")
        with self.changing():
            before = self.catalog
            if self._is_remembered(TABLE, relation.name):
                before = replace(
                    before, relations={n: r for n, r in before.relations.items() if n != relation.name}
                )
            self.become(before.with_relation(relation), thing(TABLE, relation.name))
        return relation

    def function(self, function: Function, data: bytes, replaces: bool) -> Function:
        """One more Python function, of which `data` is the file, or one in the place of another of its name."""
        with self.changing():
            before = self.catalog
            again = self._is_remembered(FUNCTION, function.name)
            catalog = before.with_function(function, replaces or again)
            kept = catalog.functions[function.name]
            if kept is function:
                self._files.waiting[function.digest] = data
            users = [v for v in catalog.views.values() if function.name.lower() in functions_named(v.text)]
            catalog = with_views_bound(catalog, users, f"calls {function.name}")
            self.become(catalog, thing(FUNCTION, function.name))
        return kept

    def view(self, statement: st.CreateView) -> View:
        """One more view, or one in the place of another; queries that were created over that go on as they are."""
        with self.changing():
            before = self.catalog
            replaces = statement.replaces or self._is_remembered(VIEW, statement.name)
            if replaces:
                before = replace(before, views={n: v for n, v in before.views.items() if n != statement.name})
            check_view(statement.select)
            view = view_of(
                statement.name, statement.select, query_of(before, statement.select, statement.name)
            )
            self.become(bound_again(self.catalog.with_view(view, replaces), view), thing(VIEW, view.name))
        return view

    def query(self, statement: st.CreateQuery) -> Query:
        """One more query, or one in the place of another of its name."""
        with self.changing():
            self._running.check_sound()
            if statement.way == "ALTER":
                known(
                    statement.name,
                    {**self._past.ran(), **self.catalog.failed, **self.catalog.queries},
                    "query",
                )
            query = replace(
                query_of(self.catalog, statement.select, statement.name, statement.into),
                history=statement.history,
                ttl=statement.ttl,
            )
            before = self._remembered.get(query.name) if self._is_remembered(QUERY, query.name) else None
            query = as_it_was(self.catalog, before, statement.select, query)
            check_ttl(query)
            if statement.history is not None:
                check_history(self.catalog, query, self._past.ran() if self._is_open else {}, statement.way)
            query = self._numbered(query)
            catalog = self._added(query) if statement.way == "CREATE" else self._replaced(query)
            check_results(
                self.catalog,
                self._places.of(query),
                {n: path for n, path in self.outputs.items() if n != query.name},
            )
            if not query.windows:
                self._check_plan(catalog, query)
            self._check_running(catalog, query)
            self.become(catalog, thing(QUERY, query.name))
        return query

    def _numbered(self, query: Query) -> Query:
        """A query with the number of its creation. It is one that was there where nothing but its text changes."""
        before = self._there.get(query.name)
        if before is not None and self._places.is_same(before, query):
            return replace(query, number=before.number, line=before.line)
        replaced = (self.catalog.queries if self._is_open else self._there).get(query.name)
        return self._creations.new(query, replaced)

    def _is_going_on(self, query: Query) -> bool:
        """Whether a query is one that was there."""
        return (before := self._there.get(query.name)) is not None and before.number == query.number

    @property
    def _there(self) -> Mapping[str, Query]:
        """The queries that a change is made to: those of an earlier run, or those before the statements that come into force together."""
        return self._stood.queries if self._is_open else self._remembered

    @property
    def _remembered(self) -> Mapping[str, Query]:
        """The queries of an earlier run."""
        last = self._changelog.last
        return last.recorded.queries if last.number >= 0 else self._past.ran()

    def _given(self) -> Iterator[int]:
        """The numbers that queries were given before this session was opened."""
        told = self._changelog.last.recorded
        yield from (q.number for q in told.queries.values())
        yield from (f.query.number for f in told.failed.values())
        yield from (life.number for life in self._past.lives())

    def _added(self, query: Query) -> Catalog:
        """With one more query. One that failed, and is declared again by a script as it was, stays as it is."""
        remembered = self._is_remembered(QUERY, query.name)
        failed = self._changelog.last.recorded.failed.get(query.name)
        if remembered and failed is not None and asks_same(failed.query, query):
            return self.catalog.with_failed([failed])
        again = remembered and (query.name in self.catalog.queries or query.name in self.catalog.failed)
        catalog = (self.catalog.without_query(query.name) if again else self.catalog).with_query(query)
        if self._is_open and not self._is_going_on(query):
            self._places.keep_apart(query)
        return catalog

    def _replaced(self, query: Query) -> Catalog:
        """With a query in the place of another, whose results stay apart from its own."""
        name, failed = query.name, query.name in self.catalog.failed
        if not self._is_going_on(query):
            before = [there[name] for there in (self._past.ran(), self._there) if name in there]
            for other in () if failed else before:
                check_sessions(other, query)
            if self._is_open or failed or before:
                self._places.set_apart(query)
        return self.catalog.with_other_query(query)

    def _check_plan(self, catalog: Catalog, query: Query) -> None:
        """Refuse a join that settings leave no plan for."""
        runner = self._running.runner
        manifest = runner.manifest if runner is not None else None
        planner_for(catalog.config, manifest, catalog.streams.values(), catalog.relations.values()).check(
            query
        )

    def _check_running(self, catalog: Catalog, query: Query) -> None:
        """Refuse, while batches run, what a start would refuse."""
        if self._is_open:
            check_relations(self.catalog, query)
            place = self._places.of(query)
            check_no_feedback(catalog, self._running.directory.root, {query.name: place})
            if not self._is_going_on(query):
                check_new_output(query, place)

    def set(self, key: str, value: str) -> None:
        """Change a setting, unless it leaves a query without a plan."""
        with self.changing():
            catalog = replace(self.catalog, config=with_setting(self.catalog.config, key, value))
            planner = planner_for(catalog.config, None, catalog.streams.values(), catalog.relations.values())
            for query in catalog.queries.values():
                if not query.windows:
                    planner.check(query)
            self.become(catalog, thing(SETTING, key.lower()))

    def drop(self, kind: str, name: str) -> None:
        """One query, stream, table or view less."""
        with self.changing():
            now = self.catalog
            if kind == FUNCTION:
                check_uncalled(now, name)
            without = {
                QUERY: now.with_query_dropped,
                STREAM: now.without_stream,
                TABLE: now.without_relation,
                VIEW: now.without_view,
                FUNCTION: now.without_function,
            }
            self.become(without[kind](name))

    def failed(self, failures: Sequence[Failure]) -> None:
        """Queries that a batch had to stop, unless they are no more what is asked."""
        with self.changing():
            found = [f for f in failures if self.catalog.queries.get(f.query.name) is f.query]
            self.become(self.catalog.with_failed(found))

    def replan(self) -> None:
        """Have all planned again."""
        with self.changing():
            self._replans += 1
            self.become(self.catalog)
