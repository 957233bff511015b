"""Nested types: what a STRUCT, an ARRAY and a MAP hold, by DuckDB's names of types, which are written one way here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from thalweg.expr.quoting import identifier, readable
from thalweg.expr.types import SUPPORTED

_STRUCT, _MAP, _ARRAY = "STRUCT(", "MAP(", "[]"
_SPARK = {"VARCHAR": "STRING", "INTEGER": "INT"}


def struct_type(fields: Sequence[tuple[str, str]]) -> str:
    """The type of a struct.

    >>> struct_type([("a", "BIGINT"), ("b", "VARCHAR[]")])
    'STRUCT("a" BIGINT, "b" VARCHAR[])'
    """
    return f"{_STRUCT}{', '.join(f'{identifier(n)} {t}' for n, t in fields)})"


def array_type(element: str) -> str:
    """The type of an array."""
    return element + _ARRAY


def map_type(key: str, value: str) -> str:
    """The type of a map."""
    return f"{_MAP}{key}, {value})"


@lru_cache(maxsize=1024)
def fields_of(type_: str) -> tuple[tuple[str, str], ...]:
    """The names and types of a struct's fields; none of another type.

    >>> fields_of('STRUCT(a BIGINT, "b c" MAP(VARCHAR, DECIMAL(10,2)))')
    (('a', 'BIGINT'), ('b c', 'MAP(VARCHAR, DECIMAL(10,2))'))
    """
    if not (type_.startswith(_STRUCT) and type_.endswith(")")):
        return ()
    return tuple(map(_field, _parts(type_[len(_STRUCT) : -1])))


def element_of(type_: str) -> str | None:
    """The type of an array's elements; None of another type."""
    return type_.removesuffix(_ARRAY) if type_.endswith(_ARRAY) else None


@lru_cache(maxsize=1024)
def entry_of(type_: str) -> tuple[str, str] | None:
    """The types of a map's keys and values; None of another type."""
    if not (type_.startswith(_MAP) and type_.endswith(")")):
        return None
    key, value = _parts(type_[len(_MAP) : -1])
    return key, value


def is_nested(type_: str) -> bool:
    """Whether values of a type hold others."""
    return type_.endswith(_ARRAY) or type_.startswith((_STRUCT, _MAP))


def field_of(type_: str, name: str) -> tuple[str, str] | None:
    """A field of a struct by its name, in the case of its declaration, and its type."""
    return next(((n, t) for n, t in fields_of(type_) if n.lower() == name.lower()), None)


def mapped_type(type_: str, leaf: Callable[[str], str]) -> str:
    """The same type with others in the place of those that hold no others.

    >>> mapped_type("MAP(VARCHAR, BIGINT[])", lambda t: "VARCHAR")
    'MAP(VARCHAR, VARCHAR[])'
    """
    if (element := element_of(type_)) is not None:
        return array_type(mapped_type(element, leaf))
    if (entry := entry_of(type_)) is not None:
        return map_type(*(mapped_type(t, leaf) for t in entry))
    if fields := fields_of(type_):
        return struct_type([(n, mapped_type(t, leaf)) for n, t in fields])
    return leaf(type_)


def plain_type(type_: str) -> str:
    """A type as it is written here, whatever way the engine writes it."""
    return mapped_type(type_, lambda leaf: leaf) if is_nested(type_) else type_


def is_storable(type_: str) -> bool:
    """Whether columns and results may be of a type."""
    return all(t in SUPPORTED or t.startswith("DECIMAL(") for t in _leaves(type_))


def holds_floats(type_: str) -> bool:
    """Whether values of a type are, or hold, numbers that may be NaN."""
    return any(t in ("FLOAT", "DOUBLE") for t in _leaves(type_))


def spark_type(type_: str) -> str:
    """A type as it is declared.

    >>> spark_type('STRUCT("a" INTEGER, "b" MAP(VARCHAR, DOUBLE[]))')
    'STRUCT<a: INT, b: MAP<STRING, ARRAY<DOUBLE>>>'
    """
    if (element := element_of(type_)) is not None:
        return f"ARRAY<{spark_type(element)}>"
    if (entry := entry_of(type_)) is not None:
        return f"MAP<{', '.join(map(spark_type, entry))}>"
    if fields := fields_of(type_):
        return f"STRUCT<{', '.join(f'{readable(n)}: {spark_type(t)}' for n, t in fields)}>"
    return _SPARK.get(type_, type_)


def paths_of(name: str, type_: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The fields of a column, and those within these, each by its path and with its type.

    >>> list(paths_of("bid", "STRUCT(price BIGINT)"))
    [(('bid', 'price'), 'BIGINT')]
    """
    for field, its in fields_of(type_):
        yield (name, field), its
        yield from (((name, *path), t) for path, t in paths_of(field, its))


def _leaves(type_: str) -> Iterator[str]:
    if (element := element_of(type_)) is not None:
        yield from _leaves(element)
    elif (entry := entry_of(type_)) is not None:
        yield from (leaf for t in entry for leaf in _leaves(t))
    elif fields := fields_of(type_):
        yield from (leaf for _, t in fields for leaf in _leaves(t))
    else:
        yield type_


def _parts(text: str) -> Iterator[str]:
    """What stands between commas that are in no parentheses and no quotes."""
    depth, start, quoted = 0, 0, False
    for at, here in enumerate(text):
        quoted ^= here == '"'
        depth += 0 if quoted else (here == "(") - (here == ")")
        if here == "," and not depth and not quoted:
            yield text[start:at].strip()
            start = at + 1
    yield text[start:].strip()


def _field(text: str) -> tuple[str, str]:
    if not text.startswith('"'):
        name, _, type_ = text.partition(" ")
        return name, type_
    at = 1
    while text[at] != '"' or text[at + 1 : at + 2] == '"':
        at += 2 if text[at] == '"' else 1
    return text[1:at].replace('""', '"'), text[at + 1 :].strip()
