"""What is declared, and how it changes: one statement at a time, each whole or not at all."""

from __future__ import annotations

import threading
from dataclasses import replace

from thalweg.api.changes import asks_same
from thalweg.api.checks import check_new_output, check_relations
from thalweg.api.declaring import absolute, query_of
from thalweg.api.past import Past
from thalweg.api.places import Places, check_late_rows, check_results
from thalweg.api.running import Running
from thalweg.connectors.base import Source
from thalweg.engine.workload import Workload
from thalweg.model.catalog import Catalog, known
from thalweg.model.query import Query
from thalweg.model.settings import with_setting
from thalweg.model.stream import Relation, Stream
from thalweg.optimizer.planner import planner_for
from thalweg.sql import statements as st


class Declarations:
    """The catalog of a session, which what runs is told of whenever it changes. Whoever looks before a change holds the `lock`."""

    def __init__(self, running: Running, past: Past, places: Places) -> None:
        self._running, self._past, self._places = running, past, places
        self.catalog = Catalog()
        self.lock = threading.RLock()
        self._replans = 0

    @property
    def outputs(self) -> dict[str, str]:
        """Where the results of each query go."""
        return {q.name: self._places.of(q) for q in self.catalog.queries.values()}

    @property
    def workload(self) -> Workload:
        """What is declared, as the runner takes it."""
        c = self.catalog
        late = {f"late:{s.name}": s.late_rows for s in c.streams.values() if s.late_rows}
        relations = tuple(c.relations.values())
        return Workload(tuple(c.streams.values()), tuple(c.queries.values()), self.outputs | late, self._replans, relations, c.config)

    def become(self, catalog: Catalog) -> None:
        """Change what is declared; what runs, runs it from the next batch on."""
        self.catalog = catalog
        self._running.offer(self.workload)

    def stream(self, source: Source) -> Stream:
        """One more stream, and what it is read from."""
        stream = source.stream
        with self.lock:
            self._running.check_sound()
            catalog = self.catalog.with_stream(stream)
            check_late_rows(stream, self.outputs)
            self._running.add_source(source)
            self.become(catalog)
        return stream

    def relation(self, relation: Relation) -> Relation:
        """One more static table."""
        relation = replace(relation, path=absolute(relation.path) or "")
        with self.lock:
            self.become(self.catalog.with_relation(relation))
        return relation

    def query(self, statement: st.CreateQuery) -> Query:
        """One more query, or one in the place of another of its name."""
        with self.lock:
            self._running.check_sound()
            if statement.way == "ALTER":
                known(statement.name, {**self._past.ran(), **self.catalog.queries}, "query")
            query = query_of(self.catalog, statement.select, statement.name, statement.into)
            catalog = self.catalog.with_query(query) if statement.way == "CREATE" else self._replaced(query)
            check_results(self.catalog, self._places.of(query), {n: path for n, path in self.outputs.items() if n != query.name})
            if not query.windows:
                self._check_plan(catalog, query)
            self._check_running(query)
            self.become(catalog)
        return query

    def _replaced(self, query: Query) -> Catalog:
        """With a query in the place of another, whose results stay apart from its own."""
        before = self._past.ran().get(query.name)
        if before is None and self._running.runner is not None:
            before = self.catalog.queries.get(query.name)
        self._places.set_apart(query, before)
        return self.catalog.with_other_query(query)

    def _check_plan(self, catalog: Catalog, query: Query) -> None:
        """Refuse a join that settings leave no plan for."""
        runner = self._running.runner
        manifest = runner.manifest if runner is not None else None
        planner_for(catalog.config, manifest, catalog.streams.values(), catalog.relations.values()).join(query)

    def _check_running(self, query: Query) -> None:
        """Refuse, while batches run, what a start would refuse."""
        if (runner := self._running.runner) is not None:
            check_relations(self.catalog, query)
            if not (ran := self._past.ran().get(query.name)) or not asks_same(ran, query):
                check_new_output(query, self._places.of(query), runner)

    def set(self, key: str, value: str) -> None:
        """Change a setting, unless it leaves a query without a plan."""
        with self.lock:
            catalog = replace(self.catalog, config=with_setting(self.catalog.config, key, value))
            planner = planner_for(catalog.config, None, catalog.streams.values(), catalog.relations.values())
            for query in catalog.queries.values():
                if not query.windows:
                    planner.join(query)
            self.become(catalog)

    def replan(self) -> None:
        """Have all planned again."""
        with self.lock:
            self._replans += 1
            self.become(self.catalog)
