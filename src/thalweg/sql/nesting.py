"""Subqueries in FROM, common table expressions, views and queries that others read.

Those that filter and project become part of the query that reads them: their columns are replaced by what these are, their conditions
are added to its own, and what they read it reads itself. Those that have groups are queries of their own, whose results it reads, and so
are joins that are grouped by windows or joined with other streams.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from thalweg.model.attaching import FOR_EVER, waits
from thalweg.model.nesting import RESULT_TIME
from thalweg.model.query import ANTI, FULL, LEFT, SEMI, TAKEN_BACK, Query
from thalweg.model.stream import Stream
from thalweg.sql.aggregates import groups_rows
from thalweg.sql.attaching import join_kind
from thalweg.sql.builder import unwrapped
from thalweg.sql.inner import Inner
from thalweg.sql.inner_windows import (
    check_times,
    has_window,
    with_equal_windows,
    with_inner_window,
    with_ranked_windows,
)
from thalweg.sql.inputs import Known
from thalweg.sql.nested_scope import Part, Scope, spread
from thalweg.sql.over import conditions_of, has_over
from thalweg.sql.over_changes import check_reading, may_change
from thalweg.sql.plain import check_plain, check_reference, is_computed
from thalweg.sql.refusals import table_references
from thalweg.sql.running import runs
from thalweg.sql.source import Source, Span, placed, span_of
from thalweg.sql.struct_fields import with_fields
from thalweg.sql.subqueries import has_subqueries, with_semi_joins
from thalweg.sql.unions import union_of
from thalweg.sql.window_tables import without_table_windows

DEEPEST = 100
"""Levels of nesting: what refers to itself ends here."""

LARGEST = 5000
"""Nodes of the expressions of a nested SELECT."""


@dataclass(frozen=True)
class Nested:
    """A SELECT that has a name: a common table expression, or a view or a `query` with a text of its own."""

    source: Source
    node: exp.Query
    named: Mapping[str, Nested]
    view: str = ""
    query: Query | None = None


Named = Mapping[str, Nested]


def is_nested(select: exp.Select, named: Named) -> bool:
    """Whether there is something else than streams and tables in FROM."""
    others = (
        n
        for n in _inputs(select)
        if isinstance(n, exp.Subquery) or n.args.get("windowing") is not None or n.name.lower() in named
    )
    return select.args.get("with_") is not None or next(others, None) is not None


def unnested(source: Source, select: exp.Select, known: Known, named: Named, depth: int = 0) -> exp.Select:
    """A SELECT that reads streams and tables only; the tree that is given is changed."""
    _check_depth(source, select, depth)
    select = with_fields(select, known, named)
    named = {**named, **_common(source, select, named)}
    select = with_semi_joins(source, without_table_windows(source, select), known, named)
    if all(_nested(source, node, named) is None for node in _inputs(select)):
        return select
    parts = [_part(source, node, known, named, depth) for node in _inputs(select)]
    parts = _met(source, select, parts, known, named, depth)
    _refuse_using(source, select)
    for part in parts:
        check_times(source, select, part)
    if depth == 0:  # what is within it filters and projects
        check_reading(source, select, [read for p in parts for read in (p.bases or (p,))])
    hidden = [j.kind in ("SEMI", "ANTI") for j in select.args.get("joins") or ()]
    parts = [replace(p, is_hidden=h) for p, h in zip(parts, [False, *hidden], strict=True)]
    is_inner = any(p.inner is not None for part in parts for p in (part, *part.bases))
    scope = Scope(source, tuple(_renamed(parts)), is_inner and has_window(select))
    scope.replace_columns(select)
    _read_directly(select, scope.parts)
    with_inner_window(source, select, scope.parts)
    with_ranked_windows(source, select, scope.parts)
    with_equal_windows(select, scope.parts)
    return select


def _common(source: Source, select: exp.Query, named: Named) -> dict[str, Nested]:
    """The common table expressions of a SELECT, each over those before it; they are taken out of it."""
    found: dict[str, Nested] = {}
    if (with_ := select.args.get("with_")) is None:
        return found
    if with_.args.get("recursive"):
        raise source.at(with_, "WITH RECURSIVE is not supported", "write the steps one by one")
    for cte in with_.expressions:
        if cte.args["alias"].args.get("columns"):
            raise source.at(cte, "renaming columns in WITH is not supported", "use AS in its SELECT")
        found[cte.alias.lower()] = Nested(source, cte.this, {**named, **found})
    select.set("with_", None)
    return found


def _inputs(select: exp.Select) -> Iterator[exp.Expr]:
    from_ = select.args.get("from_")
    yield from () if from_ is None else (from_.this, *(j.this for j in select.args.get("joins") or ()))


def _nested(source: Source, node: exp.Expr, named: Named) -> Nested | None:
    """The SELECT that stands in FROM, or that is meant by a name there."""
    if isinstance(node, exp.Subquery):
        return Nested(source, node.this, named)
    is_name = (
        isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier) and not node.args.get("db")
    )
    return named.get(node.name.lower()) if is_name else None


def _part(source: Source, node: exp.Expr, known: Known, named: Named, depth: int) -> Part:
    """What stands under one name in FROM: a stream or table as it is, a SELECT that becomes part of this one, or one whose results are
    read."""
    if (inner := _nested(source, node, named)) is None:
        return _base(source, node, known) if isinstance(node, exp.Table) else Part(node, node.alias_or_name)
    if isinstance(inner.node, exp.SetOperation):
        return _united(source, node, inner, inner.node.copy(), known, depth)
    if is_computed(inner.node) or is_attaching(source, inner.node):
        return _results(source, node, inner, known, depth)
    place = (span_of(node) or (0, 1)) if inner.view else None
    select = check_plain(source, node, inner.source, inner.node.copy())
    flat = unnested(inner.source, select, known, inner.named, depth + 1)
    return _nested_part(source, node, inner, flat, known, place)


def _met(
    source: Source, select: exp.Select, parts: list[Part], known: Known, named: Named, depth: int
) -> list[Part]:
    """Inputs where joined rows that are to meet others, in a window or of another stream, are results that are read, and so are rows that
    OVER gave something where more is done than to choose among them; a window after a SELECT of one stream is that stream's."""
    kinds = ["", *(join_kind(source, j) for j in select.args.get("joins") or ())]
    meets = has_window(select) or sum(p.is_stream or any(b.is_stream for b in p.bases) for p in parts) > 1
    found = []
    for number, part in enumerate(parts):
        inner, streams = _nested(source, part.node, named), [b for b in part.bases if b.is_stream]
        if inner is not None and part.has_over and not _only_chooses(select, part.node):
            found.append(_results(source, part.node, inner, known, depth))
            continue
        is_apart = part.nested and _stands_apart(part, number, kinds)
        if is_apart and not streams:
            hint = "name the table itself, and compute in SELECT"
            raise source.at(part.node, "a subquery over tables alone can't be the outer side of a join", hint)
        meeting = len(streams) > 1 and (meets or part.node.args.get("window") is not None)
        beneath = len(part.bases) > 1 and (runs(select) or has_window(select))
        if inner is not None and (is_apart or meeting or beneath):
            found.append(_results(source, part.node, inner, known, depth))
            continue
        if streams:
            _push_window(source, part.node, streams[0])
        found.append(part)
    return found


def _only_chooses(select: exp.Select, node: exp.Expr) -> bool:
    """Whether a SELECT filters and projects what it reads alone."""
    return (
        len(list(_inputs(select))) == 1
        and node.args.get("window") is None
        and not groups_rows(select)
        and not has_over(select)
    )


def _stands_apart(part: Part, number: int, kinds: list[str]) -> bool:
    """Whether a nested SELECT must be computed before it is joined: where rows of it may be missing, what it computes is NULL then, and
    its conditions choose its own rows."""
    computes = any(not isinstance(unwrapped(e), exp.Column) for _, e in part.outputs.values())
    if FULL in kinds or ("right" in kinds[1:2] and number == 0):
        return computes or bool(part.conditions) or len(part.bases) > 1
    if kinds[number] == LEFT:
        return computes or len(part.bases) > 1
    return kinds[number] in (SEMI, ANTI) and len(part.bases) > 1


def is_attaching(source: Source, query: exp.Expr) -> bool:
    """Whether a nested SELECT has outer, semi or anti joins, which no other SELECT can take over."""
    if not isinstance(query, exp.Select):
        return False
    return has_subqueries(query) or any(join_kind(source, j) for j in query.args.get("joins") or ())


def _results(source: Source, node: exp.Expr, inner: Nested, known: Known, depth: int) -> Part:
    """The results of a SELECT as a stream, in the place of it."""
    _check_depth(source, node, depth)
    check_reference(source, node)
    query = inner.query
    if query is None:
        query = known.bind(inner.source, inner.node.copy(), known.outside, inner.named)
    if query.retracts and not may_change(query):
        raise source.at(
            node,
            "a query over changes is not supported",
            "give what is read a window, without EMIT CHANGES",
        )
    if waits(query) >= FOR_EVER:
        hint = "give the stream before EXISTS, IN or SEMI JOIN a window that ends, as [RANGE 1 HOUR]"
        raise source.at(node, "rows of what is read may wait for a partner for ever", hint)
    return _read(node, known.add(query))


def _united(
    source: Source, node: exp.Expr, inner: Nested, union: exp.SetOperation, known: Known, depth: int
) -> Part:
    """The rows of a UNION ALL as a stream, in the place of it."""
    _check_depth(source, node, depth)
    check_reference(source, node)
    named = {**inner.named, **_common(inner.source, union, inner.named)}
    return _read(node, known.read(union_of(inner.source, union, known, named)))


def _check_depth(source: Source, node: exp.Expr, depth: int) -> None:
    if depth > DEEPEST:
        raise source.at(node, "the query is nested too deeply", "take it apart")


def _read(node: exp.Expr, found: Inner) -> Part:
    """What is computed before, as a stream in the place of a node of FROM."""
    alias = node.alias or (node.name if isinstance(node, exp.Table) else "subquery")
    more = {key: node.args[key] for key in ("window", "time") if node.args.get(key) is not None}
    table = exp.Table(
        this=exp.to_identifier(found.stream.name, quoted=True),
        alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)),
        **more,
    )
    return Part(placed(table, node), alias, tuple(found.columns), is_stream=True, inner=found)


def _nested_part(
    source: Source, node: exp.Expr, inner: Nested, select: exp.Select, known: Known, place: Span | None
) -> Part:
    tables = table_references(inner.source, select)
    bases = tuple(_base(inner.source, t, known) for t in tables)
    scope = Scope(inner.source, bases)
    scope.replace_columns(select)
    conditions = [j.args["on"] for j in select.args.get("joins") or () if j.args.get("on") is not None]
    where = select.args.get("where")
    conditions += [] if where is None else [where.this]
    chosen = tuple(conditions_of(select.args.get("qualify")))
    if sum(1 for tree in (*conditions, *chosen, *select.expressions) for _ in tree.walk()) > LARGEST:
        raise source.at(node, "what is nested here is too large", "take it apart")
    outputs = {name.lower(): (name, expr) for name, expr in scope.outputs(select)}
    alias = node.alias or (node.name if isinstance(node, exp.Table) else bases[0].alias)
    if place is not None:
        spread(place, *conditions, *chosen, *(e for _, e in outputs.values()), *tables)
    return Part(
        node,
        alias,
        bases=bases,
        outputs=outputs,
        conditions=tuple(conditions),
        is_view=place is not None,
        has_over=has_over(select),
        chosen=chosen,
    )


def _base(source: Source, table: exp.Table, known: Known) -> Part:
    origin, inner = known.either(source, table), known.within.get(table.name)
    own = () if inner is None else (RESULT_TIME, TAKEN_BACK)
    columns = tuple(c.name for c in origin.columns if c.name not in own)
    return Part(
        table,
        table.alias_or_name,
        columns,
        is_stream=isinstance(origin, Stream),
        inner=None if inner is None else replace(inner, columns={c: c for c in columns}),
    )


def _push_window(source: Source, node: exp.Expr, stream: Part) -> None:
    """A window after a nested SELECT is one of the only stream that it reads."""
    if (window := node.args.get("window")) is None:
        return
    if stream.node.args.get("window") is not None:
        raise source.at(window, "the stream has a window inside already", "keep one of the two")
    stream.node.set("window", window)


def _refuse_using(source: Source, select: exp.Select) -> None:
    """Refuse what would name columns of nested SELECTs."""
    for join in select.args.get("joins") or ():
        if join.args.get("using"):
            raise source.at(join, "USING with a subquery or a view is not supported", "write ON")


def _renamed(parts: list[Part]) -> Iterator[Part]:
    """Each stream or table under a name of its own: that of the SELECT around it where it is the only one there."""
    taken = {p.alias.lower() for p in parts}
    for part in parts:
        if len(part.bases) == 1:
            yield part.with_names([part.alias])
            continue
        names = []
        for base in part.bases:
            free = (
                n
                for i in range(len(taken) + 1)
                if (n := f"{part.alias}_{base.alias}{i or ''}").lower() not in taken
            )
            names.append(next(free))
            taken.add(names[-1].lower())
        yield part.with_names(names)


def _read_directly(select: exp.Select, parts: tuple[Part, ...]) -> None:
    """FROM with what nested SELECTs read in their places, and WHERE with their conditions."""
    joins: list[exp.Expr] = []
    conditions: list[exp.Expr] = []
    for number, part in enumerate(parts):
        tables = [b.node for b in part.bases] if part.nested else [part.node]
        join = None if number == 0 else select.args["joins"][number - 1]
        if join is not None and (join.side or join.kind in ("SEMI", "ANTI")) and join.side != "RIGHT":
            join.set("on", _and([join.args["on"], *part.conditions]))
        else:
            conditions += part.conditions
        if join is None:
            select.args["from_"].set("this", tables[0])
        else:
            join.set("this", tables[0])
            joins.append(join)
        joins += [exp.Join(this=t) for t in tables[1:]]
    select.set("joins", joins)
    if parts[0].has_over:
        chosen = [*parts[0].chosen, *conditions_of(select.args.get("where"))]
        select.set("where", None)
        select.set("qualify", exp.Qualify(this=exp.and_(*chosen, copy=False)) if chosen else None)
    if conditions:
        own = select.args.get("where")
        whole = _and([*([] if own is None else [own.this]), *conditions])
        select.set("where", exp.Where(this=whole))


def _and(conditions: list[exp.Expr]) -> exp.Expr:
    whole, *others = conditions
    for condition in others:
        whole = exp.And(this=whole, expression=condition)
    return whole
