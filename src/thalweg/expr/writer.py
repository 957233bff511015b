"""Trees to DuckDB's SQL.

Columns stand quoted, operands of operators in parentheses unless they are single things. Where Spark and DuckDB differ the text says what
Spark means; a value that can't be computed (a division by zero, a failed cast) is NULL, because one bad row must not stop a job that
many queries share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thalweg.expr.array_calls import ARRAY_CALLS
from thalweg.expr.calls import CALLS
from thalweg.expr.casts import write_cast
from thalweg.expr.comparisons import COMPARISONS, compared, compares_apart, mixed
from thalweg.expr.json_calls import JSON_CALLS
from thalweg.expr.nested_calls import NESTED_CALLS
from thalweg.expr.nodes import Call, Case, Cast, Column, Expr, Literal, Variable
from thalweg.expr.operators import OPERATORS
from thalweg.expr.pieces import Piece, shared
from thalweg.expr.quoting import identifier, quoted
from thalweg.expr.types import INTEGERS

_BOUNDS = {"INTEGER": 2**31, "BIGINT": 2**63}


def write(expr: Expr) -> Piece:
    """The SQL of an expression, with whether it needs parentheses as an operand."""
    return _WRITERS[type(expr)](expr)


def _column(column: Column) -> Piece:
    return Piece(identifier(column.name))


def _variable(variable: Variable) -> Piece:
    """The engine counts places from 1."""
    counted = variable.name.startswith("i")
    return Piece(f"CAST({variable.named} - 1 AS {variable.type})" if counted else variable.named)


def _literal(literal: Literal) -> Piece:
    """A constant, so that the engine gives it the type that it has here."""
    value, type_ = literal.value, literal.type
    if value is None:
        return Piece("NULL")
    if type_ in ("VARCHAR", "BOOLEAN"):
        return Piece(quoted(value) if type_ == "VARCHAR" else value)
    if type_ == "INTERVAL":
        return Piece(f"INTERVAL {quoted(value)}")
    if type_ in ("DATE", "TIMESTAMP"):
        return Piece(f"CAST({quoted(value)} AS {type_})")
    if type_ in INTEGERS and type_ != _own_type(int(value)):
        return Piece(f"CAST({value} AS {type_})")
    return Piece(value, single=not value.startswith("-"))


def _own_type(value: int) -> str:
    return next((t for t, bound in _BOUNDS.items() if -bound < value < bound), "HUGEINT")


def _call(call: Call) -> Piece:
    return _CALLS[call.function](call)


def _case(case: Case) -> Piece:
    subject = case.subject
    if subject is None:
        return Piece(_branches(case, [condition.sql for condition, _ in case.branches]))
    if any(compares_apart(subject, value) for value, _ in case.branches):
        conditions = [compared("=", subject, value).sql for value, _ in case.branches]
        return Piece(_branches(case, conditions))
    values = [value.sql for value, _ in case.branches]
    return Piece(shared(lambda this: _branches(case, values, f" {this}"), subject.operand))


def _branches(case: Case, conditions: list[str], subject: str = "") -> str:
    values = mixed(case.values)
    parts = [f"WHEN {c} THEN {v}" for c, v in zip(conditions, values, strict=False)]
    otherwise = [f"ELSE {values[-1]}"] if case.otherwise is not None else []
    return " ".join([f"CASE{subject}", *parts, *otherwise, "END"])


_CALLS: Mapping[str, Callable[[Call], Piece]] = {
    **CALLS,
    **NESTED_CALLS,
    **ARRAY_CALLS,
    **JSON_CALLS,
    **COMPARISONS,
    **OPERATORS,
}
_WRITERS: dict[type[Expr], Callable[..., Piece]] = {
    Column: _column,
    Literal: _literal,
    Variable: _variable,
    Call: _call,
    Cast: write_cast,
    Case: _case,
}
