"""CREATE STREAM and CREATE TABLE: types, options, and what is wrong with them."""

import pytest
from sql_support import marked

from thalweg.errors import SqlError
from thalweg.model.stream import Stream
from thalweg.sql.statements import CreateStream, parse_statement

TYPES = [
    ("BOOLEAN", "BOOLEAN"),
    ("TINYINT", "TINYINT"),
    ("byte", "TINYINT"),
    ("SMALLINT", "SMALLINT"),
    ("SHORT", "SMALLINT"),
    ("INT", "INTEGER"),
    ("Integer", "INTEGER"),
    ("BIGINT", "BIGINT"),
    ("LONG", "BIGINT"),
    ("FLOAT", "FLOAT"),
    ("REAL", "FLOAT"),
    ("DOUBLE", "DOUBLE"),
    ("DECIMAL", "DECIMAL(10,0)"),
    ("DECIMAL(5)", "DECIMAL(5,0)"),
    ("decimal ( 38 , 18 )", "DECIMAL(38,18)"),
    ("NUMERIC(4,2)", "DECIMAL(4,2)"),
    ("STRING", "VARCHAR"),
    ("VARCHAR", "VARCHAR"),
    ("VARCHAR(20)", "VARCHAR"),
    ("DATE", "DATE"),
    ("TIMESTAMP", "TIMESTAMP"),
    ("TIMESTAMP_NTZ", "TIMESTAMP"),
]
OPTIONS = [
    ("watermark = '5 seconds'", "delay", 5_000_000),
    ("watermark = 5 SECONDS", "delay", 5_000_000),
    ("watermark = INTERVAL 5 SECONDS", "delay", 5_000_000),
    ("watermark = INTERVAL '5' SECONDS", "delay", 5_000_000),
    ("watermark = '0 seconds'", "delay", 0),
    ("WATERMARK = '1 minute 30 seconds'", "delay", 90_000_000),
    ("files_per_batch = 4", "files_per_batch", 4),
    ("files_per_batch = '4'", "files_per_batch", 4),
    ("bytes_per_batch = '64M'", "bytes_per_batch", "64m"),
    ("bytes_per_batch = 1048576", "bytes_per_batch", "1048576"),
    ("late_rows = 'late'", "late_rows", "late"),
    ("idle_timeout = '10 seconds'", "idle_timeout", 10_000_000),
    ("bad_rows = 'bad'", "bad_rows", "bad"),
    ("on_bad_file = 'skip'", "on_bad_file", "skip"),
    ("on_bad_file = STOP", "on_bad_file", "stop"),
    ("rate = 2000", "rate", 2000.0),
    ("rate = '0.5'", "rate", 0.5),
    ("rate = 1e3", "rate", 1000.0),
    ("distinct = 'V: 1000, at : 50'", "distinct", (("at", 50), ("v", 1000))),
    ("distinct = '`v`: 7'", "distinct", (("v", 7),)),
    (
        "header = TRUE, delimiter = ';', null_value = '\\\\N'",
        "options",
        (("delimiter", ";"), ("header", "true"), ("null_value", "\\N")),
    ),
]
HEAD = "CREATE STREAM s (v INT, at TIMESTAMP) WITH (format = 'csv', path = 'p', time = 'at'"
BAD = [
    (
        "CREATE STREAM s (v BINARY, at TIMESTAMP) WITH (time = 'at')",
        "type BINARY is not supported",
        "BINARY",
        "use BOOLEAN",
    ),
    (
        "CREATE STREAM s (v ARRAY<BLOB>, at TIMESTAMP) WITH (time = 'at')",
        "type BLOB is not supported",
        "BLOB",
        "use BOOLEAN",
    ),
    (
        "CREATE STREAM s (v DECIMAL(39,0)) WITH (time = 'at')",
        "type DECIMAL(39,0) is not supported",
        "DECIMAL(39,0)",
        "use BOOLEAN",
    ),
    (
        "CREATE STREAM s (v DECIMAL(3,4)) WITH (time = 'at')",
        "type DECIMAL(3,4) is not supported",
        "DECIMAL(3,4)",
        "use BOOLEAN",
    ),
    (
        "CREATE STREAM s (v INT, V BIGINT) WITH (time = 'at')",
        "column V is declared twice",
        "V",
        "names differ",
    ),
    (
        "CREATE STREAM s (window_end TIMESTAMP) WITH (time = 'at')",
        "column name window_end is reserved",
        "window_end",
        "rename",
    ),
    ("CREATE STREAM s (__x INT) WITH (time = 'at')", "column name __x is reserved", "__x", "rename"),
    ("CREATE STREAM s (v INT NOT NULL) WITH (time = 'at')", "expected , or ), not NOT", "NOT", None),
    ("CREATE STREAM s (v) WITH (time = 'at')", "expected a type, not )", ")", None),
    ("CREATE STREAM s () WITH (time = 'at')", "expected the name of a column, not )", ")", None),
    ("CREATE STREAM s (v INT)", "expected WITH and options, but the statement ends", "", None),
    ("CREATE STREAM s (v INT) WITH ()", "expected an option, not )", ")", None),
    ("CREATE STREAM `a b` (v INT) WITH ()", "'a b' can't be the name of a stream", "`a b`", "use letters"),
    (
        "CREATE STREAM s (at TIMESTAMP) WITH (path = 'p', time = 'at')",
        "stream s has no format",
        "s",
        "add format",
    ),
    (
        "CREATE STREAM s (at TIMESTAMP) WITH (format = 'csv', time = 'at')",
        "stream s has no path",
        "s",
        "add path",
    ),
    (
        "CREATE STREAM s (at TIMESTAMP) WITH (format = 'csv', path = 'p')",
        "stream s has no time",
        "s",
        "add time",
    ),
    (
        "CREATE STREAM s (at TIMESTAMP) WITH (format = 'csv', path = ' ', time = 'at')",
        "the value is empty",
        "' '",
        "write a path",
    ),
    (
        "CREATE STREAM s (at DATE) WITH (format='csv', time = 'at')",
        "the time column at is DATE, not TIMESTAMP",
        "'at'",
        "declare it as at TIMESTAMP",
    ),
    (
        "CREATE STREAM s (at TIMESTAMP) WITH (format='csv', time = 'att')",
        "unknown column att",
        "'att'",
        "did you mean at?",
    ),
    (
        "CREATE STREAM s (at TIMESTAMP) WITH (format='paruqet')",
        "'paruqet' is not one of parquet, csv, json, push",
        "'paruqet'",
        "did you mean parquet?",
    ),
    (
        HEAD + ", watermrak = '1 second')",
        "unknown option watermrak of a stream",
        "watermrak",
        "did you mean watermark?",
    ),
    (HEAD + ", zzz = 1)", "unknown option zzz of a stream", "zzz", "options are: format, path, time"),
    (
        HEAD + ", watermark = '5 secs', watermark = '6 secs')",
        "option watermark is given twice",
        "watermark",
        "keep one",
    ),
    (HEAD + ", watermark = '5')", "'5' is not a duration", "'5'", "write a number and a unit"),
    (
        HEAD + ", watermark = '-5 seconds')",
        "'-5 seconds' is negative",
        "'-5 seconds'",
        "write '0 seconds' or more",
    ),
    (HEAD + ", watermark = 1 MONTH)", "'1 MONTH' has no fixed length", "1 MONTH", "write it in days"),
    (
        HEAD + ", idle_timeout = '0 seconds')",
        "'0 seconds' is not above zero",
        "'0 seconds'",
        "write a duration",
    ),
    (HEAD + ", files_per_batch = 0)", "'0' is not a whole number above zero", "0", "write a number like 4"),
    (
        HEAD + ", files_per_batch = 1.5)",
        "'1.5' is not a whole number above zero",
        "1.5",
        "write a number like 4",
    ),
    (
        HEAD + ", rate = 0)",
        "'0' is not a number above zero",
        "0",
        "write rows per second of event time, like 2000",
    ),
    (HEAD + ", rate = '-5')", "'-5' is not a number above zero", "'-5'", "write rows per second"),
    (HEAD + ", rate = 'fast')", "'fast' is not a number above zero", "'fast'", "write rows per second"),
    (HEAD + ", rate = 'nan')", "'nan' is not a number above zero", "'nan'", "write rows per second"),
    (HEAD + ", rtae = 5)", "unknown option rtae of a stream", "rtae", "did you mean rate?"),
    (
        HEAD + ", distinct = 'v 1000')",
        "'v 1000' is not a column and a count",
        "'v 1000'",
        "write them like 'auction: 1000, channel: 4'",
    ),
    (HEAD + ", distinct = 'v: 5,')", "'' is not a column and a count", "'v: 5,'", "write them like"),
    (HEAD + ", distinct = 'w: 5, v: 1')", "unknown column w", "'w: 5, v: 1'", "columns are: v, at"),
    (
        HEAD + ", distinct = 'v: 1, V: 2')",
        "column v is counted twice",
        "'v: 1, V: 2'",
        "keep one of the counts",
    ),
    (
        HEAD + ", distinct = 'v: 0')",
        "'0' is not a whole number above zero",
        "'v: 0'",
        "write a number like 4",
    ),
    (
        HEAD + ", distinct = 'v: many')",
        "'many' is not a whole number above zero",
        "'v: many'",
        "write a number like 4",
    ),
    (
        "CREATE TABLE t (v INT) WITH (format='csv', path='p', rate=5)",
        "unknown option rate of a table",
        "rate",
        "options are",
    ),
    (
        "CREATE TABLE t (v INT) WITH (format='csv', path='p', rows=0)",
        "'0' is not a whole number above zero",
        "0",
        "write a number like 4",
    ),
    (
        HEAD + ", bytes_per_batch = 'lots')",
        "'lots' is not a number of bytes",
        "'lots'",
        "write a number and k",
    ),
    (
        HEAD + ", on_bad_file = 'ignore')",
        "'ignore' is not one of stop, skip",
        "'ignore'",
        "write one of: stop, skip",
    ),
    (HEAD + ", header = 'yes')", "'yes' is not one of true, false", "'yes'", "write one of: true, false"),
    (HEAD + ", header = true false)", "expected , or ), not false", "false", None),
    (HEAD + ", late_rows = 'a' 'b')", "expected , or ), not 'b'", "'b'", None),
    ("CREATE STREAM s (v DECIMAL(10,)) WITH (time = 'at')", "expected an expression, not )", ")", None),
    ("CREATE STREAM s (<=> INT) WITH (time = 'at')", "expected the name of a column, not <=>", "<=>", None),
    (HEAD + ", header)", "expected =, not )", ")", None),
    (HEAD + ", header = )", "expected a value, not )", ")", None),
    (
        "CREATE STREAM s (at TIMESTAMP) WITH (format='parquet', path='p', time='at', header=true)",
        "header is an option of csv, not of parquet",
        "header",
        "remove it",
    ),
    (
        "CREATE TABLE t (v INT) WITH (format='csv', path='p', time='at')",
        "unknown option time of a table",
        "time",
        "options are",
    ),
    ("CREATE TABLE t (v INT) WITH (format='csv')", "table t has no path", "t", "add path"),
    (
        "CREATE INDEX v AS SELECT 1",
        "expected STREAM or TABLE or QUERY or VIEW, not INDEX",
        "INDEX",
        "write one of",
    ),
    ("CREATE QUERY q SELECT 1", "expected INTO, WITH or AS, not SELECT", "SELECT", None),
    ("CREATE QUERY q INTO out AS SELECT 1", "expected the path to write to in quotes, not out", "out", None),
    (
        "CREATE QUERY q WITH (history = true) AS SELECT 1",
        "history can't be 'true': 'true' is not a duration",
        "true",
        "write",
    ),
    ("CREATE QUERY q AS SHOW PLAN", "expected SELECT, not SHOW", "SHOW", None),
    ("DROP q", "expected QUERY or STREAM or TABLE or VIEW or FUNCTION, not q", "q", "write one of"),
    (
        "SHOW QUERYS",
        "expected QUERIES or STREAMS or VIEWS or FUNCTIONS or PLAN or STATISTICS or CHANGES, not QUERYS",
        "QUERYS",
        "did you mean QUERIES?",
    ),
    ("SET a 1", "expected =, not 1", "1", None),
    ("SHOW PLAN NOW", "unexpected NOW", "NOW", None),
    ("INSERT INTO bid VALUES (1)", "unexpected INSERT", "INSERT", "statements begin with"),
    ("CRAETE STREAM s", "unexpected CRAETE", "CRAETE", "did you mean CREATE?"),
    ("SHOW PLAN; SELECT 'abc", "this string, name or comment does not end", "'", "close it"),
    ("SHOW PLAN /* never closed", "this string, name or comment does not end", "/", "close it"),
]


def stream(text: str) -> Stream:
    statement = parse_statement(text)
    assert isinstance(statement, CreateStream)
    return statement.stream


@pytest.mark.parametrize(("written", "name"), TYPES)
def test_type(written: str, name: str) -> None:
    assert (
        stream(
            f"CREATE STREAM s (v {written}, at TIMESTAMP) WITH (format = 'json', path = 'p', time = 'at')"
        ).types["v"]
        == name
    )


@pytest.mark.parametrize(("option", "field", "value"), OPTIONS)
def test_option(option: str, field: str, value: object) -> None:
    assert getattr(stream(f"{HEAD}, {option})"), field) == value


def test_quoted_names() -> None:
    made = stream(
        "CREATE STREAM `s` (`from` INT, `a b` INT, at TIMESTAMP) WITH (format = 'json', path = 'p', time = 'at')"
    )
    assert [c.name for c in made.columns] == ["from", "a b", "at"]


@pytest.mark.parametrize(("text", "message", "mark", "hint"), BAD)
def test_bad(text: str, message: str, mark: str, hint: str | None) -> None:
    with pytest.raises(SqlError) as caught:
        parse_statement(text)
    assert caught.value.message == message
    assert marked(caught.value) == mark
    assert caught.value.hint and caught.value.hint.startswith(hint or "")
