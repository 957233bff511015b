"""How conditions become trees in their normal form."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from thalweg.expr.nodes import FALSE, TRUE, Call, Expr, Literal
from thalweg.expr.normal import all_of, any_of, compared, conjuncts, negated, one_of
from thalweg.sql.builder import Builder, Forms, is_string, unwrapped

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}


def conjunction(builder: Builder, node: exp.Expr) -> tuple[Expr, ...]:
    """The conditions that must all hold, once each and in order."""
    return in_order(conjuncts(builder.condition(node)))


def in_order(conditions: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Conditions in the order in which queries have them."""
    return tuple(sorted(conditions, key=lambda c: c.sql))


def _connected(
    connector: type[exp.Connector], join: Callable[[Iterator[Expr]], Expr]
) -> Callable[[Builder, exp.Expr], Expr]:
    def build(builder: Builder, node: exp.Expr) -> Expr:
        return join(builder.condition(c) for c in _flat(node, connector))

    return build


def _flat(node: exp.Expr, connector: type[exp.Connector]) -> Iterator[exp.Expr]:
    """The conditions that connectives of one kind connect: a long chain is no deep tree."""
    pending = [node]
    while pending:
        current = unwrapped(pending.pop())
        if isinstance(current, connector):
            pending += [current.expression, current.this]
        else:
            yield current


def _between(builder: Builder, node: exp.Expr) -> Expr:
    this, low, high = node.this, node.args["low"], node.args["high"]
    return all_of([_compared(builder, ">=", this, low), _compared(builder, "<=", this, high)])


def _not(builder: Builder, node: exp.Expr) -> Expr:
    return negated(builder.condition(node.this))


def _compare(builder: Builder, node: exp.Expr) -> Expr:
    return _compared(builder, COMPARISONS[type(node)], node.this, node.expression)


def _compared(builder: Builder, symbol: str, left: exp.Expr, right: exp.Expr) -> Expr:
    return compared(symbol, *builder.alike((left, right), "compare"))


def _is(builder: Builder, node: exp.Expr) -> Expr:
    if isinstance(node.expression, exp.Null):
        found: Expr = Call("IS NULL", (builder.tree(node.this),), "BOOLEAN")
    elif isinstance(node.expression, exp.Boolean):
        found = compared(
            "IS NOT DISTINCT FROM", builder.condition(node.this), TRUE if node.expression.this else FALSE
        )
    else:
        raise builder.source.at(node, "IS takes NULL, TRUE, FALSE or DISTINCT FROM", "use = to compare")
    return negated(found) if node.args.get("negate") else found


def _in(builder: Builder, node: exp.Expr) -> Expr:
    values = node.args.get("expressions")
    if node.args.get("query") is not None:
        raise builder.source.at(
            node, "a subquery in IN is not supported", "join what it reads in FROM, if it has each value once"
        )
    if not values:
        raise builder.source.at(node, "IN takes a list of values", "list the values")
    this, *among = builder.alike((node.this, *values), "compare")
    return one_of(this, among)


def _like(builder: Builder, node: exp.Expr, escape: str = "\\") -> Expr:
    pattern = unwrapped(node.expression)
    if isinstance(pattern, exp.Any | exp.All | exp.Tuple):
        raise builder.source.at(
            node.expression, "LIKE ANY and LIKE ALL are not supported", "write several conditions"
        )
    if is_string(pattern) and _ends_open(pattern.name, escape):
        raise builder.source.at(
            pattern, f"the pattern ends in {escape}, which escapes nothing", "write it twice, or leave it out"
        )
    found = builder.call(
        node, node.key.upper(), builder.tree(node.this), builder.tree(pattern), params=(escape,)
    )
    return negated(found) if node.args.get("negate") else found


def _ends_open(pattern: str, escape: str) -> bool:
    return (len(pattern) - len(pattern.rstrip(escape))) % 2 == 1


def _escape(builder: Builder, node: exp.Expr) -> Expr:
    character = node.expression
    if (
        not isinstance(node.this, exp.Like | exp.ILike)
        or not is_string(character)
        or len(character.name) != 1
    ):
        raise builder.source.at(node, "ESCAPE takes one character in quotes", "write LIKE '...' ESCAPE '!'")
    return _like(builder, node.this, character.name)


def _rlike(builder: Builder, node: exp.Expr) -> Expr:
    return builder.call(node, "RLIKE", builder.tree(node.this), builder.tree(node.expression))


CONDITIONS: Forms = {
    **dict.fromkeys(COMPARISONS, _compare),
    exp.And: _connected(exp.And, all_of),
    exp.Or: _connected(exp.Or, any_of),
    exp.Between: _between,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.RegexpLike: _rlike,
    exp.Null: lambda builder, node: Literal(None, '"NULL"'),
    exp.Boolean: lambda builder, node: TRUE if node.this else FALSE,
}
