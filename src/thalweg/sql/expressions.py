"""How operators, literals, casts and CASE become trees."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from thalweg.expr.nested import is_nested, spark_type
from thalweg.expr.nodes import FALSE, TRUE, Cast, Expr, Literal, is_text
from thalweg.expr.types import INTEGERS, TYPES_HINT, family, is_integer, type_name
from thalweg.model.windows import duration_text
from thalweg.sql import literals
from thalweg.sql.builder import Builder, Forms
from thalweg.sql.nodes import Convert, Duration

Form = Callable[[Builder, exp.Expr], Expr]
_LIMITS = {"INTEGER": 2**31, "BIGINT": 2**63, "HUGEINT": 2**127}


def converted(builder: Builder, node: exp.Expr, to: str) -> Expr:
    """A cast as Spark means it."""
    tree = builder.tree(node)
    if tree.type == to:
        return tree
    if is_nested(tree.type) or is_nested(to):
        hint = "take a field or an element of it"
        raise builder.source.at(node, f"can't cast {spark_type(tree.type)} to {spark_type(to)}", hint)
    if {family(tree.type), family(to)} in ({"time", "number"}, {"time", "BOOLEAN"}) and not _by_seconds(
        tree.type, to
    ):
        raise builder.source.at(node, f"can't cast {tree.type} to {to}", "cast by way of TIMESTAMP")
    if (
        isinstance(tree, Literal)
        and tree.value is not None
        and is_integer(tree.type)
        and abs(int(tree.value)) < _LIMITS.get(to, 0)
    ):
        return Literal(tree.value, to)
    return Cast(tree, to)


def _by_seconds(one: str, to: str) -> bool:
    return (to == "TIMESTAMP" and family(one) == "number") or (one == "TIMESTAMP" and is_integer(to))


def _operator(symbol: str) -> Form:
    def build(builder: Builder, node: exp.Expr) -> Expr:
        return builder.call(node, symbol, *builder.numbers((node.this, node.expression), symbol))

    return build


def _whole_division(builder: Builder, node: exp.Expr) -> Expr:
    for side in (node.this, node.expression):
        if not is_integer(builder.type(side)):
            raise builder.source.at(side, "DIV takes whole numbers", "use / and CAST the result")
    return builder.call(node, "DIV", builder.tree(node.this), builder.tree(node.expression))


def _prefixed(function: str, symbol: str) -> Form:
    def build(builder: Builder, node: exp.Expr) -> Expr:
        return builder.call(node, function, *builder.numbers((node.this,), symbol))

    return build


def _concatenated(builder: Builder, node: exp.Expr) -> Expr:
    return joined(builder, node, [builder.tree(node.this), builder.tree(node.expression)])


def joined(builder: Builder, node: exp.Expr, pieces: list[Expr]) -> Expr:
    """Texts one after the other, flat."""
    flat = [
        a
        for p in pieces
        for a in (p.children if getattr(p, "function", "") == "||" and len(p.children) > 1 else (p,))
    ]
    return builder.call(node, "||", *flat)


def _case(builder: Builder, node: exp.Expr) -> Expr:
    subject, branches, default = node.this, node.args.get("ifs") or [], node.args.get("default")
    if not branches:
        raise builder.source.at(node, "CASE has no WHEN", "write CASE WHEN condition THEN value END")
    values = builder.alike(
        [*(b.args["true"] for b in branches), *([] if default is None else [default])], "mix"
    )
    if subject is None:
        this, tests = None, tuple(builder.condition(b.this) for b in branches)
    else:
        this, *found = builder.alike((subject, *(b.this for b in branches)), "compare")
        tests = tuple(found)
    otherwise = None if default is None else values[-1]
    return builder.case(node, list(zip(tests, values, strict=False)), otherwise, this)


def _if(builder: Builder, node: exp.Expr) -> Expr:
    default = node.args.get("false")
    values = builder.alike([node.args["true"], *([] if default is None else [default])], "mix")
    return builder.case(
        node, [(builder.condition(node.this), values[0])], None if default is None else values[1]
    )


def _literal(builder: Builder, node: exp.Expr) -> Expr:
    if node.args["is_string"]:
        return Literal(node.name, "VARCHAR")
    return number(builder, literals.number(node.name))


def number(builder: Builder, text: str) -> Expr:
    """A number, of the type that the engine gives to it."""
    if text.isdigit():
        fitting = next((t for t, bound in _LIMITS.items() if int(text) < bound), None)
        return Literal(text, fitting or builder.typing.answer(("number", text), lambda: (text, {})))
    shape = ("number", *map(len, text.split("."))) if text.replace(".", "").isdigit() else ("number", text)
    return Literal(text, builder.typing.answer(shape, lambda: (text, {})))


def _duration(builder: Builder, node: exp.Expr) -> Expr:
    micros, months = node.args["micros"], node.args.get("months") or 0
    parts = [f"{months} months"] * bool(months) + [duration_text(micros)] * bool(micros or not months)
    return Literal(" ".join(parts), "INTERVAL")


def _typed(builder: Builder, node: exp.Expr) -> Expr:
    """`DATE '2024-01-01'`, `10L`; and `x::INT`, which is a cast."""
    to, this = node.args["to"], node.this
    known = isinstance(to, exp.DataType) and isinstance(to.this, exp.DType)
    name = (
        type_name(to.this.name.replace("NTZ", ""), tuple(p.name for p in to.expressions)) if known else None
    )
    if name is None:
        raise builder.source.at(node, f"type {to.sql(dialect='spark')} is not supported", TYPES_HINT)
    if not isinstance(this, exp.Literal):
        return converted(builder, this, name)
    if not literals.fits(this.name, name):
        raise builder.source.at(
            node, f"'{this.name}' is no {spark_type(name)}", "write a literal of that type"
        )
    return _constant(builder, this, name)


def _constant(builder: Builder, node: exp.Expr, type_: str) -> Expr:
    """A literal of a type that it is given."""
    if type_ in ("DATE", "TIMESTAMP", "VARCHAR"):
        return Literal(node.name, type_)
    if type_ == "BOOLEAN":
        return TRUE if node.name.lower() == "true" else FALSE
    if type_ in INTEGERS and node.name.lstrip("+-").isdigit():
        return Literal(str(int(node.name)), type_)
    plain = (
        builder.tree(node) if not is_text(builder.tree(node)) else number(builder, literals.number(node.name))
    )
    return plain if plain.type == type_ else Cast(plain, type_)


OPERATORS: Forms = {
    exp.Paren: lambda builder, node: builder.tree(node.this),
    exp.Add: _operator("+"),
    exp.Sub: _operator("-"),
    exp.Mul: _operator("*"),
    exp.BitwiseAnd: _operator("&"),
    exp.BitwiseOr: _operator("|"),
    exp.BitwiseXor: _operator("^"),
    exp.Div: _operator("/"),
    exp.Mod: _operator("%"),
    exp.IntDiv: _whole_division,
    exp.Neg: _prefixed("NEGATE", "-"),
    exp.BitwiseNot: _prefixed("~", "~"),
    exp.DPipe: _concatenated,
    exp.Concat: lambda builder, node: Literal("".join(n.name for n in node.expressions), "VARCHAR"),
    exp.Case: _case,
    exp.If: _if,
    exp.Literal: _literal,
    exp.RawString: lambda builder, node: Literal(node.name, "VARCHAR"),
    exp.Cast: _typed,
    exp.TryCast: _typed,
    Convert: lambda builder, node: converted(builder, node.this, node.args["to"]),
    Duration: _duration,
}
