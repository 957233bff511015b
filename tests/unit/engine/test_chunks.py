"""Files as tasks read them: whatever types they have among those that a column may have, and wherever they lie."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.connectors.reading.footers import check_footers
from thalweg.engine.kernel.chunks import check_times, files_sql, scan_sql
from thalweg.engine.kernel.connection import Reach, clean_message, permit, run
from thalweg.engine.kernel.judging import check_file
from thalweg.engine.kernel.relations import relation_rows
from thalweg.errors import DataError
from thalweg.model.stream import Stream
from thalweg.sql.statements import CreateStream, CreateTable, parse_statement


@pytest.fixture(autouse=True)
def _files_of_the_test(tmp_path: Path) -> None:
    permit(Reach((str(tmp_path),)))


AT = datetime(2024, 12, 31, 10, tzinfo=UTC)


def stream(columns: str, format: str = "parquet", **options: str) -> Stream:
    given = "".join(f", {k} = '{v}'" for k, v in options.items())
    made = parse_statement(
        f"CREATE STREAM s ({columns}, at TIMESTAMP) WITH (format = '{format}', path = 'd', time = 'at'{given})"
    )
    assert isinstance(made, CreateStream)
    return made.stream


def parquet(path: Path, values: pa.Array, zone: str | None = "UTC", name: str = "a") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.table({name: values, "at": pa.array([AT] * len(values), pa.timestamp("us", zone))}), path
    )
    return str(path)


def text(path: Path, content: str) -> str:
    path.write_text(content)
    return str(path)


def read(declared: Stream, *paths: str) -> list[tuple[Any, ...]]:
    names = ", ".join('"' + c.name.replace('"', '""') + '"' for c in declared.columns if c.name != "at")
    return run(
        f'SELECT {names}, "__time" FROM ({scan_sql(declared, files_sql(declared, paths))}) ORDER BY ALL'
    )


MICROS = int(AT.timestamp() * 1e6)


@pytest.mark.parametrize(
    ("type_", "first", "second"),
    [
        ("DOUBLE", pa.array([2], pa.int32()), pa.array([1.75])),
        ("DOUBLE", pa.array([2], pa.float32()), pa.array([123456789.123])),
        (
            "DECIMAL(10,2)",
            pa.array([2], pa.decimal128(10, 0)),
            pa.array([Decimal("1.75")], pa.decimal128(10, 2)),
        ),
        ("BIGINT", pa.array([2], pa.int32()), pa.array([2**40], pa.int64())),
    ],
)
def test_types_of_one_file_are_not_those_of_another(
    tmp_path: Path, type_: str, first: pa.Array, second: pa.Array
) -> None:
    declared = stream(f"a {type_}")
    paths = [parquet(tmp_path / "0.parquet", first), parquet(tmp_path / "1.parquet", second)]
    together = read(declared, *paths)
    assert together == sorted(row for path in paths for row in read(declared, path)) and len(together) == 2
    assert together == read(declared, *reversed(paths))


def test_times_with_and_without_a_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    paths = [
        parquet(tmp_path / f"{zone}.parquet", pa.array([1]), zone) for zone in ("UTC", None, "Asia/Tokyo")
    ]
    assert {time for _, time in read(stream("a BIGINT"), *paths)} == {MICROS}


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_the_name_of_a_folder_is_no_column(tmp_path: Path, format: str) -> None:
    folder = tmp_path / "a=5"
    folder.mkdir()
    if format == "parquet":
        path = parquet(folder / "0.parquet", pa.array([1]))
    else:
        line = (
            "a,at\n1,2024-12-31 10:00:00\n" if format == "csv" else '{"a": 1, "at": "2024-12-31 10:00:00"}\n'
        )
        path = text(folder / f"0.{format}", line)
    assert read(stream("a BIGINT", format), path) == [(1, MICROS)]


def test_distance_from_utc_in_texts(tmp_path: Path) -> None:
    times = ("2024-12-31T12:00:00+02:00", "2024-12-31 10:00:00", "2024-12-31T10:00:00Z")
    lines = text(tmp_path / "0.csv", "\n".join(["a,at", *(f"1,{t}" for t in times)]))
    objects = text(tmp_path / "0.json", "\n".join(f'{{"a": 1, "at": "{t}"}}' for t in times))
    assert (
        read(stream("a BIGINT", "csv"), lines)
        == read(stream("a BIGINT", "json"), objects)
        == [(1, MICROS)] * 3
    )


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
        with pytest.raises(
            DataError, match=r"0\.json: can't be read as stream s: no row of it has a value of at"
        ):
            refuse(stream("a BIGINT", "json"))
    check_times(
        stream("a BIGINT", "json"), [text(tmp_path / "1.json", '{"foo": 1}\n{"at": "2024-12-31 10:00:00"}\n')]
    )


def test_a_column_of_any_name(tmp_path: Path) -> None:
    path = parquet(tmp_path / "0.parquet", pa.array([7]), name='a"b')
    assert read(stream('`a"b` BIGINT'), path) == [(7, MICROS)]


def test_what_is_wrong_with_a_line(tmp_path: Path) -> None:
    declared = stream("a BIGINT", "csv")
    with pytest.raises(DataError) as caught:
        check_file(declared, text(tmp_path / "0.csv", "a,at\n1,2024-12-31 10:00:00\nx,2024-12-31 10:00:00\n"))
    assert "row 2: x in column a is no BIGINT" in caught.value.message


def test_a_table_with_a_bad_file_is_named(tmp_path: Path) -> None:
    parquet(tmp_path / "0.parquet", pa.array([1]))
    text(tmp_path / "1.parquet", "no parquet")
    made = parse_statement(f"CREATE TABLE t (a BIGINT) WITH (format = 'parquet', path = '{tmp_path}')")
    assert isinstance(made, CreateTable)
    with pytest.raises(DataError, match="can't be read as table t"):
        relation_rows(made.relation, "SELECT * FROM scan")


def csv(tmp_path: Path, lines: str, name: str = "0.csv") -> str:
    return text(
        tmp_path / name, "t,v,at\n" + "".join(f"{line},2024-12-31 10:00:00\n" for line in lines.splitlines())
    )


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        ("# a note,1\n#2,2\nx,3", ["# a note", "#2", "x"]),
        ("'a',1\n\"b\",2", ["'a'", "b"]),
        ("", None),
        ('a"b,1', ['a"b']),
        ("a;b,1\nc\td,2\ne|f,3", ["a;b", "c\td", "e|f"]),
    ],
)
def test_csv_is_what_it_is_declared_to_be(tmp_path: Path, lines: str, values: list[str] | None) -> None:
    declared = stream("t STRING, v BIGINT", "csv")
    if values is None:
        path = text(
            tmp_path / "0.csv",
            "t,v,at\n" + "x,1,2024-12-31 10:00:00\n" * 30_000 + '"x,""y\n",2,2024-12-31 10:00:00\n',
        )
        found = run(
            f"SELECT t, count(*) FROM ({scan_sql(declared, files_sql(declared, [path]))}) GROUP BY t ORDER BY t"
        )
        assert found == [("x", 30_000), ('x,"y\n', 1)]
    else:
        assert [row[0] for row in read(declared, csv(tmp_path, lines))] == values


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_ends_of_lines(tmp_path: Path, ends: str) -> None:
    path = tmp_path / "0.csv"
    path.write_bytes(ends.join(["at,a", "2024-12-31 10:00:00,1", "2024-12-31 10:00:00,2", ""]).encode())
    other = text(tmp_path / "1.csv", "a,at\n3,2024-12-31 10:00:00\n")
    assert [row[0] for row in read(stream("a BIGINT", "csv"), str(path), other)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "content"),
    [
        ({"delimiter": ";"}, b"t;v;at\nx,y;1;2024-12-31 10:00:00\n"),
        ({"delimiter": "\\\\t"}, b"t\tv\tat\nx,y\t1\t2024-12-31 10:00:00\n"),
        ({"delimiter": "||"}, b"t||v||at\nx,y||1||2024-12-31 10:00:00\n"),
        ({"quote": "''"}, b"t,v,at\n'x,y',1,2024-12-31 10:00:00\n"),
        ({"escape": "\\\\"}, b't,v,at\n"x,y",1,2024-12-31 10:00:00\n'),
        ({"comment": "#"}, b'# who wrote this\nt,v,at\n# and why\n"x,y",1,2024-12-31 10:00:00\n'),
        ({"header": "false"}, b'"x,y",1,2024-12-31 10:00:00\n'),
        ({"encoding": "utf-16"}, 't,v,at\n"x,y",1,2024-12-31 10:00:00\n'.encode("utf-16")),
        ({"encoding": "latin-1"}, b't,v,at,\xe9t\xe9\n"x,y",1,2024-12-31 10:00:00,\xe9\n'),
        ({"compression": "gzip"}, gzip.compress(b't,v,at\n"x,y",1,2024-12-31 10:00:00\n')),
        ({}, b'\xef\xbb\xbfT, V ,"at"\n"x,y",1,2024-12-31 10:00:00\n'),
    ],
)
def test_options_of_csv(tmp_path: Path, options: dict[str, str], content: bytes) -> None:
    path = tmp_path / "0.csv"
    path.write_bytes(content)
    assert read(stream("t STRING, v BIGINT", "csv", **options), str(path)) == [("x,y", 1, MICROS)]


EXACT = [
    ("BIGINT", "1.5"),
    ("BIGINT", "-0.5"),
    ("BIGINT", "15e-1"),
    ("BIGINT", "1e-12"),
    ("DECIMAL(10,2)", "1e-3"),
    ("BIGINT", "9223372036854775808"),
    ("TINYINT", "300"),
    ("DECIMAL(10,2)", "1.555"),
    ("DECIMAL(10,2)", "-1.001"),
    ("DECIMAL(4,2)", "100"),
]


@pytest.mark.parametrize(("type_", "value"), EXACT)
@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_value_that_does_not_fit_is_none(tmp_path: Path, type_: str, value: str, format: str) -> None:
    lines = ["1", value, "2"]
    if format == "csv":
        path = text(tmp_path / "0.csv", "a,at\n" + "".join(f"{v},2024-12-31 10:00:00\n" for v in lines))
    else:
        path = text(
            tmp_path / "0.json", "".join(f'{{"a": {v}, "at": "2024-12-31 10:00:00"}}\n' for v in lines)
        )
    declared = stream(f"a {type_}", format)
    with pytest.raises(duckdb.Error):
        read(declared, path)
    with pytest.raises(
        DataError, match=rf"0\.{format}: can't be read as stream s: .*(row 2|line [23])"
    ) as caught:
        check_file(declared, path)
    assert "column" in caught.value.message and caught.value.hint is not None


@pytest.mark.parametrize(
    ("type_", "value", "meant"),
    [
        ("BIGINT", "1.0", 1),
        ("BIGINT", "-7", -7),
        ("BIGINT", "-7.00", -7),
        ("BIGINT", "1e3", 1000),
        ("BIGINT", "1.5e3", 1500),
        ("BIGINT", "1500e-2", 15),
        ("BIGINT", "0e-400", 0),
        ("DECIMAL(10,2)", "1500e-4", Decimal("0.15")),
        ("BIGINT", "-9223372036854775808", -(2**63)),
        ("DECIMAL(10,2)", "1.5", Decimal("1.50")),
        ("DECIMAL(10,2)", "-1.5000", Decimal("-1.50")),
        ("DECIMAL(38,20)", "0.12345678901234567891", Decimal("0.12345678901234567891")),
    ],
)
def test_a_value_that_fits_is_taken(tmp_path: Path, type_: str, value: str, meant: Any) -> None:
    path = text(tmp_path / "0.csv", f"a,at\n{value},2024-12-31 10:00:00\n,2024-12-31 10:00:00\n")
    assert [row[0] for row in read(stream(f"a {type_}", "csv"), path)] == [meant, None]
    quoted = text(tmp_path / "0.json", f'{{"a": "{value}", "at": "2024-12-31 10:00:00"}}\n')
    assert [row[0] for row in read(stream(f"a {type_}", "json"), quoted)] == [meant]


@pytest.mark.parametrize("value", ["true", "[1]", '{"b": 1}', '"x"'])
def test_other_kinds_of_json_are_no_numbers(tmp_path: Path, value: str) -> None:
    path = text(tmp_path / "0.json", f'{{"a": {value}, "at": "2024-12-31 10:00:00"}}\n')
    with pytest.raises(DataError, match=r"column a"):
        check_file(stream("a BIGINT", "json"), path)


@pytest.mark.parametrize("value", ["1.000000000000000000001", "1.00000000000000000001e3", "-1E-400"])
def test_digits_far_behind_the_point_count(tmp_path: Path, value: str) -> None:
    path = text(tmp_path / "0.csv", f"a,at\n{value},2024-12-31 10:00:00\n")
    with pytest.raises(DataError, match=rf"row 1: {value} in column a is no BIGINT"):
        check_file(stream("a BIGINT", "csv"), path)


def test_a_column_that_a_csv_file_lacks_is_named(tmp_path: Path) -> None:
    declared = stream("a BIGINT, b BIGINT", "csv")
    whole = text(tmp_path / "0.csv", "a,b,at\n1,2,2024-12-31 10:00:00\n")
    for content, why in (
        ("a,at\n1,2024-12-31 10:00:00\n", "no"),
        ("a,b,B,at\n1,2,3,2024-12-31 10:00:00\n", "more than one"),
    ):
        path = text(tmp_path / "1.csv", content)
        with pytest.raises(DataError, match=rf"1\.csv: can't be read as stream s: it has {why} column b"):
            read(declared, whole, path)


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
@pytest.mark.parametrize("header", ["true", "false"])
def test_a_file_without_a_byte_is_bad(tmp_path: Path, format: str, header: str) -> None:
    path = text(tmp_path / f"0.{format}", "")
    with pytest.raises(DataError, match=rf"0\.{format}: can't be read as stream s: it is empty"):
        check_file(stream("a BIGINT", format, **({"header": header} if format == "csv" else {})), path)


ODD = [
    "part[1]",
    "a*b",
    "q?r",
    "x{a,b}y",
    "back\\slash",
    "[!a]",
    "[",
    "\\",
    "\\[a]",
    "**",
    "c[]d",
    "e]f",
    "it's",
    "per%20cent",
    "line\nline",
    "ä ö",
    "file:x",
    "2024-01-01T10:00:00",
    "~",
]
LURES = ["part1", "axb", "qzr", "xay", "backslash", "b", "z", "plain"]


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_every_path_is_that_file_and_no_other(tmp_path: Path, format: str) -> None:
    """Names with the characters of patterns, in one batch with those that the patterns would match, also as names of folders."""
    paths = []
    for number, name in enumerate([*ODD, *LURES]):
        for path in (tmp_path / f"{name}.{format}", tmp_path / f"in {name}" / f"{name}.{format}"):
            path.parent.mkdir(exist_ok=True)
            if format == "parquet":
                parquet(path, pa.array([number]))
            else:
                line = (
                    f"a,at\n{number},2024-12-31 10:00:00\n"
                    if format == "csv"
                    else f'{{"a": {number}, "at": "2024-12-31 10:00:00"}}\n'
                )
                text(path, line)
            paths.append(str(path))
    declared, count = stream("a BIGINT", format), len(ODD) + len(LURES)
    assert [a for a, _ in read(declared, *paths)] == sorted([*range(count), *range(count)])
    for number, one in enumerate(paths[::2]):
        assert read(declared, one) == [(number, MICROS)]
        check_file(declared, one)


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("old", [False, True])
def test_nanoseconds_stay_on_their_side_of_an_edge(tmp_path: Path, zone: str | None, old: bool) -> None:
    nanos = [1_999_999_999, 2_000_000_000, -1, -1_000, -1_001, 999, 0]
    table = pa.table({"a": range(len(nanos)), "at": pa.array(nanos, pa.timestamp("ns", zone))})
    pq.write_table(table, tmp_path / "0.parquet", use_deprecated_int96_timestamps=old)
    micros = parquet(tmp_path / "1.parquet", pa.array([99]))
    for paths in ([str(tmp_path / "0.parquet")], [str(tmp_path / "0.parquet"), micros]):
        found = [time for a, time in read(stream("a BIGINT"), *paths) if a != 99]
        assert found == [n // 1000 for n in nanos]


def test_a_decimal_of_more_digits_is_refused(tmp_path: Path) -> None:
    path = parquet(tmp_path / "0.parquet", pa.array([Decimal("1.555")], pa.decimal128(10, 3)))
    declared = stream("a DECIMAL(10,2)")
    for refuse in (lambda: check_file(declared, path), lambda: check_footers(declared, [path])):
        with pytest.raises(
            DataError, match=r"0\.parquet.*column a is decimal128\(10, 3\), declared as DECIMAL\(10,2\)"
        ):
            refuse()
    table = parse_statement(f"CREATE TABLE t (a DECIMAL(10,2)) WITH (format = 'parquet', path = '{path}')")
    assert isinstance(table, CreateTable)
    with pytest.raises(DataError, match=r"column a is decimal128\(10, 3\)"):
        relation_rows(table.relation, "SELECT * FROM scan")


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_table_of_texts_rounds_nothing(tmp_path: Path, format: str) -> None:
    line = "a\n1.5\n" if format == "csv" else '{"a": 1.5}\n'
    table = parse_statement(
        f"CREATE TABLE t (a BIGINT) WITH (format = '{format}', path = '{text(tmp_path / f'0.{format}', line)}')"
    )
    assert isinstance(table, CreateTable)
    with pytest.raises(DataError, match=r"1\.5 in column a is no BIGINT"):
        relation_rows(table.relation, "SELECT * FROM scan")


def test_messages_lose_their_class() -> None:
    assert clean_message(ValueError("Binder Error: no such column\nmore")) == "no such column"
