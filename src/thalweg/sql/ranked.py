"""ROW_NUMBER, RANK and DENSE_RANK with OVER: the first rows of each group, which are a list that is unnested into results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp

from thalweg.expr.nodes import TRUE, Column, Expr
from thalweg.expr.normal import all_of, ordered
from thalweg.model.first_rows import PLACE, FirstRows
from thalweg.model.query import Aggregate, Output, Query
from thalweg.model.target import Target
from thalweg.model.windowed import windowed
from thalweg.sql.builder import Builder, is_star, unwrapped
from thalweg.sql.grouping import names_window
from thalweg.sql.over import RANKS, bound_of, conditions_of, over_calls, says_more
from thalweg.sql.results import checked_result, output_name
from thalweg.sql.rows import FORMS, Rows, Scope, is_window_reference, refuse_in_rows
from thalweg.sql.source import Source
from thalweg.sql.window_results import window_column
from thalweg.sql.windows import bind_windows, is_window

Columns = Sequence[tuple[str, Column]]
"""Columns of rows, each with the name that it has as a result."""
S = TypeVar("S", bound=Scope)
_OF_ROW = "of row "
"""Begins the names of what is read of a row until all of it is known."""


def only_call(source: Source, select: exp.Select) -> exp.Window:
    """The one call with OVER that a SELECT has, perhaps several times."""
    calls = list(over_calls(*select.expressions, select.args.get("qualify")))
    if not calls:
        raise source.at(select.args["qualify"], "QUALIFY without OVER", "write the condition into WHERE")
    call = calls[0]
    if (other := next((c for c in calls if c != call), None)) is not None:
        raise source.at(other, "a second call with OVER is not supported", "write a query for each")
    if not isinstance(call.this, exp.Anonymous) or call.this.name.upper() not in RANKS:
        written = source.written(call.this)
        raise source.at(
            call, f"{written} OVER is not supported", f"with OVER there are {', '.join(RANKS)} up to a number"
        )
    for key in ("group", "having"):
        if (clause := select.args.get(key)) is not None:
            raise source.at(clause, "OVER beside GROUP BY is not supported", "group in a SELECT in FROM")
    if call.this.expressions or call.args.get("spec") is not None or call.args.get("alias") is not None:
        name = call.this.name.upper()
        raise source.at(
            call,
            f"{name} takes PARTITION BY and ORDER BY alone",
            f"write {name}() OVER (PARTITION BY k ORDER BY v)",
        )
    if call.args.get("order") is None:
        raise source.at(call, f"{call.this.name.upper()} needs an order", "add ORDER BY to OVER")
    return call


def partition_of(call: exp.Window) -> list[exp.Expr]:
    """What PARTITION BY names."""
    return [unwrapped(i) for i in call.args.get("partition_by") or ()]


def ranks_in_windows(call: exp.Window) -> bool:
    """Whether rows are ranked in each window."""
    return any(map(is_window, partition_of(call)))


def ranked_in_windows(
    rows: Rows,
    select: exp.Select,
    call: exp.Window,
    where: tuple[Expr, ...],
    *,
    name: str,
    text: str,
    into: Target | None,
) -> Query:
    """The first rows of each group in each window."""
    items = [i for i in partition_of(call) if not names_window(rows, i)]
    keys = dict.fromkeys(rows.expression(i, "PARTITION BY") for i in items if not is_window(i))
    columns = [(c.name, Column(c.name, c.type)) for c in rows.stream.columns]
    found = bind_ranks(rows, select, call, columns, lambda star: columns, lambda _, node: window_column(node))
    query = windowed(
        name=name,
        text=text,
        stream=rows.stream.name,
        where=where,
        keys=tuple(keys),
        windows=bind_windows(rows.source, [i for i in items if is_window(i)], rows.stream),
        aggregates=(found.aggregate,),
        outputs=found.outputs,
        having=found.having,
        into=into,
    )
    return replace(query, unnested=True)


@dataclass(frozen=True)
class Ranked:
    """The first rows of groups: their list, and what is shown of each."""

    aggregate: Aggregate
    outputs: tuple[Output, ...]
    having: Expr | None


def bind_ranks(
    rows: S,
    select: exp.Select,
    call: exp.Window,
    columns: Columns,
    starred: Callable[[exp.Expr], Columns],
    window: Callable[[S, exp.Column], Expr],
) -> Ranked:
    """What a SELECT shows of its first rows. Rows have `columns`; those that are read tell rows of one rank apart, in this order. `window`
    says what is meant by a column of the window."""
    shown = _Shown(rows, lambda node: window(rows, node))
    outputs = tuple(shown.outputs(select, starred))
    count, conditions = _bounded(rows, select, call)
    chosen = all_of(map(shown.condition, conditions))
    read = frozenset().union(*(e.columns for e in (chosen, *(o.expr for o in outputs))))
    listed = [column for _, column in columns if _OF_ROW + column.name in read]
    names = {_OF_ROW + column.name: f"r{i}" for i, column in enumerate(listed)}

    def renamed(expr: Expr) -> Expr:
        return ordered(expr.renamed(lambda name: names.get(name, name)))

    orders, by = _orders(rows, call)
    asked = FirstRows(call.this.name.upper(), count, orders)
    return Ranked(
        Aggregate("FIRST_ROWS", (*by, *listed), params=asked.params),
        tuple(Output(o.name, renamed(o.expr)) for o in outputs),
        None if chosen == TRUE else renamed(chosen),
    )


def _bounded(rows: Scope, select: exp.Select, call: exp.Window) -> tuple[int, list[exp.Expr]]:
    """The greatest rank that QUALIFY lets through, and its conditions that say more."""
    items = (i for i in select.expressions if isinstance(i, exp.Alias) and unwrapped(i.this) == call)
    names = {i.alias.lower() for i in items}

    def is_rank(node: exp.Expr) -> bool:
        if isinstance(node, exp.Column):
            return not node.table and node.name.lower() in names and rows.column(node) is None
        return node == call

    found = [(c, bound_of(rows.source, c, is_rank)) for c in conditions_of(select.args.get("qualify"))]
    function, least = call.this.name.upper(), min((b for _, b in found if b is not None), default=None)
    if least is None or least < 1:
        message = f"{function} has no bound" if least is None else f"no row has {function} {least}"
        hint = f"add a condition such as {function} <= 10, in a SELECT around this one or with QUALIFY"
        raise rows.source.at(call, message, hint)
    return least, [c for c, bound in found if bound != least or says_more(c, least)]


def _orders(rows: Scope, call: exp.Window) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
    """The directions, and what rows are ordered by."""
    items = call.args["order"].expressions
    builder = rows.builder("ORDER BY")
    directions = tuple(
        f"{'DESC' if i.args.get('desc') else 'ASC'} NULLS {'FIRST' if i.args.get('nulls_first') else 'LAST'}"
        for i in items
    )
    return directions, tuple(builder.tree(i.this) for i in items)


@dataclass(frozen=True)
class _Shown:
    """Rows with their rank and the columns of their window, as the scope of SELECT and QUALIFY."""

    rows: Scope
    window: Callable[[exp.Column], Expr]
    aliases: dict[str, Expr] = field(default_factory=dict)

    def condition(self, node: exp.Expr) -> Expr:
        """A condition of QUALIFY."""
        return self._builder().condition(node)

    def outputs(self, select: exp.Select, starred: Callable[[exp.Expr], Columns]) -> Iterator[Output]:
        """The result columns."""
        taken: set[str] = set()
        for item in select.expressions:
            for name, expr in self._item(item, starred):
                if name.lower() in taken:
                    raise self.rows.source.at(item, f"two results are named {name}", "rename one with AS")
                taken.add(name.lower())
                yield Output(name, expr)

    def _item(self, item: exp.Expr, starred: Callable[[exp.Expr], Columns]) -> Iterator[tuple[str, Expr]]:
        if is_star(item):
            yield from ((name, self._of_row(column)) for name, column in starred(item))
            return
        node = item.this if isinstance(item, exp.Alias) else item
        expr = checked_result(self.rows, node, self._builder().tree(node))
        name = item.alias if isinstance(item, exp.Alias) else output_name(self.rows, node)
        self.aliases.setdefault(name.lower(), expr)
        yield name, expr

    def _builder(self) -> Builder:
        return Builder(self.rows.source, FORMS, self.rows.typing, self._leaf)

    def _leaf(self, node: exp.Expr) -> Expr | None:
        if isinstance(node, exp.Window):
            return Column(PLACE, "BIGINT")
        if not isinstance(node, exp.Column):
            refuse_in_rows(self.rows, node, "SELECT")
            return None
        if self.rows.column(node) is None:
            if is_window_reference(node):
                return self.window(node)
            if not node.table and node.name.lower() in self.aliases:
                return self.aliases[node.name.lower()]
        return self._of_row(self.rows.builder("SELECT").tree(node))

    @staticmethod
    def _of_row(column: Expr) -> Expr:
        return column.renamed(lambda name: _OF_ROW + name)
