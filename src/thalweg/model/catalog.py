"""The names that a session knows: streams, relations, views, queries and settings, as one frozen value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from thalweg.errors import UsageError
from thalweg.expr.python import Function
from thalweg.model.query import Query
from thalweg.model.recorded import Failure
from thalweg.model.settings import Config
from thalweg.model.stream import Relation, Stream, View


@dataclass(frozen=True)
class Catalog:
    """What has been declared. Every change makes a new catalog; `redefined` are the queries that may differ from what ran before, `failed`
    those that were stopped by an error of their own and not replaced or dropped since."""

    streams: Mapping[str, Stream] = field(default_factory=dict)
    relations: Mapping[str, Relation] = field(default_factory=dict)
    queries: Mapping[str, Query] = field(default_factory=dict)
    config: Config = field(default_factory=Config)
    redefined: frozenset[str] = frozenset()
    failed: Mapping[str, Failure] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)

    def with_stream(self, stream: Stream) -> Catalog:
        """One more stream; the same declaration twice is fine, another one under the same name is not."""
        self._free(
            stream.name, {n: s for n, s in self.streams.items() if s != stream}, self.relations, self.views
        )
        reserved = [c.name for c in stream.columns if c.name.startswith("__")]
        if reserved:
            raise UsageError(
                f"column {reserved[0]} of stream {stream.name} begins with two underscores",
                "rename it: such names are reserved",
            )
        return replace(self, streams={**self.streams, stream.name: stream})

    def with_relation(self, relation: Relation) -> Catalog:
        """One more static table."""
        self._free(
            relation.name,
            self.streams,
            {n: r for n, r in self.relations.items() if r != relation},
            self.views,
        )
        return replace(self, relations={**self.relations, relation.name: relation})

    def with_view(self, view: View, replaces: bool = False) -> Catalog:
        """One more view, or one in the place of another of its name; queries over the other one go on as they are."""
        if not replaces and self.views.get(view.name, view) != view:
            hint = f"replace it (CREATE OR REPLACE VIEW {view.name} AS ...), or use another name"
            raise UsageError(f"view {view.name} exists already, with another definition", hint)
        same = {n for n, v in self.views.items() if v == view or (replaces and n == view.name)}
        self._free(
            view.name, self.streams, self.relations, {n: v for n, v in self.views.items() if n not in same}
        )
        return replace(self, views={**self.views, view.name: view})

    def without_view(self, name: str) -> Catalog:
        """Without a view that no other one reads."""
        known(name, self.views, "view")
        self._unread("view", name)
        return replace(self, views={n: v for n, v in self.views.items() if n != name})

    def with_function(self, function: Function, replaces: bool = False) -> Catalog:
        """One more Python function, or one in the place of another of its name; queries that call the other one go on as they are."""
        before = next((f for n, f in self.functions.items() if n.lower() == function.name.lower()), None)
        if before is not None and before.is_same(function):
            return self
        if before is not None and not replaces:
            hint = "replace it (session.function(..., replace=True)), or use another name"
            raise UsageError(f"function {before.name} exists already, and does something else", hint)
        others = {n: f for n, f in self.functions.items() if f is not before}
        return replace(self, functions={**others, function.name: function})

    def without_function(self, name: str) -> Catalog:
        """Without a Python function that nothing calls."""
        known(name, self.functions, "function")
        users = [q.name for q in self.queries.values() if any(n == name for n, _ in q.functions)]
        if users:
            raise UsageError(f"function {name} is called by {', '.join(users)}", "drop these queries first")
        streams = [s.name for s in self.streams.values() if any(n == name for n, _ in s.functions)]
        if streams:
            raise UsageError(
                f"function {name} is called by columns of {', '.join(streams)}", "drop these streams first"
            )
        return replace(self, functions={n: f for n, f in self.functions.items() if n != name})

    def with_query(self, query: Query) -> Catalog:
        """One more query."""
        if query.name in self.queries:
            hint = f"replace it (CREATE OR REPLACE QUERY {query.name} AS ...), or use another name"
            raise UsageError(f"query {query.name} exists already", hint)
        if query.name in self.failed:
            hint = f"start it again (CREATE OR REPLACE QUERY {query.name} AS ...), or drop it first"
            raise UsageError(
                f"query {query.name} exists already, and has failed: {self.failed[query.name].message}", hint
            )
        return replace(self, queries={**self.queries, query.name: query})

    def with_other_query(self, query: Query) -> Catalog:
        """With a query in the place of another of its name, or one more."""
        failed = {n: f for n, f in self.failed.items() if n != query.name}
        return replace(
            self,
            queries={**self.queries, query.name: query},
            redefined=self.redefined | {query.name},
            failed=failed,
        )

    def without_query(self, name: str) -> Catalog:
        """Without a query that exists, or has failed."""
        known(name, {**self.queries, **self.failed}, "query")
        failed = {n: f for n, f in self.failed.items() if n != name}
        return replace(self, queries={n: q for n, q in self.queries.items() if n != name}, failed=failed)

    def with_query_dropped(self, name: str) -> Catalog:
        """Without a query that no other one reads."""
        users = [q.name for q in self.queries.values() if name in q.reads]
        if users:
            raise UsageError(f"query {name} is read by {', '.join(users)}", "drop these queries first")
        self._unread("query", name)
        return self.without_query(name)

    def with_failed(self, failures: Iterable[Failure]) -> Catalog:
        """With queries that were stopped."""
        found = {f.query.name: f for f in failures}
        return replace(
            self,
            queries={n: q for n, q in self.queries.items() if n not in found},
            failed={**self.failed, **found},
        )

    def without_stream(self, name: str) -> Catalog:
        """Without a stream that no query reads."""
        known(name, self.streams, "stream")
        users = [q.name for q in self.queries.values() if name in q.sources]
        if users:
            raise UsageError(f"stream {name} is read by {', '.join(users)}", "drop these queries first")
        self._unread("stream", name)
        return replace(self, streams={n: s for n, s in self.streams.items() if n != name})

    def without_relation(self, name: str) -> Catalog:
        """Without a static table."""
        known(name, self.relations, "table")
        users = [q.name for q in self.queries.values() if name in q.tables]
        if users:
            raise UsageError(f"table {name} is read by {', '.join(users)}", "drop these queries first")
        self._unread("table", name)
        return replace(self, relations={n: r for n, r in self.relations.items() if n != name})

    def _unread(self, what: str, name: str) -> None:
        """Refuse to drop what a view reads."""
        users = [
            v.name for v in self.views.values() if name.lower() in map(str.lower, v.reads) and v.name != name
        ]
        if users:
            raise UsageError(f"{what} {name} is read by {', '.join(users)}", "drop these views first")

    def _free(self, name: str, *taken: Mapping[str, object]) -> None:
        found = next((n for t in taken for n in t if n.lower() == name.lower()), None)
        if found is not None:
            raise UsageError(
                f"{found} is declared already, with another definition",
                "use another name, or drop the first one",
            )


def known(name: str, names: Iterable[str], what: str) -> None:
    """Refuse a name that nothing has, with the nearest that something has."""
    names = list(names)
    if name in names:
        return
    near = difflib.get_close_matches(name, names, 1)
    hint = (
        f"did you mean {near[0]}?"
        if near
        else (f"there is {', '.join(sorted(names))}" if names else f"there is no {what} yet")
    )
    raise UsageError(f"no {what} named {name}", hint)
