"""The bad rows of a CSV file: the lines that DuckDB rejects, and exact numbers that are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

import duckdb
import pyarrow as pa

from thalweg.connectors.reading.naming import bad_file
from thalweg.connectors.reading.texts import LOOSE, csv_sql, dialect_of
from thalweg.engine.kernel.connection import query, run
from thalweg.engine.kernel.misfits import LENGTH, names, split, unfit
from thalweg.expr.quoting import quoted
from thalweg.model.stream import Column, Stream

STRUCTURE = "('MISSING COLUMNS', 'TOO MANY COLUMNS', 'UNQUOTED VALUE')"
VALUES = "('CAST', 'INVALID ENCODING')"


def csv_misfits(stream: Stream, path: str, columns: Sequence[Column], table: str) -> pa.Table:
    """Keep the good rows as a table; the bad ones in their order. An error where lines can't be told apart."""
    with _storing("rejected") as said, _storing("renamed") as again:
        numbers = split(
            f"(SELECT {names(columns)} FROM {csv_sql(stream, [path], said)})", unfit(columns), columns, table
        )
        _check_lines(stream, path)
        if run(f"SELECT count(*) FROM rejected WHERE error_type IN {VALUES}")[0][0]:
            # Where some columns are read, DuckDB takes the names of errors from others; where all are, it has them right.
            run(f"SELECT count(COLUMNS(*)) FROM {csv_sql(_loosened(stream, columns), [path], again)}")
        else:
            run("CREATE TEMP TABLE renamed AS FROM rejected LIMIT 0")
        found = query(_merged(_rejected(columns), numbers, dialect_of(stream).header))
    run("DROP TABLE numbered")
    return found


@contextmanager
def _storing(table: str) -> Iterator[str]:
    """Options that make DuckDB keep what it rejects in a table, for as long as this lasts."""
    tables = (table, f"{table}_scans")
    run("; ".join(f"DROP TABLE IF EXISTS {each}" for each in tables))
    try:
        yield f"{LOOSE}, store_rejects = true, rejects_table = '{table}', rejects_scan = '{table}_scans'"
    finally:
        with suppress(duckdb.Error):  # of a connection that is lost with them
            run("; ".join(f"DROP TABLE IF EXISTS {each}" for each in tables))


def _loosened(stream: Stream, columns: Sequence[Column]) -> Stream:
    """A stream in which what nobody reads is a text, which fits always."""
    return replace(
        stream, columns=tuple(c if c in columns else Column(c.name, "VARCHAR") for c in stream.columns)
    )


def _check_lines(stream: Stream, path: str) -> None:
    """Refuse a file in which what is no row goes over the end of a line: a quote that never ends may have swallowed others."""
    text = "trim(csv_line, chr(10) || chr(13))"
    over = f"error_type IN {STRUCTURE} AND (contains({text}, chr(10)) OR contains({text}, chr(13)))"
    for line, said in run(f"SELECT line, error_message FROM rejected WHERE {over} ORDER BY line LIMIT 1"):
        raise bad_file(
            stream, path, f"line {line}: lines can't be told apart ({said.rstrip('.')}; is a quote missing?)"
        )


def _rejected(columns: Sequence[Column]) -> str:
    """The SQL of rejected lines, each with the first thing that is wrong with it."""
    types = " ".join(f"WHEN {quoted(c.name)} THEN {quoted(f'is no {c.type}')}" for c in columns)
    read = ", ".join(quoted(c.name) for c in columns)
    value = """regexp_extract(error_message, 'Could not convert string "(.*)" to ', 1, 's')"""
    return f"""
        WITH lines AS (SELECT line, min_by(csv_line, column_idx) AS csv_line, bool_or(error_type NOT IN {VALUES}) AS is_none,
                min_by(error_message, column_idx) FILTER (error_type NOT IN {VALUES}) AS said FROM rejected GROUP BY line),
            named AS (SELECT line, column_name, error_type, nullif({value}, '') AS value
                FROM renamed WHERE error_type IN {VALUES} AND column_name IN ({read})
                QUALIFY row_number() OVER (PARTITION BY line ORDER BY column_idx) = 1)
        SELECT line, CASE WHEN NOT is_none THEN column_name END AS "column",
            left(CASE WHEN NOT is_none THEN coalesce(value, csv_line) ELSE csv_line END, {LENGTH}) AS "value",
            CASE WHEN is_none THEN 'is no row: ' || coalesce(said, 'it is too long')
                WHEN error_type = 'CAST' THEN CASE column_name {types} END
                ELSE 'is no text of the encoding' END AS reason
        FROM lines LEFT JOIN named USING (line)"""


def _merged(rejected: str, numbers: str, header: bool) -> str:
    """The SQL of all bad rows. A row that was taken comes after as many rejected ones as there are before it."""
    first = 1 + header
    return f"""
        WITH lines AS ({rejected}),
            gaps AS (SELECT line - {first} + 1 - n AS __row, max(n) AS n
                FROM (SELECT line, row_number() OVER (ORDER BY line) AS n FROM lines) GROUP BY ALL)
        SELECT place, "column", "value", reason FROM (
            SELECT line - {first} + 1 AS __row, 'line ' || line AS place, "column", "value", reason FROM lines
            UNION ALL SELECT u.__row + coalesce(g.n, 0), 'row ' || (u.__row + coalesce(g.n, 0)), u."column", u."value", u.reason
            FROM ({numbers}) u ASOF LEFT JOIN gaps g ON u.__row > g.__row)
        ORDER BY __row"""
