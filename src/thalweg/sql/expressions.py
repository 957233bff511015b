"""How operators, literals, casts and CASE are written."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from thalweg.logical.windows import duration_text
from thalweg.sql import literals
from thalweg.sql.conditions import compares_apart, placed
from thalweg.sql.inference import family, is_integer
from thalweg.sql.nodes import Convert, Duration
from thalweg.sql.types import TYPES_HINT, is_exact, is_fractional, type_name
from thalweg.sql.writer import Forms, Piece, Writer, is_constant, operand, unwrapped

Form = Callable[[Writer, exp.Expr], Piece]


def quotient(writer: Writer, symbol: str, left: exp.Expr, right: exp.Expr) -> Piece:
    """A division; by zero it gives NULL."""
    writer.numbers((left, right), symbol)
    inner, above = unwrapped(right), _number(writer, left, right)
    safe = isinstance(inner, exp.Literal) and inner.name.lower().partition("e")[0].strip("0.") != ""
    return Piece(f"{above} {symbol} {_number(writer, right, left) if safe else f'nullif({writer.sql(right)}, 0)'}", False)


def converted(writer: Writer, node: exp.Expr, to: str) -> Piece:
    """A cast as Spark means it: fractions are cut off, numbers and timestamps meet in seconds, a text may say its distance from UTC,
    failures are NULL."""
    piece, type_ = writer.piece(node), writer.type(node)
    if type_ == to:
        return piece
    sql = piece.sql
    if is_integer(to) and is_fractional(type_):
        sql = f"trunc({sql})"
    elif is_integer(to) and type_ == "VARCHAR":
        sql = f"trunc(TRY_CAST({sql} AS DECIMAL(38,10)))"
    elif to == "TIMESTAMP" and type_ == "VARCHAR":
        return Piece(f"CAST(TRY_CAST({sql} AS TIMESTAMPTZ) AS TIMESTAMP)")
    elif is_integer(to) and type_ == "TIMESTAMP":
        sql = f"floor(epoch({sql}))"
    elif to == "TIMESTAMP" and family(type_) == "number":
        return Piece(f"TRY(make_timestamp(CAST({operand(piece)} * 1000000 AS BIGINT)))")
    elif {family(type_), family(to)} in ({"time", "number"}, {"time", "BOOLEAN"}):
        raise writer.source.at(node, f"can't cast {type_} to {to}", "cast by way of TIMESTAMP")
    return Piece(f"TRY_CAST({sql} AS {to})")


def _arithmetic(symbol: str) -> Form:
    def write(writer: Writer, node: exp.Expr) -> Piece:
        left, right = node.this, node.expression
        writer.numbers((left, right), symbol)
        if symbol in "+*" and is_constant(left) and not is_constant(right):
            left, right = right, left
        sql = f"{_number(writer, left, right)} {symbol} {_number(writer, right, left)}"
        exact = symbol in "+-*" and all(is_exact(writer.type(side)) for side in (left, right))
        return Piece(f"TRY({sql})") if exact and not (is_constant(left) and is_constant(right)) else Piece(sql, False)

    return write


def _number(writer: Writer, node: exp.Expr, other: exp.Expr) -> str:
    """An operand. DuckDB makes an integer literal as narrow as what it meets; in Spark it is an INT."""
    inner = unwrapped(node)
    if isinstance(inner, exp.Literal) and not is_constant(other) and writer.type(other) in ("TINYINT", "SMALLINT"):
        type_ = writer.type(inner)
        return f"CAST({writer.sql(inner)} AS {type_})" if is_integer(type_) else writer.operand(node)
    return writer.operand(node)


def _divide(symbol: str) -> Form:
    return lambda writer, node: quotient(writer, symbol, node.this, node.expression)


def _whole_division(writer: Writer, node: exp.Expr) -> Piece:
    for side in (node.this, node.expression):
        if not is_integer(writer.type(side)):
            raise writer.source.at(side, "DIV takes whole numbers", "use / and CAST the result")
    return Piece(f"CAST({quotient(writer, '//', node.this, node.expression).sql} AS BIGINT)")


def _exclusive_or(writer: Writer, node: exp.Expr) -> Piece:
    writer.numbers((node.this, node.expression), "^")
    return Piece(f"xor({writer.sql(node.this)}, {writer.sql(node.expression)})")


def _prefixed(symbol: str) -> Form:
    def write(writer: Writer, node: exp.Expr) -> Piece:
        writer.numbers((node.this,), symbol)
        return Piece(f"{symbol}{writer.operand(node.this)}", False)

    return write


def _concatenated(writer: Writer, node: exp.Expr) -> Piece:
    return Piece(" || ".join(writer.operand(n) for n in (node.this, node.expression)), False)


def _adjacent(writer: Writer, node: exp.Expr) -> Piece:
    return Piece(literals.quoted("".join(n.name for n in node.expressions)))


def _case(writer: Writer, node: exp.Expr) -> Piece:
    subject, branches, default = node.this, node.args.get("ifs") or [], node.args.get("default")
    if not branches:
        raise writer.source.at(node, "CASE has no WHEN", "write CASE WHEN condition THEN value END")
    if subject is not None:
        writer.alike((subject, *(b.this for b in branches)), "compare")
    writer.alike([b.args["true"] for b in branches] + ([default] if default is not None else []), "mix")
    if subject is not None and any(compares_apart(writer, subject, b.this) for b in branches):
        equal = [exp.EQ(this=subject.copy(), expression=b.this.copy()) for b in branches]
        ifs = [exp.If(this=placed(e, b), true=b.args["true"].copy()) for e, b in zip(equal, branches, strict=True)]
        return _case(writer, placed(exp.Case(ifs=ifs, default=default.copy() if default is not None else None), node))
    parts = ["CASE"] if subject is None else ["CASE", writer.operand(subject)]
    for branch in branches:
        condition = writer.condition(branch.this).sql if subject is None else writer.sql(branch.this)
        parts.append(f"WHEN {condition} THEN {writer.sql(branch.args['true'])}")
    if default is not None:
        parts.append(f"ELSE {writer.sql(default)}")
    return Piece(" ".join([*parts, "END"]))


def _if(writer: Writer, node: exp.Expr) -> Piece:
    branch = exp.If(this=node.this.copy(), true=node.args["true"].copy())
    default = node.args.get("false")
    return _case(writer, placed(exp.Case(ifs=[branch], default=default.copy() if default is not None else None), node))


def _literal(writer: Writer, node: exp.Expr) -> Piece:
    return Piece(literals.quoted(node.name) if node.args["is_string"] else literals.number(node.name))


def _duration(writer: Writer, node: exp.Expr) -> Piece:
    micros, months = node.args["micros"], node.args.get("months") or 0
    parts = [f"{months} months"] * bool(months) + [duration_text(micros)] * bool(micros or not months)
    return Piece(f"INTERVAL '{' '.join(parts)}'")


def _typed(writer: Writer, node: exp.Expr) -> Piece:
    """`DATE '2024-01-01'`, `10L`; and `x::INT`, which is a cast."""
    to, this = node.args["to"], node.this
    known = isinstance(to, exp.DataType) and isinstance(to.this, exp.DType)
    name = type_name(to.this.name.replace("NTZ", ""), tuple(p.name for p in to.expressions)) if known else None
    if name is None:
        raise writer.source.at(node, f"type {to.sql(dialect='spark')} is not supported", TYPES_HINT)
    if not isinstance(this, exp.Literal):
        return converted(writer, this, name)
    if not literals.fits(this.name, name):
        raise writer.source.at(node, f"{literals.quoted(this.name)} is no {name}", "write a literal of that type")
    return Piece(f"CAST({writer.sql(this)} AS {name})")


OPERATORS: Forms = {
    exp.Paren: lambda writer, node: writer.piece(node.this),
    exp.Add: _arithmetic("+"),
    exp.Sub: _arithmetic("-"),
    exp.Mul: _arithmetic("*"),
    exp.BitwiseAnd: _arithmetic("&"),
    exp.BitwiseOr: _arithmetic("|"),
    exp.BitwiseXor: _exclusive_or,
    exp.Div: _divide("/"),
    exp.Mod: _divide("%"),
    exp.IntDiv: _whole_division,
    exp.Neg: _prefixed("-"),
    exp.BitwiseNot: _prefixed("~"),
    exp.DPipe: _concatenated,
    exp.Concat: _adjacent,
    exp.Case: _case,
    exp.If: _if,
    exp.Literal: _literal,
    exp.RawString: lambda writer, node: Piece(literals.quoted(node.name)),
    exp.Null: lambda writer, node: Piece("NULL"),
    exp.Boolean: lambda writer, node: Piece("TRUE" if node.this else "FALSE"),
    exp.Cast: _typed,
    exp.TryCast: _typed,
    Convert: lambda writer, node: converted(writer, node.this, node.args["to"]),
    Duration: _duration,
}
