"""Functions of JSON texts: their paths and schemas are constants, and checked where they stand."""

from __future__ import annotations

from thalweg.expr.json_calls import json_path
from thalweg.expr.nested import array_type, is_nested, is_storable, spark_type
from thalweg.expr.nodes import Call, Expr
from thalweg.expr.types import TYPES_HINT
from thalweg.sql.calls import CallNode, Special
from thalweg.sql.nodes import Misparse
from thalweg.sql.source import one_line


def _text(call: CallNode) -> Expr:
    """The first argument, which must be a text."""
    tree = call.builder.tree(call.args[0])
    if tree.type != "VARCHAR":
        what = f"{call.name} takes a JSON text, not {spark_type(tree.type)}"
        raise call.builder.source.at(call.args[0], what, "TO_JSON makes one")
    return tree


def get_json_object(call: CallNode) -> Expr:
    path = call.text(1, "the path")
    if json_path(path) is None:
        what = f"{path!r} is no path of names and places"
        hint = "write '$.name[0]', and FROM_JSON for all elements of an array"
        raise call.builder.source.at(call.args[1], what, hint)
    return Call("GET_JSON_OBJECT", (_text(call),), "VARCHAR", (path,))


def _of_text(function: str, type_: str) -> Special:
    return lambda call: Call(function, (_text(call),), type_)


def from_json(call: CallNode) -> Expr:
    """A text as a value of the type that a constant says, as `'a INT, b ARRAY<STRING>'`."""
    return Call("FROM_JSON", (_text(call),), _schema(call))


def _schema(call: CallNode) -> str:
    from thalweg.sql.dialect import Thalweg, ThalwegParser

    text = call.text(1, "the schema")
    try:
        tokens = Thalweg().tokenizer().tokenize(text)
        type_ = ThalwegParser(dialect=Thalweg).parse_schema(tokens, text) if tokens else ""
    except Misparse as error:
        what = f"the schema {text!r}: {one_line(error)}"
        raise call.builder.source.at(call.args[1], what, error.hint or TYPES_HINT) from None
    if not is_storable(type_) or not is_nested(type_):
        hint = "write names and types, as 'a INT, b ARRAY<STRING>'"
        raise call.builder.source.at(call.args[1], "the schema has no columns", hint)
    return type_


def to_json(call: CallNode) -> Expr:
    tree = call.builder.tree(call.args[0])
    if not is_nested(tree.type):
        what = f"{call.name} takes a STRUCT, an ARRAY or a MAP, not {spark_type(tree.type)}"
        raise call.builder.source.at(call.args[0], what, "write TO_JSON(STRUCT(a, b))")
    return Call("TO_JSON", (tree,), "VARCHAR")


JSON: dict[str, dict[int | None, Special]] = {
    "GET_JSON_OBJECT": {2: get_json_object},
    "JSON_ARRAY_LENGTH": {1: _of_text("JSON_ARRAY_LENGTH", "INTEGER")},
    "JSON_OBJECT_KEYS": {1: _of_text("JSON_OBJECT_KEYS", array_type("VARCHAR"))},
    "FROM_JSON": {2: from_json},
    "TO_JSON": {1: to_json},
}
"""Functions of Spark's by name, and how many arguments they take."""
