"""Typed rows of scripts, and micro-batches as files."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.errors import DataError
from thalweg.model.stream import Column, Stream
from thalweg.testing.feeds import batch_table, stream_sql, stream_tables, table_lines, write_batches
from thalweg.testing.script import parse_stream_script

TYPES = {
    "k": "VARCHAR",
    "n": "INTEGER",
    "price": "DECIMAL(10,2)",
    "d": "DOUBLE",
    "flag": "BOOLEAN",
    "day": "DATE",
    "at": "TIMESTAMP",
}
STREAM = Stream("s", tuple(Column(n, t) for n, t in TYPES.items()), "at", 2_000_000)
ROWS = """--- batch s
a, 1, 2.5, nan, true, 2026-01-02, 2026-01-02 03:04:05.000006
NULL, NULL, NULL, NULL, NULL, NULL, 00:00:07
--- batch s
"""


def test_rows_are_typed_by_the_stream() -> None:
    first, second = stream_tables(parse_stream_script(ROWS), STREAM)
    assert [str(t) for t in first.schema.types] == [
        "string",
        "int32",
        "decimal128(10, 2)",
        "double",
        "bool",
        "date32[day]",
        "timestamp[us]",
    ]
    row = first.to_pylist()[0]
    assert (row["k"], row["n"], row["price"], row["flag"], row["day"]) == (
        "a",
        1,
        Decimal("2.50"),
        True,
        date(2026, 1, 2),
    )
    assert first.column("at").to_pylist() == [datetime(2026, 1, 2, 3, 4, 5, 6), datetime(1970, 1, 1, 0, 0, 7)]
    assert second.num_rows == 0 and second.schema == first.schema


def test_tables_survive_writing_and_reading() -> None:
    first = stream_tables(parse_stream_script(ROWS), STREAM)[0]
    again = stream_tables(parse_stream_script("\n".join(["--- batch s", *table_lines(first)])), STREAM)[0]
    assert table_lines(again) == table_lines(first)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a, 1", "x:2: 2 fields, but stream s has 7"),
        ("a, one, 2.5, 1, true, 2026-01-02, 00:00:01", "x:2: 'one' is no INTEGER for n"),
        ("a, 1, 2.5, 1, true, 2026-01-02, soon", "x:2: 'soon' is no TIMESTAMP for at"),
    ],
)
def test_mistakes_are_named_with_their_place(line: str, message: str) -> None:
    script = parse_stream_script(f"--- batch s\n{line}", "x")
    with pytest.raises(DataError, match=message):
        batch_table(script.batches("s")[0], STREAM, "x")


def test_statement() -> None:
    text = stream_sql(Stream("s", (Column("k", "VARCHAR"), Column("it's", "TIMESTAMP")), "it's", 2_000_000))
    assert (
        text
        == r"CREATE STREAM s (`k` STRING, `it's` TIMESTAMP) WITH (time = 'it\'s', watermark = '2 seconds');"
    )


def test_files_stand_in_order_of_modification(tmp_path: Path) -> None:
    batches = [pa.table({"k": [i]}) for i in range(3)]
    first = write_batches(tmp_path / "in", STREAM, batches[:2])
    later = write_batches(tmp_path / "in", STREAM, [*batches[2:], batches[0].slice(0, 0)])
    times = [p.stat().st_mtime for p in first + later]
    assert times == sorted(set(times)) and len(times) == 4
    assert sorted((tmp_path / "in").iterdir()) == first + later
    assert [pq.read_table(p).column("k").to_pylist() for p in first + later] == [[0], [1], [2], []]
