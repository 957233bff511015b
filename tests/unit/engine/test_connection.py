"""DuckDB as tasks use it: what a statement says is what runs, and it touches no file but those it is given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.connectors.reading.naming import listed
from thalweg.engine.kernel.connection import Reach, check_reach, connection, links_of, open_connection, permit
from thalweg.errors import StateError

STATEMENT = "EXPLAIN (FORMAT JSON) SELECT k, sum(x) FROM few JOIN many ON k = j GROUP BY k"


def probing(con: duckdb.DuckDBPyConnection) -> str:
    """The operators from the top down to the input of the join that streams past the other, and its columns."""
    con.register("few", pa.table({"k": range(10)}))
    con.register("many", pa.table({"j": range(10_000), "x": range(10_000)}))
    node = json.loads(con.execute(STATEMENT).fetchall()[0][1])[0]
    names = []
    while node["children"]:
        names.append(node["name"])
        node = node["children"][0]
    return " ".join([*names, str(node["extra_info"]["Projections"])])


def test_the_order_of_a_join_is_kept_and_nothing_is_aggregated_before_it() -> None:
    with open_connection() as con:
        assert probing(con) == "HASH_GROUP_BY PROJECTION HASH_JOIN k"


def test_duckdb_alone_would_choose_another_order() -> None:
    with duckdb.connect() as con:
        assert "k" not in probing(con).split()[-1]


@pytest.fixture
def reached(tmp_path: Path) -> Iterator[tuple[Path, duckdb.DuckDBPyConnection]]:
    """A folder with two files, and a connection that may read one of two folders."""
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"x": [name]}), tmp_path / name / "0.parquet")
    (tmp_path / "mine" / "link.parquet").symlink_to(tmp_path / "other" / "0.parquet")
    with open_connection(Reach((str(tmp_path / "mine"),), str(tmp_path / "spill"))) as con:
        yield tmp_path, con


def test_files_within_reach_are_read(reached: tuple[Path, duckdb.DuckDBPyConnection]) -> None:
    root, con = reached
    assert con.execute(f"FROM read_parquet('{root}/mine/0.parquet')").fetchall() == [("mine",)]
    with open_connection(
        Reach((str(root / "mine"),)), links_of([str(root / "mine")], [str(root / "mine" / "link.parquet")])
    ) as linked:
        assert linked.execute(f"FROM read_parquet('{root}/mine/link.parquet')").fetchall() == [("other",)]


@pytest.mark.parametrize(
    "statement",
    [
        "FROM read_parquet('{root}/other/0.parquet')",
        "FROM read_parquet('{root}/mine/../other/0.parquet')",
        "FROM read_parquet('{root}/mine/link.parquet')",
        "FROM '{root}/other/0.parquet'",
        "FROM read_text('{root}/other/0.parquet')",
        "FROM glob('{root}/other/*')",
        "COPY (SELECT 1) TO '{root}/out.csv'",
        "ATTACH '{root}/out.db'",
        "INSTALL httpfs",
        "LOAD '{root}/x.duckdb_extension'",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "SET disabled_optimizers = ''",
        "SET temp_directory = '{root}'",
        "RESET lock_configuration",
        "FROM hidden",
        "SELECT getenv('HOME')",
    ],
)
def test_nothing_else_is_touched(reached: tuple[Path, duckdb.DuckDBPyConnection], statement: str) -> None:
    root, con = reached
    hidden = pa.table({"x": [1]})
    assert hidden.num_rows
    with pytest.raises(duckdb.Error):
        con.execute(statement.format(root=root)).fetchall()
    assert not list(root.glob("out*"))


def test_what_memory_cannot_hold_goes_to_a_folder_of_its_own(
    reached: tuple[Path, duckdb.DuckDBPyConnection],
) -> None:
    root, con = reached
    with open_connection(Reach((), str(root / "spill"))) as other:
        used = [
            Path(c.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]) for c in (con, other)
        ]
    assert {folder.parent for folder in used} == {root / "spill"} and used[0] != used[1]


@pytest.mark.parametrize("folder", ["x[1]", "a*b", "{a,b}", "back\\slash"])
@pytest.mark.parametrize("file", ["0", "part[1]", "\\", "["])
def test_a_folder_of_any_name_is_within_reach(tmp_path: Path, folder: str, file: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / folder)
    for name in ("\\", file):
        pq.write_table(pa.table({"x": [1]}), tmp_path / folder / f"{name}.parquet")
    path = str(tmp_path / folder / f"{file}.parquet")
    for root in (tmp_path / folder, tmp_path / "link"):
        with open_connection(Reach((str(root),))) as con:
            assert con.execute(f"FROM read_parquet({listed([path])})").fetchall() == [(1,)]
        permit(Reach((str(root),)))
        check_reach([path])


def test_a_process_reads_what_is_declared(tmp_path: Path) -> None:
    permit(Reach((str(tmp_path / "a"),)))
    check_reach([str(tmp_path / "a" / "0.parquet"), str(tmp_path / "a")])
    for path in (tmp_path / "ab" / "0.parquet", tmp_path / "b", tmp_path):
        with pytest.raises(StateError, match="no stream or table of the session is read from there"):
            check_reach([str(path)])


def test_a_connection_stays_while_its_reach_does() -> None:
    permit(Reach(("/first",)))
    first = connection()
    permit(Reach(("/first",)))
    assert connection() is first
    permit(Reach(("/second",)))
    assert connection() is not first
