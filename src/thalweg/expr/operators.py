"""How operators are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thalweg.expr.casts import sayable
from thalweg.expr.nodes import Call, Expr, Literal, is_constant
from thalweg.expr.pieces import Piece, shared, tried
from thalweg.expr.types import comparable_type, is_exact, is_integer, may_not_fit

_TIMES = ("DATE", "TIMESTAMP", "INTERVAL")
_NARROW = ("TINYINT", "SMALLINT")


def quotient(symbol: str, left: Expr, right: Expr) -> Piece:
    """A division; by zero it gives NULL, and so does the least number by -1."""
    safe = isinstance(right, Literal) and (right.value or "0").lower().partition("e")[0].strip("-0.") != ""
    below = _number(right, left) if safe else shared("nullif({0}, 0)".format, right.sql)
    sql = f"{_number(left, right)} {symbol} {below}"
    whole = symbol != "/"
    minus_one = isinstance(right, Literal) and right.value == "-1"
    return tried(sql) if whole and (minus_one or not safe) else Piece(sql, False)


def _arithmetic(call: Call) -> Piece:
    (left, right), symbol = call.args, call.function
    sql = f"{_term(left, right, symbol)} {symbol} {_term(right, left, symbol)}"
    fallible = symbol in "+-*" and all(is_exact(e.type) or e.type in _TIMES for e in call.args)
    return tried(sql) if fallible else Piece(sql, False)


def _term(expr: Expr, other: Expr, symbol: str) -> str:
    """An operand; of an exact sum it is of the type that both have, so that it can't fail to be converted."""
    if symbol in "+-" and may_not_fit(expr.type, other.type):
        return f"TRY_CAST({expr.sql} AS {comparable_type(expr.type, other.type)})"
    if symbol in "+-" and expr.type == "DATE" and other.type in ("TIMESTAMP", "INTERVAL"):
        return f"TRY_CAST({expr.sql} AS TIMESTAMP)"
    return _number(expr, other)


def _number(expr: Expr, other: Expr) -> str:
    """An operand. DuckDB makes an integer literal as narrow as what it meets; in Spark it is an INT."""
    if (
        isinstance(expr, Literal)
        and not is_constant(other)
        and other.type in _NARROW
        and is_integer(expr.type)
    ):
        return f"CAST({expr.sql} AS {expr.type})"
    return expr.operand


def _divided(call: Call) -> Piece:
    return quotient(call.function, *call.args)


def _whole(call: Call) -> Piece:
    cast = "TRY_CAST" if any(a.type == "HUGEINT" for a in call.args) else "CAST"
    return Piece(f"{cast}({quotient('//', *call.args).sql} AS BIGINT)")


def _negated(call: Call) -> Piece:
    (arg,) = call.args
    return (
        tried(f"-{arg.operand}")
        if is_exact(arg.type) and not is_constant(arg)
        else Piece(f"-{arg.operand}", False)
    )


def _joined(call: Call) -> Piece:
    if len(call.args) == 1:
        return Piece(f"CAST({sayable(call.args[0])} AS VARCHAR)")
    return Piece(
        " || ".join(a.operand if (said := sayable(a)) == a.sql else f"({said})" for a in call.args), False
    )


OPERATORS: Mapping[str, Callable[[Call], Piece]] = {
    **dict.fromkeys(("+", "-", "*", "&", "|"), _arithmetic),
    "^": lambda call: Piece(f"xor({call.args[0].sql}, {call.args[1].sql})"),
    "/": _divided,
    "%": _divided,
    "DIV": _whole,
    "NEGATE": _negated,
    "~": lambda call: Piece(f"~{call.args[0].operand}", False),
    "||": _joined,
}
