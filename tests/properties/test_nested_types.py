"""Columns that are structs, arrays and maps: rows of JSON lines and Parquet give what DuckDB gives for the fields, in any split into
batches; what fits no type is set aside."""

# ruff: noqa: E501

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from thalweg.testing.comparison import compare
from thalweg.testing.local import LocalSession

ITEM = pa.struct([("sku", pa.string()), ("n", pa.int32())])
BUYER = pa.struct([("id", pa.int64()), ("home", pa.struct([("city", pa.string()), ("x", pa.float64())]))])
SCHEMA = pa.schema(
    [
        ("event", pa.int32()),
        ("buyer", BUYER),
        ("items", pa.list_(ITEM)),
        ("tags", pa.list_(pa.string())),
        ("extra", pa.map_(pa.string(), pa.int64())),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
DECLARED = """event INT, buyer STRUCT<id: BIGINT, home STRUCT<city: STRING, x: DOUBLE>>, items ARRAY<STRUCT<sku: STRING, n: INT>>,
  tags ARRAY<STRING>, extra MAP<STRING, BIGINT>, ts TIMESTAMP"""
BEGIN = datetime(2024, 1, 1)
QUERIES = {
    "grouped": (
        """SELECT buyer.home.city, window_end, COUNT(*) AS n, SUM(buyer.id) AS ids, MAX(items[0].n) AS first, COUNT(extra['a']) AS some
        FROM s WHERE buyer.id >= 0 AND size(tags) < 3 GROUP BY buyer.home.city, TUMBLE '10 seconds'""",
        """SELECT buyer.home.city, time_bucket(INTERVAL 10 SECOND, ts) + INTERVAL 10 SECOND AS e, count(*), sum(buyer.id)::BIGINT, max(items[1].n),
        count(extra['a']) FROM s WHERE buyer.id >= 0 AND len(tags) < 3 AND e <= (SELECT max(ts) FROM s) GROUP BY ALL""",
    ),
    "rows": (
        """SELECT s.event, buyer, buyer.home AS home, items, tags, map_keys(extra) AS keys, element_at(tags, -1) AS last, struct(event, buyer.id AS who) AS pair,
        array(event, 7) AS two, ts FROM s WHERE array_contains(tags, 'a') OR buyer IS NULL""",
        """SELECT event, buyer, buyer.home, items, tags, map_keys(extra), tags[-1], {'event': event, 'who': buyer.id}, [event, 7], ts
        FROM s WHERE buyer IS NULL OR list_contains(tags, 'a')""",
    ),
    "joined": (
        """SELECT l.buyer.id, l.items AS bought, r.buyer.home.city AS city, r.buyer AS other FROM s AS l [UNBOUNDED] JOIN s AS r [UNBOUNDED]
        ON l.buyer.id = r.buyer.id AND l.event < r.event""",
        "SELECT l.buyer.id, l.items, r.buyer.home.city, r.buyer FROM s l JOIN s r ON l.buyer.id = r.buyer.id AND l.event < r.event",
    ),
    "viewed": (
        "SELECT who, window_end, COUNT(DISTINCT city) AS cities FROM v GROUP BY who, TUMBLE '10 seconds'",
        """SELECT buyer.id, time_bucket(INTERVAL 10 SECOND, ts) + INTERVAL 10 SECOND AS e, count(DISTINCT buyer.home.city) FROM s
        WHERE event > 1 AND e <= (SELECT max(ts) FROM s) GROUP BY ALL""",
    ),
    "over_results": (
        "SELECT f.pair.who, f.pair.event FROM (SELECT struct(event, buyer.id AS who) AS pair FROM s) AS f WHERE f.pair.who > 0",
        "SELECT buyer.id, event FROM s WHERE buyer.id > 0",
    ),
}
VIEW = "CREATE VIEW v AS SELECT buyer.id AS who, buyer.home.city, ts FROM s WHERE event > 1;"
NO_SHRINK = (Phase.explicit, Phase.reuse, Phase.generate)
numbers = st.one_of(st.none(), st.integers(-2, 3))
cities = st.one_of(st.none(), st.sampled_from(["Ulm", "Bonn", "q\"u'ote"]))
homes = st.one_of(
    st.none(), st.fixed_dictionaries({"city": cities, "x": st.sampled_from([None, 0.5, -1.25])})
)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "event": st.integers(0, 3),
            "buyer": st.one_of(st.none(), st.fixed_dictionaries({"id": numbers, "home": homes})),
            "items": st.one_of(
                st.none(),
                st.lists(
                    st.one_of(st.none(), st.fixed_dictionaries({"sku": cities, "n": numbers})), max_size=2
                ),
            ),
            "tags": st.one_of(st.none(), st.lists(st.sampled_from(["a", "b", None]), max_size=3)),
            "extra": st.one_of(st.none(), st.dictionaries(st.sampled_from("abc"), numbers, max_size=2)),
            "ts": st.integers(0, 40).map(lambda s: BEGIN + timedelta(seconds=s)),
        }
    ),
    min_size=1,
    max_size=25,
)


def write(root: Path, format: str, batch: int, some: list[dict[str, Any]]) -> tuple[str, str]:
    path = root / "in" / f"{batch}.{format}"
    path.parent.mkdir(exist_ok=True)
    if format == "json":
        path.write_text("".join(json.dumps({**r, "ts": r["ts"].isoformat()}) + "\n" for r in some))
    else:
        pq.write_table(table(some), path)
    return "s", str(path)


def table(some: list[dict[str, Any]]) -> pa.Table:
    plain = [{**r, "extra": None if r["extra"] is None else list(r["extra"].items())} for r in some]
    return pa.Table.from_pylist(plain, SCHEMA)


def session(root: Path, format: str) -> LocalSession:
    made = LocalSession(root / "run", 2)
    made.sql(
        f"CREATE STREAM s ({DECLARED}) WITH (format = '{format}', path = '{root}/in', time = 'ts', watermark = '1 hour');{VIEW}"
    )
    return made


@settings(max_examples=25, deadline=None, phases=NO_SHRINK)
@given(rows, st.integers(1, 3), st.sampled_from(["json", "parquet"]))
def test_nested_columns(given_rows: list[dict[str, Any]], batches: int, format: str) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        parts = [p for i in range(batches) if (p := given_rows[i::batches])]
        # A last row closes the windows that end before the last of the others, as the watermark is an hour.
        closing: dict[str, Any] = {"event": 9, "buyer": None, "items": None, "tags": [], "extra": None}
        parts.append([{**closing, "ts": max(r["ts"] for r in given_rows) + timedelta(hours=1)}])
        chunks = [write(root, format, n, part) for n, part in enumerate(parts)]
        run = session(root, format)
        run.sql(";".join(f"CREATE QUERY {name} AS {text}" for name, (text, _) in QUERIES.items()))
        for chunk in chunks:
            run.batch([chunk])
        with duckdb.connect() as db:
            db.execute("SET TimeZone = 'UTC'")
            db.register("arrow", table([r for p in parts for r in p]))
            db.execute("CREATE TABLE s AS SELECT * REPLACE (CAST(ts AS TIMESTAMP) AS ts) FROM arrow")
            for name, (_, text) in QUERIES.items():
                found = run.handle(name).results()
                shown = expected_of(db, text, windowed="window_end" in found.column_names)
                assert texts(found) == texts(shown.rename_columns(found.column_names)), name
                if not any(pa.types.is_nested(f.type) for f in found.schema):
                    compare(found, shown.rename_columns(found.column_names), 1e-9, 1e-9)
        run.close()


def expected_of(db: duckdb.DuckDBPyConnection, text: str, windowed: bool) -> pa.Table:
    """Results whose windows have ended by the frontier, an hour before the last row."""
    closed = (
        text.replace("(SELECT max(ts) FROM s)", "(SELECT max(ts) - INTERVAL 1 HOUR FROM s)")
        if windowed
        else text
    )
    return db.sql(closed).to_arrow_table()


def texts(found: pa.Table) -> list[str]:
    """Rows as texts, in order; times without their zone."""
    plain = [[_naive(v) for v in row.values()] for row in found.to_pylist()]
    return sorted(map(repr, plain))


def _naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


BAD = [
    ('{"buyer": {"id": 1.5}, "event": 1}', "buyer.id", "1.5", "is no BIGINT"),
    ('{"buyer": {"id": "x"}, "event": 1}', "buyer.id", "x", "is no BIGINT"),
    (
        '{"buyer": 5, "event": 1}',
        "buyer",
        "5",
        "is no STRUCT<id: BIGINT, home: STRUCT<city: STRING, x: DOUBLE>>",
    ),
    ('{"buyer": {"id": 1, "id": 2}, "event": 1}', "buyer", '{"id":1,"id":2}', None),
    ('{"tags": {"a": 1}, "event": 1}', "tags", '{"a":1}', "is no ARRAY<STRING>"),
    ('{"items": [{"n": 1.5}], "event": 1}', "items", '[{"n":1.5}]', None),
    ('{"extra": {"a": "x"}, "event": 1}', "extra", '{"a":"x"}', "is no MAP<STRING, BIGINT>"),
]


@pytest.mark.parametrize(("line", "column", "value", "reason"), BAD)
def test_bad_values_within(tmp_path: Path, line: str, column: str, value: str, reason: str | None) -> None:
    good = '{"buyer": {"id": 1, "home": null}, "tags": ["a"], "event": 1, "ts": "2024-01-01T00:00:00"}\n'
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "0.json"
    path.write_text(good + line.replace("}", "}", 1)[:-1] + ', "ts": "2024-01-01T00:00:01"}\n' + good)
    run = session(tmp_path, "json")
    run.sql("CREATE QUERY q AS SELECT buyer.id, tags, items, extra FROM s")
    run.batch([("s", str(path))])
    assert run.handle("q").results().num_rows == 2
    (aside,) = [
        r for f in (tmp_path / "run" / "bad" / "s").glob("*.parquet") for r in pq.read_table(f).to_pylist()
    ]
    assert (aside["place"], aside["column"], aside["value"]) == ("row 2", column, value)
    assert reason is None or aside["reason"] == reason
    run.close()


def test_what_nobody_reads_may_be_anything(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "0.json"
    line = '{"buyer": {"id": "none", "home": {"city": "Ulm"}}, "event": 1, "ts": "2024-01-01T00:00:00"}\n'
    path.write_text(line + line.replace('"event": 1', '"event": "no"'))
    run = session(tmp_path, "json")
    run.sql("CREATE QUERY q AS SELECT event, buyer.home.city FROM s")
    run.batch([("s", str(path))])
    assert run.handle("q").results().to_pylist() == [{"event": 1, "city": "Ulm"}]
    run.close()


def test_a_parquet_file_must_have_the_fields(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "1.parquet"
    short = pa.table({"v": pa.array([{"a": 1}]), "at": pa.array([BEGIN], pa.timestamp("us"))})
    whole = pa.table(
        {"v": pa.array([{"B": 1.5, "a": 2, "c": "x"}]), "at": pa.array([BEGIN], pa.timestamp("ns"))}
    )
    pq.write_table(whole, tmp_path / "in" / "0.parquet")
    pq.write_table(short, path)
    os.utime(path, (4e9, 4e9))
    run = LocalSession(tmp_path / "run", 2)
    run.sql(
        f"CREATE STREAM s (v STRUCT<a: BIGINT, b: DOUBLE>, at TIMESTAMP) WITH (format = 'parquet', path = '{tmp_path}/in', time = 'at')"
    )
    run.sql("CREATE QUERY q AS SELECT v, v.b AS b FROM s")
    run.batch([("s", str(path)), ("s", str(tmp_path / "in" / "0.parquet"))])
    assert run.handle("q").results().to_pylist() == [{"v": {"a": 2, "b": 1.5}, "b": 1.5}]
    (aside,) = [
        r for f in (tmp_path / "run" / "bad" / "s").glob("*.parquet") for r in pq.read_table(f).to_pylist()
    ]
    assert aside["reason"] == "column v is struct<a: int64>, declared as STRUCT<a: BIGINT, b: DOUBLE>"
    run.close()
