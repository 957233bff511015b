"""JSON texts: what is taken out of them, and values as such texts, each function of Spark's as DuckDB's SQL.

Values of a JSON text are read in one pass as a struct, an array or a map whose leaves are JSON still; then each leaf becomes what was asked
for, or NULL where it is something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from thalweg.expr.casts import sayable_time, timestamp_of, write_cast
from thalweg.expr.nested import element_of, entry_of, fields_of, is_nested
from thalweg.expr.nodes import Call, Cast, Column
from thalweg.expr.pieces import Piece
from thalweg.expr.quoting import identifier, quoted
from thalweg.expr.types import is_integer

_STEP = re.compile(r"\.([^.\[\]*']+)|\['([^'\]]+)'\]|\[(\d{1,9})\]")
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity", "INF", "-INF", "+INF", "+Infinity")


def json_path(text: str) -> tuple[str | int, ...] | None:
    """The keys and places of a path as Spark has it; None where it is another.

    >>> json_path("$.a['b c'][2]"), json_path("$.a[*]")
    (('a', 'b c', 2), None)
    """
    steps: list[str | int] = []
    at = 1 if text.startswith("$") else -1
    while 0 <= at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            return None
        name = step[1] or step[2]
        steps.append(int(step[3]) if name is None else name)
        at = step.end()
    return tuple(steps) if at > 0 else None


def _object(call: Call) -> str:
    """One value as text: a string without its quotes, all else as JSON. What an object has as null is not there; an element is."""
    steps = json_path(call.params[0]) or ()
    path = "$" + "".join(
        f"[{s}]" if isinstance(s, int) else f".{json.dumps(s, ensure_ascii=False)}" for s in steps
    )
    found = f"TRY(json_extract_string({call.args[0].sql}, {quoted(path)}))"
    if steps and isinstance(steps[-1], str):
        return found
    return f"coalesce({found}, CASE WHEN TRY(json_type({call.args[0].sql}, {quoted(path)})) = 'NULL' THEN 'null' END)"


def _of_kind(kind: str, value: str) -> Callable[[Call], str]:
    """What there is of a text that holds an array, or an object."""

    def write(call: Call) -> str:
        text = call.args[0].sql
        return f"CASE WHEN TRY(json_type({text})) = '{kind}' THEN {value.format(text)} END"

    return write


def _from_json(call: Call) -> str:
    """A struct is there wherever a text is, if with nothing in it."""
    text, type_ = call.args[0].sql, call.type
    read = f"TRY(json_transform({text}, {quoted(json.dumps(_shape(type_), ensure_ascii=False))}))"
    made = _named(read, 0, lambda it: _read(it, type_, 1))
    return f"CASE WHEN trim({text}) <> '' THEN {made} END" if fields_of(type_) else made


def _shape(type_: str) -> object:
    """What DuckDB is told of a type: leaves are JSON."""
    if (element := element_of(type_)) is not None:
        return [_shape(element)]
    if entry_of(type_) is not None:
        return "MAP(VARCHAR, JSON)"
    fields = fields_of(type_)
    return {name: _shape(its) for name, its in fields} if fields else "JSON"


def _read(value: str, type_: str, depth: int) -> str:
    """What was read in its shape, with each leaf of its type."""
    it = f"__j{depth}"
    if (element := element_of(type_)) is not None:
        return f"list_transform({value}, lambda {it}: {_read(it, element, depth + 1)})"
    if (entry := entry_of(type_)) is not None:
        read = f"list_transform(map_values({it}), lambda {it}v: {_inner(f'{it}v', entry[1], depth + 1)})"
        return _named(value, depth, lambda its: f"map(map_keys({its}), {read})")
    if fields := fields_of(type_):
        packed = (
            f"{identifier(n)} := {_read(f'struct_extract({it}, {quoted(n)})', t, depth + 1)}"
            for n, t in fields
        )
        made = f"struct_pack({', '.join(packed)})"
        return _named(
            value, depth, lambda its: made if depth == 1 else f"CASE WHEN {its} IS NOT NULL THEN {made} END"
        )
    return _leaf(value, type_, depth)


def _inner(value: str, type_: str, depth: int) -> str:
    """A value of a map, which is JSON as a whole."""
    if not is_nested(type_):
        return _leaf(value, type_, depth)
    read = f"TRY(json_transform({value}, {quoted(json.dumps(_shape(type_), ensure_ascii=False))}))"
    return _read(read, type_, depth + 1)


def _leaf(value: str, type_: str, depth: int) -> str:
    """A value that is JSON; NULL where it is of another kind."""
    text = f"CAST({value} AS VARCHAR)"
    string = f"CASE WHEN {text} LIKE '\"%' THEN {value} ->> '$' END"
    whole = f"nullif(regexp_extract({text}, '^-?[0-9]+$'), '')"
    if type_ == "VARCHAR":
        return f"({value} ->> '$')"
    if is_integer(type_):
        return f"TRY_CAST({whole} AS {type_})"
    if type_ == "BOOLEAN":
        return f"CASE {text} WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END"
    if type_ in ("FLOAT", "DOUBLE"):
        named = ", ".join(quoted(json.dumps(n)) for n in _NO_NUMBERS)
        number = (
            f"CASE WHEN {text} IN ({named}) THEN replace(replace({value} ->> '$', '+', ''), 'INF', 'inf')"
        )
        return f"TRY_CAST({number} WHEN {text} NOT LIKE '\"%' THEN {text} END AS {type_})"
    if type_ == "TIMESTAMP":
        read = write_cast(Cast(Column("\0", "VARCHAR"), type_)).sql.replace('"\0"', string)
        return f"coalesce({read}, {timestamp_of(f'TRY_CAST({whole} AS BIGINT)', 'BIGINT')})"
    return f"TRY_CAST({string if type_ == 'DATE' else f'({value} ->> $$$$)'.replace('$$$$', quoted('$'))} AS {type_})"


def _named(value: str, depth: int, write: Callable[[str], str]) -> str:
    """What is made of a value that is needed more than once, and computed once."""
    it = f"__j{depth}"
    return f"list_transform([{value}], lambda {it}: {write(it)})[1]"


def _to_json(call: Call) -> str:
    return _text(call.args[0].sql, call.args[0].type, 0)


def _text(value: str, type_: str, depth: int) -> str:
    """A value as JSON; NULL where it is NULL."""
    it = f"__j{depth}"
    if (element := element_of(type_)) is not None:
        texts = f"list_transform({value}, lambda {it}: coalesce({_text(it, element, depth + 1)}, 'null'))"
        return f"('[' || array_to_string({texts}, ',') || ']')"
    if (entry := entry_of(type_)) is not None:
        said = f"{it}.key" if entry[0] != "TIMESTAMP" else sayable_time(f"{it}.key")
        key, its = f"CAST({said} AS VARCHAR)", _text(f"{it}.value", entry[1], depth + 1)
        pair = f"CAST(to_json({key}) AS VARCHAR) || ':' || coalesce({its}, 'null')"
        return f"('{{' || array_to_string(list_transform(map_entries({value}), lambda {it}: {pair}), ',') || '}}')"
    if fields := fields_of(type_):
        pairs = (
            f"{quoted(json.dumps(n, ensure_ascii=False) + ':')} || {_text(f'struct_extract({it}, {quoted(n)})', t, depth + 1)}"
            for n, t in fields
        )
        made = f"'{{' || concat_ws(',', {', '.join(pairs)}) || '}}'"
        return _named(value, depth, lambda its: f"CASE WHEN {its} IS NOT NULL THEN {made} END")
    return _leaf_text(value, type_)


def _leaf_text(value: str, type_: str) -> str:
    if type_ == "VARCHAR":
        return f"CAST(to_json({value}) AS VARCHAR)"
    if type_ in ("FLOAT", "DOUBLE"):
        named = (
            f"WHEN isnan({value}) THEN '\"NaN\"' WHEN {value} > 0 THEN '\"Infinity\"' ELSE '\"-Infinity\"'"
        )
        return f"CASE WHEN {value} IS NULL THEN NULL WHEN isfinite({value}) THEN CAST({value} AS VARCHAR) {named} END"
    if type_ == "TIMESTAMP":
        return f"strftime({sayable_time(value)}, '\"%Y-%m-%dT%H:%M:%S.%gZ\"')"
    return f"('\"' || CAST({value} AS VARCHAR) || '\"')" if type_ == "DATE" else f"CAST({value} AS VARCHAR)"


_WRITTEN: Mapping[str, Callable[[Call], str]] = {
    "GET_JSON_OBJECT": _object,
    "JSON_ARRAY_LENGTH": _of_kind("ARRAY", "CAST(TRY(json_array_length({0})) AS INTEGER)"),
    "JSON_OBJECT_KEYS": _of_kind("OBJECT", "TRY(json_keys({0}))"),
    "FROM_JSON": _from_json,
    "TO_JSON": _to_json,
}


def _piece(write: Callable[[Call], str]) -> Callable[[Call], Piece]:
    return lambda call: Piece(write(call))


JSON_CALLS: Mapping[str, Callable[[Call], Piece]] = {name: _piece(w) for name, w in _WRITTEN.items()}
