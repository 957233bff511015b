"""How values with others in them are written: Spark's fields, arrays and maps as DuckDB's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thalweg.expr.nodes import Call, Literal
from thalweg.expr.pieces import Piece, shared
from thalweg.expr.quoting import identifier, quoted

MOST = 2**31 - 2
"""The last place that an array may have."""


def _field(call: Call) -> str:
    return f"struct_extract({call.args[0].sql}, {quoted(call.params[0])})"


def _at(call: Call) -> str:
    """From 0 on; NULL outside."""
    array, place = call.args
    if isinstance(place, Literal) and place.value is not None and 0 <= int(place.value) < MOST:
        return f"list_extract({array.sql}, {int(place.value) + 1})"
    found = f"list_extract({array.sql}, CAST({{0}} AS BIGINT) + 1)".format
    return shared(lambda at: f"CASE WHEN {at} BETWEEN 0 AND {MOST} THEN {found(at)} END", place.operand)


def _element_at(call: Call) -> str:
    """From 1 on, or backwards from the end; NULL outside."""
    array, place = call.args
    return f"list_extract({array.sql}, nullif({place.sql}, 0))"


def _contains(call: Call) -> str:
    """NULL where a NULL among the elements leaves it open."""

    def write(array: str, value: str) -> str:
        some = f"CASE WHEN {array} IS NULL OR {value} IS NULL THEN NULL WHEN list_contains({array}, {value}) THEN TRUE"
        return f"{some} WHEN list_count({array}) = len({array}) THEN FALSE END"

    return shared(write, *(a.operand for a in call.args))


def _position(call: Call) -> str:
    def write(array: str, value: str) -> str:
        found = f"coalesce(list_position({array}, {value}), 0)"
        return f"CASE WHEN {array} IS NOT NULL AND {value} IS NOT NULL THEN CAST({found} AS BIGINT) END"

    return shared(write, *(a.operand for a in call.args))


def _struct(call: Call) -> str:
    fields = (f"{identifier(n)} := {a.sql}" for n, a in zip(call.params, call.args, strict=True))
    return f"struct_pack({', '.join(fields)})"


def _map(call: Call) -> str:
    half = len(call.args) // 2
    keys, values = (f"[{', '.join(a.sql for a in some)}]" for some in (call.args[:half], call.args[half:]))
    return f"TRY(map({keys}, {values}))"


def _plain(template: str) -> Callable[[Call], str]:
    return lambda call: template.format(*(a.sql for a in call.args))


_WRITTEN: Mapping[str, Callable[[Call], str]] = {
    "FIELD": _field,
    "AT": _at,
    "ELEMENT": _plain("map_extract_value({0}, {1})"),
    "ELEMENT_AT": _element_at,
    "SIZE": lambda call: (
        f"CAST({'cardinality' if call.args[0].type.startswith('MAP(') else 'len'}({call.args[0].sql}) AS INTEGER)"
    ),
    "ARRAY_CONTAINS": _contains,
    "ARRAY_POSITION": _position,
    "ARRAY_MIN": _plain("list_min({0})"),
    "ARRAY_MAX": _plain("list_max({0})"),
    "ARRAY_JOIN": _plain(
        "coalesce(array_to_string({0}, {1}), CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN '' END)"
    ),
    "ARRAY": lambda call: f"[{', '.join(a.sql for a in call.args)}]",
    "STRUCT": _struct,
    "MAP": _map,
    "MAP_KEYS": _plain("map_keys({0})"),
    "MAP_VALUES": _plain("map_values({0})"),
    "MAP_CONTAINS_KEY": _plain("map_contains({0}, {1})"),
}


def _piece(write: Callable[[Call], str]) -> Callable[[Call], Piece]:
    return lambda call: Piece(write(call))


NESTED_CALLS: Mapping[str, Callable[[Call], Piece]] = {name: _piece(w) for name, w in _WRITTEN.items()}
