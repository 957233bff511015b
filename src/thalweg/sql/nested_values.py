"""How values with others in them become trees: fields of structs, elements of arrays and maps, and what makes such values."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from thalweg.errors import SqlError
from thalweg.expr.nested import (
    array_type,
    element_of,
    entry_of,
    field_of,
    fields_of,
    is_nested,
    map_type,
    spark_type,
    struct_type,
)
from thalweg.expr.nodes import NULL, Call, Cast, Column, Expr
from thalweg.expr.types import family, is_integer
from thalweg.sql.builder import Builder, Forms, is_string, unwrapped
from thalweg.sql.calls import CallNode, Special
from thalweg.sql.source import suggestion


def _field(builder: Builder, node: exp.Dot) -> Expr:
    """`bid.price`."""
    return field(builder, node, builder.tree(node.this), node.name)


def field(builder: Builder, node: exp.Expr, struct: Expr, name: str) -> Expr:
    """A field of a struct, as a column of its own where what is read has it so."""
    fields = fields_of(struct.type)
    if not fields:
        of_element = "write element[0].name for a field of one element"
        hint = of_element if element_of(struct.type) else "only a STRUCT has fields: name one"
        what = builder.source.written(node.this)
        raise builder.source.at(node, f"{what} is {spark_type(struct.type)}, which has no fields", hint)
    found = field_of(struct.type, name)
    if found is None:
        hint = suggestion(name, [n for n, _ in fields], "its fields are")
        raise builder.source.at(node, f"unknown field {name} of {builder.source.written(node.this)}", hint)
    stored = builder.part(struct, found[0]) if isinstance(struct, Column) else None
    return stored or Call("FIELD", (struct,), found[1], (found[0],))


def _bracket(builder: Builder, node: exp.Bracket) -> Expr:
    """`array[0]`, `map['key']`."""
    if len(node.expressions) != 1 or isinstance(node.expressions[0], exp.Slice):
        raise builder.source.at(node, "one element is taken at a time", "write array[0]")
    value, place = builder.tree(node.this), node.expressions[0]
    if (entry := entry_of(value.type)) is not None:
        return Call("ELEMENT", (value, _key(builder, place, entry[0])), entry[1])
    element = element_of(value.type)
    if element is None:
        what = f"{builder.source.written(node.this)} is {spark_type(value.type)}, which has no elements"
        raise builder.source.at(node, what, "only arrays and maps have")
    return Call("AT", (value, _index(builder, place)), element)


def _index(builder: Builder, node: exp.Expr) -> Expr:
    tree = builder.tree(node)
    if not is_integer(tree.type):
        said = f"a place in an array is a whole number, not {spark_type(tree.type)}"
        raise builder.source.at(node, said, "CAST it to INT")
    return tree


def _key(builder: Builder, node: exp.Expr, type_: str) -> Expr:
    tree = builder.tree(node)
    if family(tree.type) != family(type_):
        what = f"keys of the map are {spark_type(type_)}, not {spark_type(tree.type)}"
        raise builder.source.at(node, what, "CAST it")
    return tree if tree.type == type_ else Cast(tree, type_)


NESTED_FORMS: Forms = {exp.Dot: _field, exp.Bracket: _bracket}


def _array(call: CallNode, index: int = 0) -> str:
    """The type of the elements of an argument."""
    type_ = call.builder.type(call.args[index])
    element = element_of(type_)
    if element is None:
        raise no_array(call, index, type_)
    return element


def no_array(call: CallNode, index: int, type_: str) -> SqlError:
    """An argument that must be an array is of another type."""
    said = f"{call.name} takes an ARRAY here, not {spark_type(type_)}"
    return call.builder.source.at(
        call.args[index], said, "give a column of that type, or make one: ARRAY(...)"
    )


def _map(call: CallNode) -> tuple[str, str]:
    type_ = call.builder.type(call.args[0])
    entry = entry_of(type_)
    if entry is None:
        said = f"{call.name} takes a MAP here, not {spark_type(type_)}"
        raise call.builder.source.at(call.args[0], said, "give a column of that type, or make one: MAP(...)")
    return entry


def element_at(call: CallNode) -> Expr:
    """From 1 on, or from the end; of a map by its key."""
    value = call.builder.tree(call.args[0])
    if (entry := entry_of(value.type)) is not None:
        return Call("ELEMENT", (value, _key(call.builder, call.args[1], entry[0])), entry[1])
    element = _array(call)
    return Call("ELEMENT_AT", (value, _index(call.builder, call.args[1])), element)


def get(call: CallNode) -> Expr:
    """From 0 on."""
    element = _array(call)
    return Call("AT", (call.builder.tree(call.args[0]), _index(call.builder, call.args[1])), element)


def size(call: CallNode) -> Expr:
    value = call.builder.tree(call.args[0])
    if not is_nested(value.type) or fields_of(value.type):
        what = f"{call.name} takes an ARRAY or a MAP, not {spark_type(value.type)}"
        raise call.builder.source.at(call.args[0], what, "LENGTH is that of a text")
    return Call("SIZE", (value,), "INTEGER")


def _within(call: CallNode, function: str, type_: str) -> Expr:
    """Whether or where a value is among the elements of an array."""
    element, value = _array(call), call.builder.tree(call.args[1])
    if value.type != NULL and family(value.type) != family(element):
        what = f"elements are {spark_type(element)}, not {spark_type(value.type)}"
        raise call.builder.source.at(call.args[1], what, "CAST it")
    return Call(function, (call.builder.tree(call.args[0]), value), type_)


def array_contains(call: CallNode) -> Expr:
    return _within(call, "ARRAY_CONTAINS", "BOOLEAN")


def array_position(call: CallNode) -> Expr:
    return _within(call, "ARRAY_POSITION", "BIGINT")


def least_element(function: str) -> Special:
    """The least or the greatest element."""
    return lambda call: Call(function, (call.builder.tree(call.args[0]),), _array(call))


def array_join(call: CallNode) -> Expr:
    if _array(call) != "VARCHAR":
        raise call.builder.source.at(call.args[0], f"{call.name} takes an ARRAY<STRING>", "give one of texts")
    return call.of("ARRAY_JOIN", *call.trees)


def keys(call: CallNode) -> Expr:
    return Call("MAP_KEYS", call.trees, array_type(_map(call)[0]))


def values(call: CallNode) -> Expr:
    return Call("MAP_VALUES", call.trees, array_type(_map(call)[1]))


def contains_key(call: CallNode) -> Expr:
    key = _key(call.builder, call.args[1], _map(call)[0])
    return Call("MAP_CONTAINS_KEY", (call.builder.tree(call.args[0]), key), "BOOLEAN")


def array(call: CallNode) -> Expr:
    """Values as an array, of the type that they have together."""
    made = call.builder.alike(call.args, "mix")
    type_ = call.builder.typing.mixed(made)
    return Call("ARRAY", tuple(_cast(v, type_) for v in made), array_type(type_))


def map_of(call: CallNode) -> Expr:
    """Keys and values in turns."""
    if len(call.args) % 2:
        raise call.builder.source.at(
            call.node, "MAP takes keys and values in turns", "write MAP('a', 1, 'b', 2)"
        )
    given = [call.builder.alike(call.args[n::2], "mix") for n in (0, 1)]
    types = [call.builder.typing.mixed(trees) for trees in given]
    trees = [_cast(t, type_) for some, type_ in zip(given, types, strict=True) for t in some]
    return Call("MAP", tuple(trees), map_type(types[0], types[1]))


def _cast(value: Expr, type_: str) -> Expr:
    return value if value.type == type_ else Cast(value, type_)


def struct(call: CallNode) -> Expr:
    """Values under the names that they have, else `col1`, `col2`, ..."""
    names = [_name_of(a, n) for n, a in enumerate(call.args, 1)]
    return _struct(call, names, [a.this if isinstance(a, exp.Alias) else a for a in call.args])


def named_struct(call: CallNode) -> Expr:
    """Names and values in turns."""
    if len(call.args) % 2 or not all(is_string(a) for a in call.args[::2]):
        hint = "write NAMED_STRUCT('a', 1, 'b', 2)"
        raise call.builder.source.at(call.node, "NAMED_STRUCT takes names and values in turns", hint)
    return _struct(call, [unwrapped(a).name for a in call.args[::2]], list(call.args[1::2]))


def _struct(call: CallNode, names: Sequence[str], nodes: Sequence[exp.Expr]) -> Expr:
    if len({n.lower() for n in names}) < len(names):
        raise call.builder.source.at(call.node, "two fields have one name", "rename one with AS")
    trees = tuple(map(call.builder.tree, nodes))
    type_ = struct_type([(n, t.type) for n, t in zip(names, trees, strict=True)])
    return Call("STRUCT", trees, type_, tuple(names))


def _name_of(node: exp.Expr, number: int) -> str:
    if isinstance(node, exp.Alias):
        return str(node.alias)
    return node.name if isinstance(node, exp.Column | exp.Dot) else f"col{number}"


NESTED: dict[str, dict[int | None, Special]] = {
    **{key: {2: element_at} for key in ("ELEMENT_AT", "TRY_ELEMENT_AT")},
    "GET": {2: get},
    **{key: {1: size} for key in ("SIZE", "CARDINALITY")},
    "ARRAY_SIZE": {1: lambda call: (_array(call), size(call))[1]},
    "ARRAY_CONTAINS": {2: array_contains},
    "ARRAY_POSITION": {2: array_position},
    "ARRAY_MIN": {1: least_element("ARRAY_MIN")},
    "ARRAY_MAX": {1: least_element("ARRAY_MAX")},
    "ARRAY_JOIN": {2: array_join},
    "ARRAY": {None: array},
    "MAP": {None: map_of},
    "MAP_KEYS": {1: keys},
    "MAP_VALUES": {1: values},
    "MAP_CONTAINS_KEY": {2: contains_key},
    "STRUCT": {None: struct},
    "NAMED_STRUCT": {None: named_struct},
}
"""Functions of Spark's by name, and how many arguments they take."""
