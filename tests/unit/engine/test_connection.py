"""DuckDB as tasks use it: what a statement says is what runs."""

from __future__ import annotations

import json

import duckdb
import pyarrow as pa

from thalweg.engine.kernel.connection import open_connection

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
