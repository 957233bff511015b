"""Columns with others in them: what is read of a file as they stand there, what becomes of it, and what of it fits no type."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from thalweg.connectors.reading.fitting import fitted_value, is_exact, misfit_value
from thalweg.expr.nested import element_of, entry_of, fields_of, is_nested, mapped_type
from thalweg.expr.quoting import identifier, quoted
from thalweg.model.stream import Column

Leaf = Callable[[str, str], str]
"""The SQL of a value, from the SQL of what stands for it and its type."""


def place_sql(column: Column) -> str:
    """Where the value of a column stands: under its name, or in a struct.

    >>> place_sql(Column("bid.price", "BIGINT", path=("bid", "price")))
    'struct_extract("bid", \\'price\\')'
    """
    name, *fields = column.path or (column.name,)
    found = identifier(name)
    for each in fields:
        found = f"struct_extract({found}, {quoted(each)})"
    return found


def root_of(column: Column) -> str:
    """The name of the column that a file has."""
    return column.path[0] if column.path else column.name


def roots(columns: Sequence[Column], declared: Sequence[Column]) -> list[Column]:
    """The columns that a file has, of which some columns are read."""
    names = {root_of(c) for c in columns}
    return [c for c in declared if c.name in names]


def is_apart(column: Column) -> bool:
    """Whether values of a column stand within others, or hold others."""
    return bool(column.path) or is_nested(column.type)


def loose_type(type_: str) -> str:
    """The type as which a nested column of JSON is read: texts, in the same places."""
    return mapped_type(type_, lambda leaf: "VARCHAR")


def made(value: str, type_: str, leaf: Leaf, depth: int = 0) -> str:
    """The SQL of a nested value that is made of another one of the same form, leaf by leaf."""
    inner = depth + 1
    if (element := element_of(type_)) is not None:
        return f"list_transform({value}, lambda e{depth}: {made(f'e{depth}', element, leaf, inner)})"
    if (entry := entry_of(type_)) is not None:
        parts = (made(f"e{depth}.{p}", t, leaf, inner) for p, t in zip(("key", "value"), entry, strict=True))
        pair = "{{'k': {}, 'v': {}}}".format(*parts)
        each = f"list_transform(map_entries({value}), lambda e{depth}: {pair})"
        return f"CASE WHEN {value} IS NOT NULL THEN map_from_entries({each}) END"
    if fields := fields_of(type_):
        parts = (
            f"{identifier(n)} := {made(f'struct_extract({value}, {quoted(n)})', t, leaf, inner)}"
            for n, t in fields
        )
        return f"CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(parts)}) END"
    return leaf(value, type_)


def text_value(column: Column, format_: str | None) -> str:
    """The SQL of a nested column of JSON, or of a field of one, as its declared type; `format_` is how times are written."""
    return made(place_sql(column), column.type, lambda x, t: _of_text(x, t, column.name, format_))


def _of_text(value: str, type_: str, name: str, format_: str | None = None) -> str:
    if type_ == "VARCHAR":
        return value
    if is_exact(type_):
        return fitted_value(value, type_, name)
    if type_ == "TIMESTAMP":
        if format_ is not None:
            return f"strptime({value}, {quoted(format_)})"
        return f"CAST(CAST({value} AS TIMESTAMPTZ) AS TIMESTAMP)"
    return f"CAST({value} AS {type_})"


def json_misfit(raw: str, type_: str, format_: str | None, *, only_form: bool = False, depth: int = 0) -> str:
    """The SQL of whether JSON is no value of a type: of another form, with a key twice, or with a leaf that is none. Where `only_form`,
    leaves are not looked at."""

    def inner(value: str, its: str) -> str:
        return json_misfit(value, its, format_, only_form=only_form, depth=depth + 1)

    def some(values: str, its: str) -> str:
        return f"len(list_filter(json_extract({raw}, '{values}'), lambda j{depth}: {inner(f'j{depth}', its)})) > 0"

    if (element := element_of(type_)) is not None:
        return _of_form(raw, "ARRAY", some("$[*]", element))
    if (entry := entry_of(type_)) is not None:
        doubled = f"len(json_keys({raw})) > len(list_distinct(json_keys({raw})))"
        return _of_form(raw, "OBJECT", f"{doubled} OR {some('$.*', entry[1])}")
    if fields := fields_of(type_):
        bad = [_has_twice(raw, n) for n, _ in fields]
        bad += [inner(part_of_json(raw, n), t) for n, t in fields if is_nested(t) or not only_form]
        return _of_form(raw, "OBJECT", " OR ".join(f"coalesce({b}, false)" for b in bad))
    return "false" if only_form else _misfit_of_text(f"json_extract_string({raw}, '$')", type_, format_)


def _of_form(raw: str, form: str, inside: str) -> str:
    none = f"json_type({raw}) IS NULL OR json_type({raw}) = 'NULL'"
    return f"CASE WHEN {none} THEN false WHEN json_type({raw}) = '{form}' THEN coalesce({inside}, false) ELSE true END"


def _has_twice(raw: str, name: str) -> str:
    return f"len(list_filter(json_keys({raw}), lambda k: k = {quoted(name)})) > 1"


def part_of_json(raw: str, *path: str) -> str:
    """The SQL of what stands in JSON under some names."""
    for name in path:
        escaped = name.replace('"', '\\"')
        place = quoted(f'$."{escaped}"')
        raw = f"json_extract({raw}, {place})"
    return raw


def _misfit_of_text(text: str, type_: str, format_: str | None) -> str:
    if type_ == "VARCHAR":
        return "false"
    if is_exact(type_):
        return misfit_value(text, type_)
    return f"({text} IS NOT NULL AND TRY({_of_text(text, type_, '', format_)}) IS NULL)"


def misfitting_type(actual: pa.DataType, type_: str, fits: Callable[[pa.DataType, str], bool]) -> bool:
    """Whether values of a file's type are none of a nested one; `fits` tells it of leaves. All declared fields must be there."""
    if (element := element_of(type_)) is not None:
        found = (
            pa.types.is_list(actual) or pa.types.is_large_list(actual) or pa.types.is_fixed_size_list(actual)
        )
        return not found or misfitting_type(actual.value_type, element, fits)
    if (entry := entry_of(type_)) is not None:
        if not pa.types.is_map(actual):
            return True
        held = (actual.key_type, actual.item_type)
        return any(misfitting_type(a, t, fits) for a, t in zip(held, entry, strict=True))
    if fields := fields_of(type_):
        if not pa.types.is_struct(actual):
            return True
        held_types = {f.name.lower(): f.type for f in actual}
        return any(
            n.lower() not in held_types or misfitting_type(held_types[n.lower()], t, fits) for n, t in fields
        )
    return not fits(actual, type_)
