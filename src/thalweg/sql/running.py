"""LAG, LEAD and aggregates with OVER: rows in the order of event time, each with what others of its key make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from thalweg.expr.nodes import Cast, Column, Expr, Literal
from thalweg.expr.typing import InferenceError, Typing
from thalweg.model.aggregates import AGGREGATES, ALL_ROWS
from thalweg.model.nesting import RESULT_TIME
from thalweg.model.query import ORDERED, PASSING, Aggregate, ColumnRef, Output, Query, QueryInput, Term
from thalweg.model.running import LAG, LEAD, ROWS, Frame, Running, RunningCall
from thalweg.model.stream import Stream
from thalweg.model.target import Target
from thalweg.sql.aggregates import aggregate_type, bind_aggregate, is_aggregate
from thalweg.sql.builder import Builder, is_star, unwrapped
from thalweg.sql.frames import bind_frame, row_count
from thalweg.sql.inner import ENDS
from thalweg.sql.inputs import Known, bind_inputs
from thalweg.sql.join_conditions import bind_conditions
from thalweg.sql.join_results import starred
from thalweg.sql.joined import JoinedRows
from thalweg.sql.over import RANKS, conditions_of, over_calls
from thalweg.sql.refusals import SUPPORTED_IN_JOINS, refuse_clauses
from thalweg.sql.results import checked_result, output_name
from thalweg.sql.rows import FORMS
from thalweg.sql.source import UNLIKE, Source, one_line
from thalweg.sql.using import bind_using
from thalweg.sql.windows import is_window

FUNCTIONS = f"LAG, LEAD, aggregates such as SUM, and {', '.join(RANKS)} up to a number"
_CLAUSES = {
    "group": ("OVER beside GROUP BY", "group in a SELECT in FROM"),
    "having": ("OVER beside HAVING", "group in a SELECT in FROM"),
    "every": ("EVERY beside OVER", "each row is emitted once the watermark has passed it; leave it out"),
    "emit": ("EMIT beside OVER", "each row is emitted once the watermark has passed it; leave it out"),
    "joins": ("OVER beside a join", "put the join into a SELECT in FROM"),
}


def runs(select: exp.Expr) -> bool:
    """Whether OVER gives what runs along with event time, and not ranks alone."""
    if not isinstance(select, exp.Select):
        return False
    calls = over_calls(*select.expressions, select.args.get("qualify"))
    return any(not (isinstance(c.this, exp.Anonymous) and c.this.name.upper() in RANKS) for c in calls)


def bind_running(
    source: Source,
    select: exp.Select,
    known: Known,
    typing: Typing,
    *,
    name: str,
    text: str,
    into: Target | None,
) -> Query:
    """The rows of one stream in order, with what their calls give."""
    _refuse(source, select)
    refuse_clauses(source, select, SUPPORTED_IN_JOINS)
    (given,) = bind_inputs(source, select, known, rows=True)
    if given.kind != PASSING:
        hint = "leave it out: frames say how far back rows count, RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW"
        raise source.at(select.args["from_"].this, "a window after a stream goes not with OVER", hint)
    inputs = (replace(given, kind=ORDERED),)
    rows = JoinedRows(source, inputs, bind_using(source, select, inputs, frozenset()), typing, {})
    conditions = bind_conditions(rows, select, {})
    calls = _Calls(rows, _times(known, given.origin), _hint(known, given.origin))
    outputs = tuple(calls.outputs(select))
    kept = tuple(calls.kept(select))
    columns = calls.columns([*(o.expr for o in outputs), *(t.expr for t in kept)])
    others = (c.name for c in given.origin.columns if c.name in {ref.name for ref in columns})
    ties = tuple(dict.fromkeys((*calls.ties, *others)))
    return Query(
        name=name,
        text=text,
        inputs=(QueryInput(given.alias, given.origin.name, ORDERED, where=conditions.where[0]),),
        outputs=outputs,
        columns=columns,
        keys=calls.keys or (Term(Literal("1", "INTEGER"), ()),),
        kept=kept,
        running=Running(tuple(calls.found), ties),
        into=into,
    )


def _refuse(source: Source, select: exp.Select) -> None:
    for clause, (what, hint) in _CLAUSES.items():
        if node := select.args.get(clause):
            raise source.at(node[0] if isinstance(node, list) else node, f"{what} is not supported", hint)


def _times(known: Known, stream: object) -> frozenset[str]:
    """The columns that are the event time of rows, or in its order."""
    assert isinstance(stream, Stream)
    inner = known.within.get(stream.name)
    if inner is None:
        return frozenset((stream.time,))
    time = next(o.expr for o in inner.query.outputs if o.name == RESULT_TIME)
    same = {o.name for o in inner.query.outputs if o.expr == time}
    return frozenset((stream.time, *same, *inner.columns_of(ENDS)))


def _hint(known: Known, stream: object) -> str:
    """What to order by where that is no column that is shown."""
    assert isinstance(stream, Stream)
    times, inner = sorted(_times(known, stream) - {RESULT_TIME}), known.within.get(stream.name)
    if times or inner is None:
        shown = {stored: name for name, stored in ({} if inner is None else inner.columns).items()}
        return f"write ORDER BY {shown.get(times[0], times[0])}" if times else "write ORDER BY the event time"
    time = next(o.expr for o in inner.query.outputs if o.name == RESULT_TIME)
    written = time.sql.replace('"', "")
    if inner.query.windows or inner.query.every is not None:
        written = "window_end"
    elif inner.query.running is not None and inner.query.running.ahead:
        written = (
            f"LEAD({known.times(inner.query)[inner.query.stream]}, {inner.query.running.ahead}) OVER (...)"
        )
    return f"show {written} AS time in the SELECT in FROM, and write ORDER BY time"


@dataclass
class _Calls:
    """What a SELECT shows of rows, and the calls with OVER that it needs, each once."""

    rows: JoinedRows
    times: frozenset[str]
    hint: str
    found: list[RunningCall] = field(default_factory=list)
    keys: tuple[Term, ...] = ()
    ties: tuple[str, ...] = ()
    first: exp.Window | None = None
    aliases: dict[str, Term] = field(default_factory=dict)

    def columns(self, exprs: list[Expr]) -> tuple[ColumnRef, ...]:
        """All columns that are read."""
        given = self.rows.inputs[0].alias
        refs = {r for e in exprs for r in self._refs(e)} | {c for k in self.keys for c in k.columns}
        called = frozenset(self.ties).union(*(e.columns for c in self.found for e in c.call.exprs))
        return tuple(sorted(refs | {self.rows.refs[f"{given}.{name}"] for name in called}))

    def outputs(self, select: exp.Select) -> Iterator[Output]:
        """The result columns."""
        for item in select.expressions:
            for name, expr in self._item(item):
                if name.lower() in self.aliases:
                    raise self.rows.source.at(item, f"two results are named {name}", "rename one with AS")
                self.aliases[name.lower()] = self._term(expr)
                yield Output(name, expr)

    def kept(self, select: exp.Select) -> Iterator[Term]:
        """The conditions of QUALIFY."""
        builder = self._builder("QUALIFY")
        for node in conditions_of(select.args.get("qualify")):
            yield self._term(builder.condition(node))

    def _item(self, item: exp.Expr) -> Iterator[tuple[str, Expr]]:
        if is_star(item):
            yield from ((c.name, self.rows.column_of(c)) for c in starred(self.rows, item))
            return
        node = item.this if isinstance(item, exp.Alias) else item
        expr = checked_result(self.rows, node, self._builder("SELECT").tree(node))
        yield item.alias if isinstance(item, exp.Alias) else output_name(self.rows, node), expr

    def _builder(self, place: str) -> Builder:
        under: Mapping[str, Term] = self.aliases
        plain = self.rows.builder(place, under)
        return Builder(
            self.rows.source,
            FORMS,
            self.rows.typing,
            lambda node: self._called(node) if isinstance(node, exp.Window) else plain.leaf(node),
        )

    def _term(self, expr: Expr) -> Term:
        return Term(expr, tuple(sorted(self._refs(expr))))

    def _refs(self, expr: Expr) -> set[ColumnRef]:
        return {self.rows.refs[name] for name in expr.columns if name in self.rows.refs}

    def _called(self, node: exp.Window) -> Expr:
        """The column of what a call gives."""
        self._check_function(node)
        self._check_order(node)
        call, type_ = self._call(node)
        if call not in self.found:
            self.found.append(call)
        return Column(f"o{self.found.index(call)}", type_)

    def _check_function(self, node: exp.Window) -> None:
        """What is called is an aggregate, or one of the few other functions."""
        source, inner = self.rows.source, node.this
        if isinstance(inner, exp.IgnoreNulls | exp.RespectNulls):
            raise source.at(
                node, "IGNORE NULLS with OVER is not supported", "leave rows with NULL out in WHERE"
            )
        if _name(inner) not in (LAG, LEAD) and not _is_row_number(inner) and not is_aggregate(inner):
            raise source.at(
                node, f"{source.written(inner)} OVER is not supported", f"with OVER there are {FUNCTIONS}"
            )

    def _check_order(self, node: exp.Window) -> None:
        """All calls have the rows of one key in the order of event time."""
        source, order = self.rows.source, node.args.get("order")
        if node.args.get("alias") is not None or node.args.get("first") is not None:
            raise source.at(
                node, "OVER with a name is not supported", "write PARTITION BY and ORDER BY into it"
            )
        if order is None:
            raise source.at(node, "OVER needs the order of event time", self.hint)
        item = order.expressions[0]
        column = unwrapped(item.this)
        ref = self.rows.resolve(column) if isinstance(column, exp.Column) else None
        if ref is None or ref.name not in self.times or item.args.get("desc"):
            message = f"{source.written(item)} is not the event time, by which alone these are computed"
            raise source.at(item, message, self.hint)
        more = tuple(self._tie(i) for i in order.expressions[1:])
        if (
            more
            and (frame := node.args.get("spec")) is not None
            and str(frame.args["kind"]).upper() == "RANGE"
        ):
            raise source.at(
                order.expressions[1], "RANGE goes by the event time alone", "leave it out, or write ROWS"
            )
        keys = tuple(dict.fromkeys(self._keys(node)))
        if self.first is not None and (keys, more) != (self.keys, self.ties):
            message = "OVER by two PARTITION BY, or two ORDER BY, is not supported"
            raise source.at(node, message, "do one of them in a SELECT in FROM")
        self.first, self.keys, self.ties = node, keys, more

    def _tie(self, item: exp.Expr) -> str:
        """A column that rows of one event time are in the order of."""
        column = unwrapped(item.this)
        ref = self.rows.resolve(column) if isinstance(column, exp.Column) else None
        if ref is None or item.args.get("desc") or not item.args.get("nulls_first"):
            hint = "name a column, or leave it out: then they are in the order of the columns that are read"
            raise self.rows.source.at(
                item, "rows of one event time are in the order of columns, ascending", hint
            )
        return ref.name

    def _keys(self, node: exp.Window) -> Iterator[Term]:
        for item in map(unwrapped, node.args.get("partition_by") or ()):
            if is_window(item) and item.args.get("time") is not None:
                raise self.rows.source.at(
                    item,
                    "a window in PARTITION BY goes with ranks alone",
                    "use window_end of a SELECT in FROM",
                )
            if not is_window(item):
                yield self.rows.term(item, "PARTITION BY")

    def _call(self, node: exp.Window) -> tuple[RunningCall, str]:
        source, inner = self.rows.source, node.this
        if (name := _name(inner)) in (LAG, LEAD):
            return self._neighbour(node, name)
        if _is_row_number(inner):
            return RunningCall(ALL_ROWS, Frame(ROWS)), "BIGINT"
        if node.args.get("spec") is None and self.ties:
            hint = "write ROWS UNBOUNDED PRECEDING, or leave the second ORDER BY out"
            raise source.at(node, "without a frame rows go by the event time alone", hint)
        return self._aggregate(node)

    def _aggregate(self, node: exp.Window) -> tuple[RunningCall, str]:
        rows = self.rows
        call = bind_aggregate(rows.builder("an aggregate"), node.this)
        if AGGREGATES[call.function].holistic or AGGREGATES[call.function].made is not None:
            message = f"{rows.source.written(node.this)} OVER is not supported"
            raise rows.source.at(node, message, "aggregates that keep values take a window in GROUP BY")
        try:
            type_ = aggregate_type(call, rows.typing)
        except InferenceError as error:
            raise rows.source.at(node.this, one_line(error), UNLIKE) from None
        where = None if call.where is None else rows.bare(call.where)
        bare = replace(call, args=tuple(map(rows.bare, call.args)), where=where)
        return RunningCall(bare, bind_frame(rows.source, node)), type_

    def _neighbour(self, node: exp.Window, name: str) -> tuple[RunningCall, str]:
        """LAG or LEAD: the value, how many rows away, and what stands for it where no row is so far before."""
        source, args = self.rows.source, list(node.this.expressions)
        if not 1 <= len(args) <= 3:
            raise source.at(
                node, f"{name} takes a value, a number of rows and a default", f"write {name}(x, 1)"
            )
        if node.args.get("spec") is not None:
            raise source.at(
                node.args["spec"], f"{name} has no frame", f"write {name}(x, n) OVER (... ORDER BY ...)"
            )
        if name == LEAD and len(args) == 3:
            raise source.at(args[2], "LEAD waits for the later row, so it has no default", "leave it out")
        count = 1 if len(args) == 1 else row_count(source, args[1], f"the second argument of {name}")
        value = self.rows.builder(name).tree(args[0])
        given = [value]
        if len(args) == 3:
            other = self.rows.builder(name).tree(args[2])
            given.append(other if other.type == value.type else Cast(other, value.type))
        call = Aggregate(name, tuple(map(self.rows.bare, given)))
        return RunningCall(call, Frame(ROWS, count)), value.type


def _name(called: exp.Expr) -> str:
    """The name of a function that the grammar knows nothing of."""
    return called.name.upper() if isinstance(called, exp.Anonymous) else ""


def _is_row_number(called: exp.Expr) -> bool:
    return _name(called) == "ROW_NUMBER" and not called.expressions
