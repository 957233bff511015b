"""The examples of the early-aggregation paper in examples/ run on Spark and give what the definition gives."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support import session_on

from thalweg import QueryHandle
from thalweg.model.query import Query
from thalweg.testing.comparison import compare
from thalweg.testing.reference_joins import reference_join

EXAMPLES = Path(__file__).parents[2] / "examples"


def make(workload: str, out: Path, events: int) -> None:
    """Call examples/make_data.py, which is no module of a package."""
    spec = importlib.util.spec_from_file_location("make_data", EXAMPLES / "make_data.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.make(workload, out, events)


@pytest.mark.parametrize(
    ("script", "workload", "folder"),
    [("packets", "packets", "packets"), ("vermont_auctions", "auctions", "vermont")],
)
def test_example(spark: Any, tmp_path: Path, script: str, workload: str, folder: str) -> None:
    make(workload, tmp_path / folder, events=3000)
    sql = (
        (EXAMPLES / f"{script}.sql")
        .read_text()
        .replace("data/", f"{tmp_path}/")
        .replace("files_per_batch = 2", "files_per_batch = 4")
    )
    session = session_on(spark, tmp_path, sql)
    session.run_available()
    session.stop()
    query = session.catalog.queries[script]
    assert isinstance(query, Query)
    batches = [
        {name: pq.read_table(path)}
        for name in query.streams
        for path in sorted((tmp_path / folder / name).glob("*.parquet"))
    ]
    tables = {name: pq.read_table(tmp_path / folder / f"{name}.parquet") for name in query.relations}
    expected = reference_join(query, session.catalog.streams, batches, tables)
    assert expected.num_rows > 1000
    compare(QueryHandle(session, script).results(), expected)
