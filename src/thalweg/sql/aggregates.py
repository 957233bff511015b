"""Calls of aggregate functions to the aggregates of the query model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from sqlglot import exp

from thalweg.expr.nested import spark_type
from thalweg.expr.nodes import NULL, TRUE, Column, Expr, is_constant
from thalweg.expr.types import is_integer, is_numeric
from thalweg.expr.typing import Typing
from thalweg.model.aggregates import AGGREGATES, AggregateFunction, is_wide, lowered, part_columns
from thalweg.model.query import Aggregate
from thalweg.model.sketches import hashes_for
from thalweg.sql.builder import Builder, is_star, unwrapped
from thalweg.sql.nodes import Convert
from thalweg.sql.source import placed

NAMES = {
    "COUNT": "COUNT", "SUM": "SUM", "MIN": "MIN", "MAX": "MAX", "AVG": "AVG", "MEAN": "AVG",
    "VAR_POP": "VAR_POP", "VAR_SAMP": "VAR_SAMP", "VARIANCE": "VAR_SAMP",
    "STDDEV_POP": "STDDEV_POP", "STDDEV_SAMP": "STDDEV_SAMP", "STDDEV": "STDDEV_SAMP", "STD": "STDDEV_SAMP",
    "BOOL_AND": "BOOL_AND", "EVERY": "BOOL_AND", "BOOL_OR": "BOOL_OR", "ANY": "BOOL_OR", "SOME": "BOOL_OR",
    "MIN_BY": "MIN_BY", "ARG_MIN": "MIN_BY", "MAX_BY": "MAX_BY", "ARG_MAX": "MAX_BY",
    "FIRST": "FIRST", "FIRST_VALUE": "FIRST", "LAST": "LAST", "LAST_VALUE": "LAST",
    "MEDIAN": "MEDIAN", "PERCENTILE": "PERCENTILE", "PERCENTILE_CONT": "PERCENTILE", "COUNT_IF": "COUNT_ROWS",
    "APPROX_COUNT_DISTINCT": "APPROX_COUNT_DISTINCT", "APPROX_PERCENTILE": "APPROX_PERCENTILE", "PERCENTILE_APPROX": "APPROX_PERCENTILE",
    "COLLECT_LIST": "COLLECT_LIST", "ARRAY_AGG": "COLLECT_LIST", "COLLECT_SET": "COLLECT_SET", "ANY_VALUE": "MIN", "MODE": "MODE",
    "BIT_AND": "BIT_AND", "BIT_OR": "BIT_OR", "BIT_XOR": "BIT_XOR", "CORR": "CORR", "COVAR_POP": "COVAR_POP", "COVAR_SAMP": "COVAR_SAMP",
}  # fmt: skip
UNSUPPORTED = frozenset({
    "APPROX_TOP_K", "GROUPING", "GROUPING_ID", "HISTOGRAM_NUMERIC", "KURTOSIS", "LISTAGG", "PERCENTILE_DISC", "REGR_COUNT",
    "REGR_INTERCEPT", "REGR_R2", "REGR_SLOPE", "SKEWNESS", "STRING_AGG", "TRY_AVG", "TRY_SUM",
})  # fmt: skip
_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


@dataclass(frozen=True)
class CallSyntax:
    """An aggregate call taken apart."""

    node: exp.Expr
    name: str
    args: tuple[exp.Expr, ...]
    distinct: bool = False
    where: exp.Expr | None = None
    ignore_nulls: bool = False
    order: exp.Expr | None = None


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is a call of an aggregate function."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return isinstance(node, exp.Anonymous) and node.name.upper() in NAMES.keys() | UNSUPPORTED


def groups_rows(select: exp.Select) -> bool:
    """Whether the results of a SELECT are of groups, not of rows."""
    items = (*select.expressions, select.args.get("having"))
    return select.args.get("group") is not None or any(
        is_aggregate(n) for i in items if i is not None for n in i.walk(prune=_is_over) if not _is_over(n)
    )


def _is_over(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window)


def bind_aggregate(builder: Builder, node: exp.Expr) -> Aggregate:
    """The aggregate that a call asks for; `builder` builds its arguments over the rows."""
    call = _taken_apart(builder, node)
    if call.name in UNSUPPORTED:
        hint = "thalweg help aggregates lists those that there are"
        raise builder.source.at(node, f"{call.name} is not supported", hint)
    if call.distinct and call.name in ("ARRAY_AGG", "COLLECT_LIST"):
        call = replace(call, name="COLLECT_SET", distinct=False)
    if call.distinct and call.name != "COUNT":
        hint = "COUNT and ARRAY_AGG take DISTINCT"
        raise builder.source.at(node, f"{call.name}(DISTINCT ...) is not supported", hint)
    if call.order is not None and call.name != "PERCENTILE_CONT":
        hint = "leave it out: PERCENTILE_CONT has it"
        raise builder.source.at(call.order, f"WITHIN GROUP of {call.name} is not supported", hint)
    return _BUILDERS.get(call.name, _simple)(builder, call)


def aggregate_type(aggregate: Aggregate, typing: Typing) -> str:
    """The type of an aggregate's result: that of its parts over rows, lowered. It depends on the types of the arguments alone."""
    columns = {f"x{i}": a.type for i, a in enumerate(aggregate.args)}
    plain = Aggregate(
        aggregate.function, tuple(Column(n, t) for n, t in columns.items()), params=aggregate.params
    )

    def question() -> tuple[str, dict[str, str]]:
        scope = columns | {"__time": "BIGINT"}
        return lowered(plain), {p.name: typing.ask(p.lift, scope) for p in part_columns(plain)}

    return typing.answer(plain, question)


def _taken_apart(builder: Builder, node: exp.Expr) -> CallSyntax:
    where, ignore, order, inner = None, False, None, node
    while isinstance(inner, _WRAPPERS):
        if isinstance(inner, exp.Filter):
            where = inner.expression.this
        elif isinstance(inner, exp.WithinGroup):
            order = inner.expression
        else:
            ignore = ignore or isinstance(inner, exp.IgnoreNulls)
        inner = inner.this
    args, distinct = list(inner.expressions), False
    if len(args) == 1 and isinstance(args[0], exp.Distinct):
        args, distinct = list(args[0].expressions), True
    if args and isinstance(args[0], exp.IgnoreNulls | exp.RespectNulls):
        ignore, args[0] = isinstance(args[0], exp.IgnoreNulls), args[0].this
    return CallSyntax(node, inner.name.upper(), tuple(args), distinct, where, ignore, order)


def _simple(builder: Builder, call: CallSyntax) -> Aggregate:
    function = AGGREGATES[NAMES[call.name]]
    _check_count(builder, call, function.arity)
    args = tuple(_argument(builder, a, call, function) for a in call.args)
    wide = function.wide if function.wide is not None and is_wide(args[0].type) else None
    return Aggregate(wide or function.name, args, _where(builder, call))


def _count(builder: Builder, call: CallSyntax) -> Aggregate:
    if call.distinct and len(call.args) > 1:
        call = replace(call, args=(_together(builder, call),))
    _check_count(builder, call, 1)
    arg = call.args[0]
    counted = is_star(arg) or (is_constant(tree := builder.tree(arg)) and tree.type != NULL)
    if counted and not call.distinct:
        return Aggregate("COUNT_ROWS", (), _where(builder, call))
    function = AGGREGATES["COUNT_DISTINCT" if call.distinct else "COUNT"]
    return Aggregate(function.name, (_argument(builder, arg, call, function),), _where(builder, call))


def _together(builder: Builder, call: CallSyntax) -> exp.Expr:
    """Several values as one text, another for other values, and NULL where one of them is: each but the last with its length before it."""
    parts: list[exp.Expr] = []
    for number, arg in enumerate(call.args):
        if is_star(arg):
            raise builder.source.at(call.node, "COUNT(DISTINCT *) has no meaning", "name the columns")
        exact = builder.type(arg) not in ("FLOAT", "DOUBLE")
        value = (
            arg.copy()
            if exact
            else exp.Add(this=exp.Paren(this=arg.copy()), expression=exp.Literal.number(0))
        )  # -0 is 0
        text = Convert(this=value, to="VARCHAR")
        if number < len(call.args) - 1:
            length = Convert(this=exp.Anonymous(this="LENGTH", expressions=[text.copy()]), to="VARCHAR")
            parts += [length, exp.Literal.string(":")]
        parts.append(text)
    return placed(exp.Anonymous(this="CONCAT", expressions=parts), call.node)


def _count_if(builder: Builder, call: CallSyntax) -> Aggregate:
    _check_count(builder, call, 1)
    return Aggregate("COUNT_ROWS", (), _where(builder, _restricted(call, call.args[0])))


def _first_or_last(builder: Builder, call: CallSyntax) -> Aggregate:
    if len(call.args) == 2 and isinstance(flag := unwrapped(call.args[1]), exp.Boolean):
        call = replace(call, args=call.args[:1], ignore_nulls=bool(flag.this))
    _check_count(builder, call, 1)
    if call.ignore_nulls:
        call = _restricted(call, exp.Not(this=exp.Is(this=call.args[0].copy(), expression=exp.Null())))
    return _simple(builder, call)


def _restricted(call: CallSyntax, condition: exp.Expr) -> CallSyntax:
    """The call over the rows that satisfy one more condition."""
    both = condition if call.where is None else exp.And(this=condition.copy(), expression=call.where.copy())
    return replace(call, where=both)


def _percentile(builder: Builder, call: CallSyntax) -> Aggregate:
    _check_count(builder, call, 2)
    return _at_fraction(builder, call, call.args[0], _fraction(builder, call.args[1]))


def _percentile_cont(builder: Builder, call: CallSyntax) -> Aggregate:
    ordered = call.order.expressions if call.order is not None else []
    if len(ordered) != 1 or len(call.args) != 1:
        hint = "write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)"
        raise builder.source.at(call.node, "PERCENTILE_CONT takes a fraction and one order", hint)
    fraction = _fraction(builder, call.args[0])
    return _at_fraction(
        builder, call, ordered[0].this, 1 - fraction if ordered[0].args.get("desc") else fraction
    )


def _at_fraction(builder: Builder, call: CallSyntax, value: exp.Expr, fraction: Decimal) -> Aggregate:
    function = AGGREGATES["PERCENTILE"]
    text = f"{fraction.normalize():f}"
    return Aggregate(
        function.name, (_argument(builder, value, call, function),), _where(builder, call), (text,)
    )


def _approx_count_distinct(builder: Builder, call: CallSyntax) -> Aggregate:
    value, deviation = _with_constant(builder, call, Decimal("0.05"))
    if not Decimal("0.005") <= deviation <= Decimal("0.39"):
        hint = "use COUNT(DISTINCT x) for the exact number"
        raise builder.source.at(call.args[1], "the relative deviation must be from 0.005 to 0.39", hint)
    return _sized(builder, call, value, (str(hashes_for(float(deviation))),))


def _approx_percentile(builder: Builder, call: CallSyntax) -> Aggregate:
    if len(call.args) < 2:
        _check_count(builder, call, 2)
    fraction = f"{_fraction(builder, call.args[1]).normalize():f}"
    value, values = _with_constant(
        builder, replace(call, args=(call.args[0], *call.args[2:])), Decimal(10_000)
    )
    if not 16 <= values <= 1_000_000 or values % 1:
        hint = "use PERCENTILE(x, p) for the exact one"
        raise builder.source.at(call.args[2], "the accuracy must be a whole number from 16 to 1000000", hint)
    return _sized(builder, call, value, (str(int(values)), fraction))


def _with_constant(builder: Builder, call: CallSyntax, default: Decimal) -> tuple[exp.Expr, Decimal]:
    """What an aggregate is of, and the number that may stand after it."""
    if len(call.args) != 2:
        _check_count(builder, call, 1)
        return call.args[0], default
    inner = unwrapped(call.args[1])
    if not isinstance(inner, exp.Literal) or inner.is_string or len(inner.name) > 20:
        raise builder.source.at(
            call.args[1], f"this of {call.name} must be a constant number", "write it out"
        )
    return call.args[0], Decimal(inner.name)


def _sized(builder: Builder, call: CallSyntax, value: exp.Expr, params: tuple[str, ...]) -> Aggregate:
    function = AGGREGATES[NAMES[call.name]]
    return Aggregate(
        function.name, (_argument(builder, value, call, function),), _where(builder, call), params
    )


def _fraction(builder: Builder, node: exp.Expr) -> Decimal:
    inner = unwrapped(node)
    if (
        not isinstance(inner, exp.Literal)
        or inner.is_string
        or len(inner.name) > 20
        or not 0 <= Decimal(inner.name) <= 1
    ):
        raise builder.source.at(
            node, "the fraction must be a constant from 0 to 1", "write a number like 0.95"
        )
    return Decimal(inner.name)


def _check_count(builder: Builder, call: CallSyntax, count: int) -> None:
    if len(call.args) != count:
        hint = f"write {call.name}({', '.join('xyz'[:count])})"
        raise builder.source.at(
            call.node, f"{call.name} takes {count} argument{'s' * (count != 1)}, not {len(call.args)}", hint
        )


def _argument(builder: Builder, node: exp.Expr, call: CallSyntax, function: AggregateFunction) -> Expr:
    if is_star(node):
        raise builder.source.at(call.node, f"{call.name}(*) has no meaning", "name a column")
    tree = builder.tree(node)
    type_ = tree.type
    if function.numeric and not is_numeric(type_):
        raise builder.source.at(
            node, f"{call.name} takes numbers, not {spark_type(type_)}", "CAST the argument to a number"
        )
    if function.name.startswith("BOOL_") and type_ != "BOOLEAN":
        raise builder.source.at(
            node,
            f"{call.name} takes a condition, not {spark_type(type_)}",
            "compare the argument with something",
        )
    if function.name.startswith("BIT_") and not is_integer(type_):
        raise builder.source.at(
            node, f"{call.name} takes whole numbers, not {spark_type(type_)}", "CAST it to BIGINT"
        )
    return tree


def _where(builder: Builder, call: CallSyntax) -> Expr | None:
    if call.where is None:
        return None
    condition = builder.condition(call.where)
    return None if condition == TRUE else condition


_BUILDERS: dict[str, Callable[[Builder, CallSyntax], Aggregate]] = {
    "COUNT": _count,
    "COUNT_IF": _count_if,
    "FIRST": _first_or_last,
    "FIRST_VALUE": _first_or_last,
    "LAST": _first_or_last,
    "LAST_VALUE": _first_or_last,
    "PERCENTILE": _percentile,
    "PERCENTILE_CONT": _percentile_cont,
    "APPROX_COUNT_DISTINCT": _approx_count_distinct,
    "APPROX_PERCENTILE": _approx_percentile,
    "PERCENTILE_APPROX": _approx_percentile,
}
