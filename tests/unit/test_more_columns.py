"""Columns that a stream gets while it is read: files without them have NULL, queries go on, and so does a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from thalweg.errors import SqlError, UsageError
from thalweg.testing.local import LocalSession

SECOND = 1_000_000
FORMATS = ("parquet", "csv", "json")


class Fed:
    """A session over files of a format."""

    def __init__(self, root: Path, format: str) -> None:
        self.root, self.format = root, format
        (root / "in").mkdir()
        self.declared = (
            f"CREATE STREAM s (v BIGINT, at TIMESTAMP) WITH (format = '{format}', path = '{root / 'in'}', time = 'at');"
            "CREATE QUERY before AS SELECT v FROM s; CREATE QUERY all_of_it AS SELECT * FROM s;"
        )
        self.opened(self.declared)

    def opened(self, sql: str = "") -> LocalSession:
        self.session = LocalSession(self.root / "run")
        self.session.sql(sql)
        return self.session

    def batch(self, *tables: dict[str, list[Any]]) -> None:
        """A batch of files, one for each table of columns."""
        number = self.session.latest_manifest().batch + 1
        chunks = []
        for n, columns in enumerate(tables):
            path = self.root / "in" / f"{number}-{n}.{self.format}"
            at = [number * SECOND + i for i in range(len(columns["v"]))]
            self._write(path, {**columns, "at": at})
            chunks.append(("s", str(path)))
        self.session.batch(chunks)

    def _write(self, path: Path, columns: dict[str, list[Any]]) -> None:
        table = pa.table({**columns, "at": pa.array(columns["at"], pa.timestamp("us"))})
        if self.format == "parquet":
            pq.write_table(table, path)
        elif self.format == "csv":
            pacsv.write_csv(table, path)
        else:
            path.write_text(
                "".join(
                    json.dumps({k: str(v) for k, v in r.items() if v is not None}) + "\n"
                    for r in table.to_pylist()
                )
            )

    def results(self, query: str) -> list[tuple[Any, ...]]:
        table = self.session.handle(query).results()
        return sorted(zip(*(c.to_pylist() for c in table.columns), strict=True), key=repr)


@pytest.fixture(params=FORMATS)
def fed(request: pytest.FixtureRequest, tmp_path: Path) -> Fed:
    return Fed(tmp_path, request.param)


def test_files_without_them_have_null_and_queries_go_on(fed: Fed) -> None:
    fed.batch({"v": [1]})
    fed.session.sql(
        "ALTER STREAM s ADD COLUMNS (c BIGINT, t STRING, d DECIMAL(5,2), w AS v * 2); ALTER STREAM s ADD COLUMN u TIMESTAMP;"
        "CREATE QUERY later AS SELECT v, c, t, d, w, u IS NULL AS x FROM s"
    )
    fed.batch(
        {"v": [2]},
        {"v": [3], "c": [30], "t": ["a"]},
        {
            "t": ["b"],
            "v": [4],
            "d": ["1.5"] if fed.format != "parquet" else pa.array([None], pa.decimal128(5, 2)),
        },
    )
    d = None if fed.format == "parquet" else "1.50"
    assert [(v, c, t, d and str(d), w, x) for v, c, t, d, w, x in fed.results("later")] == [
        (2, None, None, None, 4, True),
        (3, 30, "a", None, 6, True),
        (4, None, "b", d, 8, True),
    ]
    assert [r[0] for r in fed.results("before")] == [1, 2, 3, 4] and len(fed.results("all_of_it")[0]) == 2
    assert fed.session.set_aside == {}


def test_a_restart_has_them_whatever_the_script_says(fed: Fed) -> None:
    fed.batch({"v": [1]})
    fed.session.sql("ALTER STREAM s ADD COLUMN c BIGINT; CREATE QUERY later AS SELECT c FROM s")
    fed.batch({"v": [2], "c": [20]})
    fed.session.stop()
    fed.opened()
    fed.batch({"v": [3], "c": [30]}, {"v": [4]})
    fed.session.stop()
    fed.opened(fed.declared)
    fed.batch({"v": [5], "c": [50]})
    assert fed.results("later") == [(20,), (30,), (50,), (None,)] and len(fed.results("before")) == 5


def test_a_declaration_may_say_it(fed: Fed) -> None:
    fed.session.sql(
        "CREATE STREAM r (v BIGINT, c BIGINT DEFAULT NULL, at TIMESTAMP)"
        f" WITH (format = '{fed.format}', path = '{fed.root / 'in'}', time = 'at');"
        "DROP QUERY before; DROP QUERY all_of_it; DROP STREAM s; CREATE QUERY q AS SELECT v, c FROM r"
    )
    for number, more in enumerate(({}, {"c": [20]})):
        path = fed.root / "in" / f"{number}.{fed.format}"
        fed._write(path, {"v": [number], **more, "at": [number]})
        fed.session.batch([("r", str(path))])
    assert fed.results("q") == [(0, None), (1, 20)]


def test_a_file_must_have_the_others(tmp_path: Path) -> None:
    fed = Fed(tmp_path, "csv")
    fed.batch({"v": [1]})
    fed.session.sql("ALTER STREAM s ADD COLUMN c BIGINT; CREATE QUERY later AS SELECT c FROM s")
    path = fed.root / "in" / "bad.csv"
    path.write_text("c,at\n1,1970-01-01 00:00:01\n")
    fed.session.batch([("s", str(path))])
    assert fed.session.set_aside["s"].bad_files == 1


def test_views_have_them(tmp_path: Path) -> None:
    fed = Fed(tmp_path, "parquet")
    fed.session.sql(
        "CREATE VIEW w AS SELECT * FROM s; ALTER STREAM s ADD COLUMN c BIGINT; CREATE QUERY q AS SELECT c FROM w"
    )
    assert [c.name for c in fed.session.catalog.views["w"].columns] == ["v", "at", "c"]


def test_pushed_rows_need_not_have_them(tmp_path: Path) -> None:
    session = LocalSession(tmp_path / "run")
    session.sql(
        "CREATE STREAM p (v BIGINT, at TIMESTAMP) WITH (format = 'push', time = 'at'); CREATE QUERY a AS SELECT v FROM p"
    )
    session.begin()
    session.sql("ALTER STREAM p ADD COLUMN c BIGINT; CREATE QUERY q AS SELECT v, c FROM p")
    at = pa.array([0], pa.timestamp("us"))
    session.push("p", pa.table({"v": [1], "at": at}))
    session.push("p", pa.table({"v": [2], "c": [20], "at": at}))
    session.push("p", [{"v": 3, "at": "1970-01-01 00:00:00"}])
    session.batch([("p", str(path)) for path in sorted((tmp_path / "run" / "inbox" / "p").glob("*.parquet"))])
    found = session.handle("q").results().select(["v", "c"]).to_pylist()
    assert sorted((r["v"], r["c"]) for r in found) == [(1, None), (2, 20), (3, None)]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("ALTER STREAM s ADD COLUMN V BIGINT", "has a column V"),
        ("ALTER STREAM s ADD COLUMNS (c BIGINT, C INT)", "declared twice"),
        ("ALTER STREAM s ADD COLUMN window_end BIGINT", "reserved"),
        ("ALTER STREAM s ADD COLUMN c THING", "type THING is not supported"),
        ("ALTER STREAM s DROP COLUMN v", "expected ADD, not DROP"),
        ("ALTER STREAM s ADD COLUMN c AS nothing + 1", "unknown column nothing"),
        ("ALTER STREAM other ADD COLUMN c BIGINT", "no stream named other"),
    ],
)
def test_refused(tmp_path: Path, sql: str, said: str) -> None:
    fed = Fed(tmp_path, "csv")
    with pytest.raises((SqlError, UsageError), match=said):
        fed.session.sql(sql)


def test_columns_without_names_can_not_be_more(tmp_path: Path) -> None:
    session = LocalSession(tmp_path / "run")
    session.sql(
        f"CREATE STREAM s (v BIGINT, at TIMESTAMP) WITH (format = 'csv', header = 'false', path = '{tmp_path}', time = 'at')"
    )
    with pytest.raises(SqlError, match="known by their places alone"):
        session.sql("ALTER STREAM s ADD COLUMN c BIGINT")
