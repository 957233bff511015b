"""Rows as clients take them: JSON, CSV, Arrow."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from pydantic import TypeAdapter

Encoded = tuple[str, bytes]


def json_of(kind: Any, value: Any) -> bytes:
    """Values of a shape as JSON.

    >>> json_of(list[int], [1, 2])
    b'[1,2]'
    """
    return _adapter(kind).dump_json(value)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def plain_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows of values as JSON has them: times and decimals as text, what is no finite number as `NaN`, `Infinity`, `-Infinity`.

    >>> plain_rows(pa.table({"at": pa.array([1_000_000], pa.timestamp("us", "UTC")), "v": [float("inf")]}))
    [('1970-01-01T00:00:01.000000Z', 'Infinity')]
    """
    return list(zip(*map(_plain, table.combine_chunks().columns), strict=True)) if table.num_columns else []


def _plain(column: pa.ChunkedArray) -> list[Any]:
    if _holds_nested(column.type):
        return [_plain_value(v, column.type) for v in column.to_pylist()]
    if pa.types.is_list(column.type):
        return [_plain(pa.chunked_array([v.values])) if v.is_valid else None for v in column]
    values: list[Any] = _as_text(pa.chunked_array(column.chunks, column.type)).to_pylist()
    if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column.drop_null())).as_py():
        return [v if v is None or isfinite(v) else _NAMES.get(str(v), "NaN") for v in values]
    return values


def _holds_nested(kind: pa.DataType) -> bool:
    """Whether values are maps, or hold others that hold others."""
    if pa.types.is_list(kind):
        return bool(pa.types.is_nested(kind.value_type))
    return bool(pa.types.is_map(kind)) or (
        bool(pa.types.is_struct(kind)) and any(pa.types.is_nested(f.type) for f in kind)
    )


def _plain_value(value: Any, kind: pa.DataType) -> Any:
    """One value with others in it, as JSON has it; a map is an object."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {str(k): _plain_value(v, kind.item_type) for k, v in value}
    if pa.types.is_struct(kind):
        return {f.name: _plain_value(value[f.name], f.type) for f in kind}
    if pa.types.is_list(kind):
        return [_plain_value(v, kind.value_type) for v in value]
    return _plain(pa.chunked_array([pa.array([value], kind)]))[0]


_NAMES = {"inf": "Infinity", "-inf": "-Infinity"}


def _as_text(column: pa.ChunkedArray | pa.Array) -> Any:
    """A column whose values JSON can have."""
    kind = column.type
    if pa.types.is_struct(kind):
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
        parts = [_as_text(pc.struct_field(whole, i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, names=[f.name for f in kind], mask=whole.is_null())
    if pa.types.is_timestamp(kind):
        return _instants(column)
    if pa.types.is_decimal(kind) or pa.types.is_temporal(kind) or pa.types.is_binary(kind):
        return column.cast(pa.string())
    return column


def _instants(column: pa.ChunkedArray | pa.Array) -> Any:
    """Times as ISO texts. Arrow looks for the zone of each value, which takes twenty times as long, and UTC is where they are anyway."""
    is_utc = column.type.tz == "UTC"
    plain = column.cast(pa.timestamp(column.type.unit)) if is_utc else column
    texts = pc.replace_substring(plain.cast(pa.string()), " ", "T")
    return pc.binary_join_element_wise(texts, "Z", "") if is_utc else texts


def columns_data(columns: Mapping[str, str]) -> list[dict[str, str]]:
    """Names and types of columns."""
    return [{"name": name, "type": kind} for name, kind in columns.items()]


def flat(table: pa.Table) -> pa.Table:
    """Rows as CSV can have them: the fields of a window as columns, lists and what holds others as JSON."""
    plain = table if any(map(_holds_nested, table.schema.types)) else table.flatten()
    for number, field in enumerate(plain.schema):
        if pa.types.is_nested(field.type):
            texts = [None if v is None else json.dumps(v) for v in _plain(plain.column(number))]
            plain = plain.set_column(number, field.name, pa.array(texts, pa.string()))
    return plain


def as_csv(table: pa.Table) -> Encoded:
    """Comma-separated values under a header; a window is two columns, a list its JSON."""
    made = io.BytesIO()
    pyarrow.csv.write_csv(flat(table), made)
    return "text/csv; charset=utf-8", made.getvalue()


def as_arrow(table: pa.Table) -> Encoded:
    """An Arrow IPC stream."""
    made = pa.BufferOutputStream()
    with pa.ipc.new_stream(made, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return "application/vnd.apache.arrow.stream", made.getvalue().to_pybytes()


FILES: Mapping[str, Callable[[pa.Table], Encoded]] = {"csv": as_csv, "arrow": as_arrow}
