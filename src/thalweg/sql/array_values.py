"""Functions that make arrays of arrays, and functions of their elements (`x -> x + 1`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from thalweg.expr.nested import array_type, element_of, entry_of, is_nested, map_type, spark_type, struct_type
from thalweg.expr.nodes import NULL, Call, Cast, Expr, Variable
from thalweg.expr.types import family
from thalweg.sql.builder import Builder, unwrapped
from thalweg.sql.calls import CallNode, Special, need_integer
from thalweg.sql.nested_values import no_array


def _array(call: CallNode, index: int = 0) -> Expr:
    """An argument that must be an array."""
    tree = call.builder.tree(call.args[index])
    if element_of(tree.type) is None:
        raise no_array(call, index, tree.type)
    return tree


def _same(function: str, count: int = 1) -> Special:
    """What makes arrays of one type an array of that."""

    def build(call: CallNode) -> Expr:
        return Call(function, _alike(call, count), _array(call).type)

    return build


def _alike(call: CallNode, count: int) -> tuple[Expr, ...]:
    arrays = tuple(_array(call, n) for n in range(count))
    for n, tree in enumerate(arrays):
        if tree.type != arrays[0].type:
            what = f"{call.name} takes arrays of one type, not {spark_type(arrays[0].type)} and {spark_type(tree.type)}"
            raise call.builder.source.at(call.args[n], what, "make both of one type with TRANSFORM and CAST")
    return arrays


def _overlap(call: CallNode) -> Expr:
    return Call("ARRAYS_OVERLAP", _alike(call, 2), "BOOLEAN")


def _with_value(function: str) -> Special:
    """An array and a value of the type of its elements."""

    def build(call: CallNode) -> Expr:
        array, value = _array(call), call.builder.tree(call.args[1])
        element = element_of(array.type) or ""
        if value.type != NULL and (family(value.type) != family(element) or is_nested(value.type)):
            what = f"elements are {spark_type(element)}, not {spark_type(value.type)}"
            raise call.builder.source.at(call.args[1], what, "CAST it")
        return Call(function, (array, _cast(value, element)), array.type)

    return build


def _cast(value: Expr, type_: str) -> Expr:
    return value if value.type == type_ else Cast(value, type_)


def _sort(call: CallNode) -> Expr:
    array, down = _array(call), False
    if len(call.args) > 1:
        order = unwrapped(call.args[1])
        if not isinstance(order, exp.Boolean):
            raise call.builder.source.at(
                order, f"{call.name} takes TRUE or FALSE here", "FALSE sorts downwards"
            )
        down = not order.this
    return Call("SORT_ARRAY_DOWN" if down else "SORT_ARRAY", (array,), array.type)


def _slice(call: CallNode) -> Expr:
    for n in (1, 2):
        need_integer(call, n)
    return Call("SLICE", (_array(call), *call.trees[1:]), _array(call).type)


def _flatten(call: CallNode) -> Expr:
    array = _array(call)
    inner = element_of(array.type) or ""
    if element_of(inner) is None:
        what = f"{call.name} takes an ARRAY of ARRAYs, not {spark_type(array.type)}"
        raise call.builder.source.at(
            call.args[0], what, "give one of arrays, such as ARRAY(ARRAY(1), ARRAY(2))"
        )
    return Call("FLATTEN", (array,), inner)


def _repeat(call: CallNode) -> Expr:
    need_integer(call, 1)
    return Call("ARRAY_REPEAT", call.trees, array_type(call.trees[0].type))


def reverse(call: CallNode) -> Expr:
    """Of an array its elements, of a text its characters."""
    tree = call.builder.tree(call.args[0])
    return Call("ARRAY_REVERSE", (tree,), tree.type) if element_of(tree.type) else call.of("REVERSE", tree)


def _entries(call: CallNode) -> Expr:
    tree = call.builder.tree(call.args[0])
    entry = entry_of(tree.type)
    if entry is None:
        what = f"{call.name} takes a MAP here, not {spark_type(tree.type)}"
        raise call.builder.source.at(call.args[0], what, "give a column of that type, or make one: MAP(...)")
    pair = struct_type([("key", entry[0]), ("value", entry[1])])
    return Call("MAP_ENTRIES", (tree,), array_type(pair))


def _map_of(call: CallNode) -> Expr:
    keys, values = (element_of(_array(call, n).type) or "" for n in (0, 1))
    if is_nested(keys):
        raise call.builder.source.at(call.args[0], "keys of a MAP can't be nested", "use STRING or a number")
    return Call("MAP_FROM_ARRAYS", call.trees, map_type(keys, values))


def _body(call: CallNode, index: int, kinds: Mapping[str, str]) -> tuple[tuple[str, ...], Expr]:
    """The lambda at some place: the names that stand for what it is a function of (kinds and types, in order), and what it gives."""
    node = unwrapped(call.args[index])
    if not isinstance(node, exp.Lambda):
        hint = f"write {call.name}(array, {'x -> x > 1' if len(kinds) < 3 else '(sum, x) -> sum + x'})"
        raise call.builder.source.at(node, f"{call.name} takes a lambda here", hint)
    names = [e.name.lower() for e in node.expressions]
    if len(names) > len(kinds) or len(set(names)) < len(names) or not names:
        raise call.builder.source.at(
            node, f"a lambda of {call.name} has 1 to {len(kinds)} names, each another"
        )
    depth = 1 + sum(isinstance(a, exp.Lambda) for a in _around(node))
    given = {
        name: Variable(f"{kind}{depth}", type_)
        for name, (kind, type_) in zip(names, kinds.items(), strict=False)
    }
    body = _inside(call.builder, given).tree(node.this)
    if body.functions:
        hint = "call it over columns, outside of the lambda"
        raise call.builder.source.at(node, "a lambda can't call a Python function", hint)
    return tuple(v.name for v in given.values()), body


def _around(node: exp.Expr) -> list[exp.Expr]:
    """What a node stands in, from within."""
    found: list[exp.Expr] = []
    outer = node.parent
    while outer is not None:
        found.append(outer)
        outer = outer.parent
    return found


def _inside(builder: Builder, given: Mapping[str, Variable]) -> Builder:
    """A builder to which names mean what a lambda is a function of."""

    def leaf(node: exp.Expr) -> Expr | None:
        if isinstance(node, exp.Identifier) and (own := given.get(node.name.lower())) is not None:
            return own
        return builder.leaf(node)

    return replace(builder, leaf=leaf)


def _transform(call: CallNode) -> Expr:
    array = _array(call)
    names, body = _body(call, 1, {"x": element_of(array.type) or "", "i": "INTEGER"})
    return Call("TRANSFORM", (array, body), array_type(body.type), names)


def _filter(call: CallNode) -> Expr:
    array = _array(call)
    names, body = _body(call, 1, {"x": element_of(array.type) or "", "i": "INTEGER"})
    return Call("FILTER", (array, _condition(call, body)), array.type, names)


def _asked(function: str) -> Special:
    def build(call: CallNode) -> Expr:
        array = _array(call)
        names, body = _body(call, 1, {"x": element_of(array.type) or ""})
        return Call(function, (array, _condition(call, body)), "BOOLEAN", names)

    return build


def _condition(call: CallNode, body: Expr) -> Expr:
    if body.type not in ("BOOLEAN", NULL):
        what = f"the lambda of {call.name} gives {spark_type(body.type)}, not BOOLEAN"
        raise call.builder.source.at(call.args[1], what, "compare it with something")
    return _cast(body, "BOOLEAN")


def _aggregate(call: CallNode) -> Expr:
    array, begin = _array(call), call.builder.tree(call.args[1])
    names, body = _body(call, 2, {"a": begin.type, "x": element_of(array.type) or ""})
    if len(names) != 2 or family(body.type) != family(begin.type):
        what = f"the lambda of {call.name} takes what there is and an element, and gives {spark_type(begin.type)}"
        raise call.builder.source.at(call.args[2], what, "write (sum, x) -> sum + x")
    return Call("AGGREGATE", (array, begin, _cast(body, begin.type)), begin.type, names)


ARRAYS: dict[str, dict[int | None, Special]] = {
    "ARRAY_DISTINCT": {1: _same("ARRAY_DISTINCT")},
    **{name: {2: _same(name, 2)} for name in ("ARRAY_UNION", "ARRAY_INTERSECT", "ARRAY_EXCEPT")},
    "ARRAYS_OVERLAP": {2: _overlap},
    **{name: {2: _with_value(name)} for name in ("ARRAY_APPEND", "ARRAY_PREPEND", "ARRAY_REMOVE")},
    **{name: {1: _same(name)} for name in ("ARRAY_COMPACT", "ARRAY_SORT")},
    "ARRAY_REPEAT": {2: _repeat},
    "SORT_ARRAY": {1: _sort, 2: _sort},
    "SLICE": {3: _slice},
    "FLATTEN": {1: _flatten},
    "REVERSE": {1: reverse},
    "MAP_ENTRIES": {1: _entries},
    "MAP_FROM_ARRAYS": {2: _map_of},
    "TRANSFORM": {2: _transform},
    "FILTER": {2: _filter},
    "EXISTS": {2: _asked("EXISTS")},
    "FORALL": {2: _asked("FORALL")},
    **{name: {3: _aggregate} for name in ("AGGREGATE", "REDUCE")},
}
"""Functions of Spark's by name, and how many arguments they take."""
