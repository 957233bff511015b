"""How comparisons and conditions are written, and values of several types that become one column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TypeGuard

from thalweg.expr.nodes import NULL, Call, Expr, is_constant, is_text
from thalweg.expr.pieces import LONG, Piece, shared, tried
from thalweg.expr.quoting import quoted
from thalweg.expr.types import common_type, comparable_type, may_not_fit

SYMBOLS = ("=", "<>", "<", "<=", ">", ">=", "IS NOT DISTINCT FROM", "IS DISTINCT FROM")


def compared(symbol: str, left: Expr, right: Expr) -> Piece:
    """A comparison; numbers that can't be left to the engine to compare are of a type that both have."""
    sql = f"{_side(left, right)} {symbol} {_side(right, left)}"
    if "DISTINCT" in symbol and may_not_fit(left.type, right.type):
        joint, same = ("AND", "=") if symbol == "IS NOT DISTINCT FROM" else ("OR", "<>")
        sql = f"({sql}) {joint} ({left.operand} IS NULL) {same} ({right.operand} IS NULL)"
    return Piece(sql, False)


def _side(expr: Expr, other: Expr) -> str:
    """A side of a comparison: a string that is compared with a time is one."""
    if is_text(expr) and not is_text(other) and other.type in ("DATE", "TIMESTAMP"):
        return f"CAST({expr.sql} AS {other.type})"
    if compares_apart(expr, other):
        return f"TRY_CAST({expr.sql} AS {comparable_type(expr.type, other.type)})"
    return expr.operand


def compares_apart(one: Expr, other: Expr) -> bool:
    """Whether two values can't be left to the engine to compare: it would stop at one that is too large for the type of both, and
    round the exact ones beside a FLOAT."""
    floats = (
        not is_constant(one) and not is_constant(other) and comparable_type(one.type, other.type) == "DOUBLE"
    )
    return floats or may_not_fit(one.type, other.type) or {one.type, other.type} == {"DATE", "TIMESTAMP"}


def mixed(values: Sequence[Expr]) -> list[str]:
    """Values that become one column, each of the type that all have together where it might be too large for that."""
    types = {v.type for v in values} - {NULL}
    if {"DATE", "TIMESTAMP"} <= types or any(may_not_fit(a, b) for a, b in combinations(types, 2)):
        return [f"TRY_CAST({v.sql} AS {common_type(types)})" for v in values]
    return [v.sql for v in values]


class _Named(Expr):
    """An expression that has a name already."""

    def __init__(self, name: str, type_: str) -> None:
        self.sql = self.operand = name
        self.type = type_


def _connected(call: Call) -> Piece:
    """Conditions together; a long expression that several compare, as BETWEEN does, is written once."""
    long = Counter(a.args[0] for a in call.args if _compares(a) and len(a.args[0].operand) > LONG)
    subject = next((s for s, times in long.items() if times > 1), None)
    if subject is None:
        return Piece(f" {call.function} ".join(a.operand for a in call.args), False)
    return Piece(shared(partial(_joint, call, subject), subject.operand))


def _joint(call: Call, subject: Expr, name: str) -> str:
    this = _Named(name, subject.type)
    pieces = [
        compared(a.function, this, a.args[1]) if _compares(a) and a.args[0] == subject else a
        for a in call.args
    ]
    return f" {call.function} ".join(p.operand for p in pieces)


def _compares(expr: Expr) -> TypeGuard[Call]:
    return isinstance(expr, Call) and expr.function in SYMBOLS


def _in(call: Call) -> Piece:
    this, *values = call.args
    kinds = {(e.type, is_constant(e)): e for e in call.args}
    if any(compares_apart(a, b) for a, b in combinations(kinds.values(), 2)):
        return Piece(" OR ".join(sorted({compared("=", this, v).operand for v in values})), False)
    return Piece(f"{this.operand} IN ({', '.join(v.sql for v in values)})", False)


def _like(call: Call) -> Piece:
    (this, pattern), (escape,) = call.args, call.params
    plain = is_text(pattern) and escape not in pattern.sql
    written = pattern.operand if is_text(pattern) else shared(partial(_closed, escape), pattern.operand)
    return Piece(
        f"{this.operand} {call.function} {written}" + ("" if plain else f" ESCAPE {quoted(escape)}"), False
    )


def _closed(escape: str, pattern: str) -> str:
    """A pattern unless it ends in the escape character, at which the engine would stop."""
    mark = re.escape(escape)
    return f"CASE WHEN NOT regexp_matches({pattern}, {quoted(f'(^|[^{mark}])({mark}{{2}})*{mark}$')}) THEN {pattern} END"


def _matches(call: Call) -> Piece:
    text, pattern = call.args
    sql = f"regexp_matches({text.sql}, {pattern.sql})"
    return Piece(sql) if is_text(pattern) else tried(sql)


COMPARISONS: Mapping[str, Callable[[Call], Piece]] = {
    **{s: (lambda call: compared(call.function, *call.args)) for s in SYMBOLS},
    "AND": _connected,
    "OR": _connected,
    "NOT": lambda call: Piece(f"NOT {call.args[0].operand}", False),
    "IS NULL": lambda call: Piece(f"{call.args[0].operand} IS NULL", False),
    "IS NOT NULL": lambda call: Piece(f"{call.args[0].operand} IS NOT NULL", False),
    "IN": _in,
    "LIKE": _like,
    "ILIKE": _like,
    "RLIKE": _matches,
}
