"""Files as tasks read them: whatever types they have among those that a column may have, and wherever they lie."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.engine.kernel.chunks import check_file, check_times, files_sql, scan_sql
from thalweg.engine.kernel.connection import clean_message, run
from thalweg.engine.kernel.relations import relation_rows
from thalweg.errors import DataError
from thalweg.logical.stream import Stream
from thalweg.sql.statements import CreateStream, CreateTable, parse_statement

AT = datetime(2024, 12, 31, 10, tzinfo=UTC)


def stream(columns: str, format: str = "parquet", **options: str) -> Stream:
    given = "".join(f", {k} = '{v}'" for k, v in options.items())
    made = parse_statement(f"CREATE STREAM s ({columns}, at TIMESTAMP) WITH (format = '{format}', path = 'd', time = 'at'{given})")
    assert isinstance(made, CreateStream)
    return made.stream


def parquet(path: Path, values: pa.Array, zone: str | None = "UTC", name: str = "a") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({name: values, "at": pa.array([AT] * len(values), pa.timestamp("us", zone))}), path)
    return str(path)


def text(path: Path, content: str) -> str:
    path.write_text(content)
    return str(path)


def read(declared: Stream, *paths: str) -> list[tuple[Any, ...]]:
    names = ", ".join('"' + c.name.replace('"', '""') + '"' for c in declared.columns if c.name != "at")
    return run(f'SELECT {names}, "__time" FROM ({scan_sql(declared, files_sql(declared, paths))}) ORDER BY ALL')


MICROS = int(AT.timestamp() * 1e6)


@pytest.mark.parametrize(
    ("type_", "first", "second"),
    [
        ("DOUBLE", pa.array([2], pa.int32()), pa.array([1.75])),
        ("DOUBLE", pa.array([2], pa.float32()), pa.array([123456789.123])),
        ("DECIMAL(10,2)", pa.array([2], pa.decimal128(10, 0)), pa.array([Decimal("1.75")], pa.decimal128(10, 2))),
        ("BIGINT", pa.array([2], pa.int32()), pa.array([2**40], pa.int64())),
    ],
)
def test_types_of_one_file_are_not_those_of_another(tmp_path: Path, type_: str, first: pa.Array, second: pa.Array) -> None:
    declared = stream(f"a {type_}")
    paths = [parquet(tmp_path / "0.parquet", first), parquet(tmp_path / "1.parquet", second)]
    together = read(declared, *paths)
    assert together == sorted(row for path in paths for row in read(declared, path)) and len(together) == 2
    assert together == read(declared, *reversed(paths))


def test_times_with_and_without_a_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    paths = [parquet(tmp_path / f"{zone}.parquet", pa.array([1]), zone) for zone in ("UTC", None, "Asia/Tokyo")]
    assert {time for _, time in read(stream("a BIGINT"), *paths)} == {MICROS}


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_the_name_of_a_folder_is_no_column(tmp_path: Path, format: str) -> None:
    folder = tmp_path / "a=5"
    folder.mkdir()
    if format == "parquet":
        path = parquet(folder / "0.parquet", pa.array([1]))
    else:
        line = "a,at\n1,2024-12-31 10:00:00\n" if format == "csv" else '{"a": 1, "at": "2024-12-31 10:00:00"}\n'
        path = text(folder / f"0.{format}", line)
    assert read(stream("a BIGINT", format), path) == [(1, MICROS)]


def test_distance_from_utc_in_texts(tmp_path: Path) -> None:
    times = ("2024-12-31T12:00:00+02:00", "2024-12-31 10:00:00", "2024-12-31T10:00:00Z")
    lines = text(tmp_path / "0.csv", "\n".join(["a,at", *(f"1,{t}" for t in times)]))
    objects = text(tmp_path / "0.json", "\n".join(f'{{"a": 1, "at": "{t}"}}' for t in times))
    assert read(stream("a BIGINT", "csv"), lines) == read(stream("a BIGINT", "json"), objects) == [(1, MICROS)] * 3


def test_csv_files_with_other_columns_and_another_order(tmp_path: Path) -> None:
    one = text(tmp_path / "0.csv", "a,at\n1,2024-12-31 10:00:00\n")
    other = text(tmp_path / "1.csv", "more,at,a\nx,2024-12-31 10:00:00,2\n")
    assert [a for a, _ in read(stream("a BIGINT", "csv"), one, other)] == [1, 2]


def test_options_of_json(tmp_path: Path) -> None:
    path = tmp_path / "0.json"
    path.write_bytes(gzip.compress(b'{"a": 1, "at": "31/12/2024 10:00:00"}\n'))
    declared = stream("a BIGINT", "json", timestamp_format="%d/%m/%Y %H:%M:%S", compression="gzip")
    assert read(declared, str(path)) == [(1, MICROS)]


def test_json_of_another_schema_is_a_bad_file(tmp_path: Path) -> None:
    path = text(tmp_path / "0.json", '{"foo": 1}\n{"foo": 2}\n')
    for refuse in (lambda s: check_file(s, path), lambda s: check_times(s, [path])):
        with pytest.raises(DataError, match=r"0\.json: can't be read as stream s: no row of it has a value of at"):
            refuse(stream("a BIGINT", "json"))
    check_times(stream("a BIGINT", "json"), [text(tmp_path / "1.json", '{"foo": 1}\n{"at": "2024-12-31 10:00:00"}\n')])


def test_a_column_of_any_name(tmp_path: Path) -> None:
    path = parquet(tmp_path / "0.parquet", pa.array([7]), name='a"b')
    assert read(stream('`a"b` BIGINT'), path) == [(7, MICROS)]


def test_what_is_wrong_with_a_line(tmp_path: Path) -> None:
    declared = stream("a BIGINT", "csv")
    with pytest.raises(DataError) as caught:
        check_file(declared, text(tmp_path / "0.csv", "a,at\n1,2024-12-31 10:00:00\nx,2024-12-31 10:00:00\n"))
    assert "line 3" in caught.value.message and '"x"' in caught.value.message


def test_a_table_with_a_bad_file_is_named(tmp_path: Path) -> None:
    parquet(tmp_path / "0.parquet", pa.array([1]))
    text(tmp_path / "1.parquet", "no parquet")
    made = parse_statement(f"CREATE TABLE t (a BIGINT) WITH (format = 'parquet', path = '{tmp_path}')")
    assert isinstance(made, CreateTable)
    with pytest.raises(DataError, match="can't be read as table t"):
        relation_rows(made.relation, "SELECT * FROM scan")


def test_messages_lose_their_class() -> None:
    assert clean_message(ValueError("Binder Error: no such column\nmore")) == "no such column"
