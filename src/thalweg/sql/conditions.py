"""How conditions are written: connectives flat, once each and in order; comparisons with the constant on the right."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from sqlglot import exp

from thalweg.sql import literals
from thalweg.sql.source import span_of
from thalweg.sql.types import comparable_type, may_not_fit
from thalweg.sql.writer import Forms, Piece, Writer, is_constant, is_string, operand, unwrapped

COMPARISONS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
    exp.NullSafeEQ: ("IS NOT DISTINCT FROM",) * 2,
    exp.NullSafeNEQ: ("IS DISTINCT FROM",) * 2,
}
OPPOSITES: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
    exp.NullSafeEQ: exp.NullSafeNEQ,
    exp.NullSafeNEQ: exp.NullSafeEQ,
}


def conjunction(writer: Writer, node: exp.Expr) -> tuple[str, ...]:
    """The conditions that must all hold, written, once each and in order."""
    return tuple(sorted({writer.condition(c).sql for c in conjuncts(node)} - {"TRUE"}))


def conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that must all hold, as parsed."""
    return _flat(node, exp.And)


def as_equality(node: exp.Expr) -> exp.Expr | None:
    """A condition as `left = right` where it says that, in whatever way."""
    inner = unwrapped(node)
    values: list[exp.Expr] = inner.args.get("expressions") or []
    if isinstance(inner, exp.Not) and isinstance(differ := unwrapped(inner.this), exp.NEQ):
        return placed(exp.EQ(this=differ.this.copy(), expression=differ.expression.copy()), node)
    if isinstance(inner, exp.In) and len(values) == 1:
        return placed(exp.EQ(this=inner.this.copy(), expression=values[0].copy()), node)
    return inner if isinstance(inner, exp.EQ) else None


def all_of(conditions: tuple[str, ...]) -> str | None:
    """Conditions as one; None where there are none."""
    if len(conditions) > 1:
        return " AND ".join(f"({c})" for c in conditions)
    return conditions[0] if conditions else None


def placed(node: exp.Expr, origin: exp.Expr) -> exp.Expr:
    """A node that stands for another at its place in the text."""
    node.meta["span"] = span_of(origin)
    return node


def _flat(node: exp.Expr, connector: type[exp.Connector]) -> Iterator[exp.Expr]:
    pending = [node]
    while pending:
        current = unwrapped(pending.pop())
        if isinstance(current, connector):
            pending += [current.expression, current.this]
        elif isinstance(current, exp.Between) and connector is exp.And:
            pending += [placed(exp.LTE(this=current.this.copy(), expression=current.args["high"].copy()), current)]
            pending += [placed(exp.GTE(this=current.this.copy(), expression=current.args["low"].copy()), current)]
        else:
            yield current


def _connected(writer: Writer, node: exp.Expr) -> Piece:
    connector = exp.Or if isinstance(node, exp.Or) else exp.And
    pieces = {writer.condition(c) for c in _flat(node, connector)}
    if len(pieces) == 1:
        return pieces.pop()
    return Piece(f" {connector.key.upper()} ".join(sorted(map(operand, pieces))), False)


def _not(writer: Writer, node: exp.Expr) -> Piece:
    inner = unwrapped(node.this)
    if isinstance(inner, exp.Not):
        return writer.condition(inner.this)
    if type(inner) in OPPOSITES:
        return writer.piece(placed(OPPOSITES[type(inner)](this=inner.this.copy(), expression=inner.expression.copy()), node))
    if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
        return Piece(f"{writer.operand(inner.this)} IS NOT NULL", False)
    return Piece(f"NOT {operand(writer.condition(inner))}", False)


def _compare(writer: Writer, node: exp.Expr) -> Piece:
    left, right = node.this, node.expression
    writer.alike((left, right), "compare")
    straight, turned = COMPARISONS[type(node)]
    if is_constant(left) and not is_constant(right):
        left, right, straight = right, left, turned
    sql = f"{_side(writer, left, right)} {straight} {_side(writer, right, left)}"
    if isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ) and may_not_fit(writer.type(left), writer.type(right)):
        joint, same = ("AND", "=") if isinstance(node, exp.NullSafeEQ) else ("OR", "<>")
        sql = f"({sql}) {joint} ({writer.operand(left)} IS NULL) {same} ({writer.operand(right)} IS NULL)"
    return Piece(sql, False)


def _side(writer: Writer, node: exp.Expr, other: exp.Expr) -> str:
    """A side of a comparison: a string that is compared with a time is one, and a number is of a type that both have."""
    if is_string(node) and not is_string(other) and (time := writer.type(other)) in ("DATE", "TIMESTAMP"):
        return f"CAST({writer.sql(node)} AS {time})"
    if compares_apart(writer, node, other):
        return f"TRY_CAST({writer.sql(node)} AS {comparable_type(writer.type(node), writer.type(other))})"
    return writer.operand(node)


def compares_apart(writer: Writer, one: exp.Expr, other: exp.Expr) -> bool:
    """Whether two numbers can't be left to the engine to compare: it would stop at one that is too large for the type of both, and
    round the exact ones beside a FLOAT."""
    return _differ(_kind(writer, one), _kind(writer, other))


def _kind(writer: Writer, node: exp.Expr) -> tuple[str, bool]:
    return writer.type(node), is_constant(node)


def _differ(one: tuple[str, bool], other: tuple[str, bool]) -> bool:
    """The same of the types of two numbers, each with whether it is a constant."""
    floats = not one[1] and not other[1] and comparable_type(one[0], other[0]) == "DOUBLE"
    return floats or may_not_fit(one[0], other[0])


def _is(writer: Writer, node: exp.Expr) -> Piece:
    if isinstance(node.expression, exp.Null):
        return Piece(f"{writer.operand(node.this)} IS{' NOT' if node.args.get('negate') else ''} NULL", False)
    if isinstance(node.expression, exp.Boolean):
        return Piece(f"{operand(writer.condition(node.this))} IS NOT DISTINCT FROM {writer.sql(node.expression)}", False)
    raise writer.source.at(node, "IS takes NULL, TRUE, FALSE or DISTINCT FROM", "use = to compare")


def _in(writer: Writer, node: exp.Expr) -> Piece:
    values = node.args.get("expressions")
    if not values:
        raise writer.source.at(node, "IN takes a list of values", "list the values")
    writer.alike((node.this, *values), "compare")
    this, written = writer.operand(node.this), sorted({writer.sql(v) for v in values})
    if len(written) == 1:
        return writer.piece(placed(exp.EQ(this=node.this.copy(), expression=values[0].copy()), node))
    if any(_differ(a, b) for a, b in combinations({_kind(writer, n) for n in (node.this, *values)}, 2)):
        equations = [placed(exp.EQ(this=node.this.copy(), expression=v.copy()), node) for v in values]
        return Piece(" OR ".join(sorted({operand(writer.piece(e)) for e in equations})), False)
    return Piece(f"{this} IN ({', '.join(written)})", False)


def _like(writer: Writer, node: exp.Expr, escape: str = "\\") -> Piece:
    pattern = unwrapped(node.expression)
    if isinstance(pattern, exp.Any | exp.All | exp.Tuple):
        raise writer.source.at(node.expression, "LIKE ANY and LIKE ALL are not supported", "write several conditions")
    plain = is_string(pattern) and escape not in pattern.name
    text = f"{writer.operand(node.this)} {node.key.upper()} {writer.operand(pattern)}"
    text += "" if plain else f" ESCAPE {literals.quoted(escape)}"
    return Piece(f"NOT ({text})" if node.args.get("negate") else text, False)


def _escape(writer: Writer, node: exp.Expr) -> Piece:
    character = node.expression
    if not isinstance(node.this, exp.Like | exp.ILike) or not is_string(character) or len(character.name) != 1:
        raise writer.source.at(node, "ESCAPE takes one character in quotes")
    return _like(writer, node.this, character.name)


def _rlike(writer: Writer, node: exp.Expr) -> Piece:
    return Piece(f"regexp_matches({writer.sql(node.this)}, {writer.sql(node.expression)})")


CONDITIONS: Forms = {
    **dict.fromkeys(COMPARISONS, _compare),
    exp.And: _connected,
    exp.Or: _connected,
    exp.Between: _connected,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.RegexpLike: _rlike,
}
