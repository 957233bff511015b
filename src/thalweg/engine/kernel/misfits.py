"""The bad rows of a file, told from the good ones in one pass: values that are there and fit no column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from thalweg.connectors.reading.fitting import is_exact, misfit
from thalweg.connectors.reading.footers import parquet_value
from thalweg.connectors.reading.naming import bad_file
from thalweg.connectors.reading.nested_values import (
    is_apart,
    json_misfit,
    part_of_json,
    root_of,
    roots,
)
from thalweg.connectors.reading.texts import LOOSE, json_lines_sql, json_sql, raw_json_sql
from thalweg.engine.kernel.chunks import files_sql
from thalweg.engine.kernel.connection import query, run
from thalweg.expr.nested import is_nested, spark_type
from thalweg.expr.quoting import identifier, quoted
from thalweg.model.stream import Column, Stream

LENGTH = 200
"""Characters of a value that are kept."""


@dataclass(frozen=True)
class Fault:
    """What may be wrong with a row: the SQL of whether it is, the column, and the SQL of the value."""

    when: str
    column: str | None
    value: str
    why: str


def json_misfits(stream: Stream, path: str, columns: Sequence[Column], table: str) -> pa.Table:
    """Lines that are no objects, and values that are there but that DuckDB leaves out where it is told to."""
    held = roots(columns, stream.columns)
    raw = ", ".join(f"{identifier(c.name)} AS __raw_{i}" for i, c in enumerate(held))
    plain = [c for c in columns if not is_apart(c)]
    rows = f"""(SELECT {names(held)} FROM {json_sql(stream, [path], LOOSE)})
        POSITIONAL JOIN (SELECT {raw} FROM {raw_json_sql(stream, path)})
        POSITIONAL JOIN (SELECT json AS __line FROM {json_lines_sql(stream, path)})"""
    faults = [
        Fault("__line IS NULL", None, "NULL", "it is no JSON"),
        Fault("json_type(__line) <> 'OBJECT'", None, "__line::VARCHAR", "is no JSON object"),
        *(_doubled(c) for c in held),
        *unfit(plain),
        *(
            _lost(i, c, f"json_type(__raw_{i}) <> 'NULL' AND {identifier(c.name)} IS NULL")
            for i, c in enumerate(held)
            if not is_apart(c)
        ),
        *_unfit_within(stream, columns, held),
    ]
    bad = split(rows, faults, held, table)
    if not run("SELECT count(*) FROM numbered WHERE json_type(__line) = 'OBJECT'")[0][0]:
        raise bad_file(stream, path, "no line of it is a JSON object")
    return _numbered(bad)


def _unfit_within(stream: Stream, columns: Sequence[Column], held: Sequence[Column]) -> Iterator[Fault]:
    """Nested values of another form than is declared, and what is within them, as far as it is read, that fits no type."""
    format_ = dict(stream.options).get("timestamp_format")
    for number, column in enumerate(held):
        if is_nested(column.type):
            when = json_misfit(f"__raw_{number}", column.type, format_, only_form=True)
            yield Fault(
                f"({when})", column.name, f"__raw_{number}::VARCHAR", f"is no {spark_type(column.type)}"
            )
    for column in filter(is_apart, columns):
        number = next(n for n, c in enumerate(held) if c.name == root_of(column))
        value = part_of_json(f"__raw_{number}", *column.path[1:])
        when = json_misfit(value, column.type, format_)
        shown = f"json_extract_string({value}, '$')"
        yield Fault(f"({when})", column.name, shown, f"is no {spark_type(column.type)}")


def _doubled(column: Column) -> Fault:
    times = f"len(list_filter(json_keys(__line), lambda __key: __key = {quoted(column.name)}))"
    return Fault(f"({times} > 1)", column.name, "__line::VARCHAR", "has the key more than once")


def parquet_misfits(stream: Stream, path: str, columns: Sequence[Column], table: str) -> pa.Table:
    """Numbers of more digits than the declared type has."""
    held = roots(columns, stream.columns)
    values = [
        f"{identifier(c.name)} AS __raw_{i}, {parquet_value(c, 'TRY_CAST')} AS {identifier(c.name)}"
        for i, c in enumerate(held)
    ]
    faults = [_lost(i, c, f"{identifier(c.name)} IS NULL") for i, c in enumerate(held)]
    return _numbered(
        split(f"(SELECT {', '.join(values)} FROM {files_sql(stream, [path])})", faults, held, table)
    )


def _lost(number: int, column: Column, when: str) -> Fault:
    raw = f"__raw_{number}"
    return Fault(f"({raw} IS NOT NULL AND {when})", column.name, f"{raw}::VARCHAR", f"is no {column.type}")


def unfit(columns: Sequence[Column]) -> list[Fault]:
    """Exact numbers that come as texts and are none."""
    exact = [c for c in columns if is_exact(c.type)]
    return [
        Fault(f"({misfit(c.name, c.type)})", c.name, identifier(c.name), f"is no {c.type}") for c in exact
    ]


def split(rows: str, faults: Sequence[Fault], columns: Sequence[Column], table: str) -> str:
    """Keep the good rows as a table; returns the SQL of the bad ones, by their number."""
    is_bad = " OR ".join(f"coalesce({f.when}, false)" for f in faults) or "false"
    run(
        f"CREATE OR REPLACE TEMP TABLE numbered AS SELECT row_number() OVER () AS __row, {is_bad} AS __bad, * FROM {rows}"
    )
    run(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {names(columns)} FROM numbered WHERE NOT __bad")
    return f"""
        SELECT __row, {_first(faults, [quoted(f.column) if f.column else "NULL" for f in faults])} AS "column",
            left({_first(faults, [f.value for f in faults])}, {LENGTH}) AS "value",
            {_first(faults, [quoted(f.why) for f in faults])} AS reason
        FROM numbered WHERE __bad"""


def _first(faults: Sequence[Fault], values: Sequence[str]) -> str:
    """The SQL of what is said of the first fault that a row has."""
    cases = " ".join(f"WHEN {f.when} THEN {value}" for f, value in zip(faults, values, strict=True))
    return f"(CASE {cases} END)::VARCHAR" if cases else "NULL::VARCHAR"


def _numbered(bad: str) -> pa.Table:
    found = query(f'SELECT \'row \' || __row AS place, "column", "value", reason FROM ({bad}) ORDER BY __row')
    run("DROP TABLE numbered")
    return found


def names(columns: Sequence[Column]) -> str:
    """The SQL of columns as they are."""
    return ", ".join(identifier(c.name) for c in columns)
