"""What a user's SQL, or a plan that was tampered with, can't make a task do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg import Session, SqlError
from thalweg.engine.kernel.connection import Reach, permit
from thalweg.engine.kernel.relations import relation_rows
from thalweg.engine.task import Report, Task
from thalweg.errors import InternalError, StateError
from thalweg.model.settings import Config
from thalweg.model.stream import Column, Relation
from thalweg.optimizer.planner import planner_for
from thalweg.state.checks import digest
from thalweg.testing.bound import Bound, bind_statements
from thalweg.testing.local import LocalEngine, local_job

STREAM = (
    "CREATE STREAM s (k BIGINT, t STRING, at TIMESTAMP) WITH (format = 'parquet', path = 'in', time = 'at');"
)


@pytest.mark.parametrize(
    "expression",
    [
        "read_text('/etc/passwd')",
        "read_csv('/etc/passwd')",
        "getenv('HOME')",
        "current_setting('home_directory')",
        "pragma_version()",
        "pragma_database_list()",
        "query('SELECT 1')",
        "nextval('x')",
        "write_log('x')",
        "system.main.getenv('HOME')",
        "(SELECT MAX(content) FROM read_text('/etc/passwd'))",
        "java_method('java.lang.System', 'exit')",
        "input_file_name()",
    ],
)
def test_functions_that_touch_the_machine_are_unknown(expression: str) -> None:
    session = Session("nowhere")
    session.sql(STREAM)
    for text in (
        f"SELECT MAX({expression}) AS x FROM s GROUP BY TUMBLE '1 second'",
        f"SELECT k FROM s WHERE {expression} = t",
    ):
        with pytest.raises(SqlError):
            session.query(text, name="q")


@pytest.mark.parametrize(
    "source",
    [
        "'/etc/passwd'",
        "`/etc/passwd`",
        "read_csv('/etc/passwd')",
        "read_text('/etc/passwd')",
        "duckdb_settings()",
    ],
)
def test_files_and_functions_are_no_sources(source: str) -> None:
    session = Session("nowhere")
    session.sql(STREAM)
    with pytest.raises(SqlError):
        session.query(f"SELECT COUNT(*) AS n FROM {source} GROUP BY TUMBLE '1 second'", name="q")
    with pytest.raises(SqlError):
        session.query(f"SELECT s.k FROM s [RANGE 1 SECOND], {source} AS f WHERE s.t = f.content", name="q")


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    """An engine with one query, and a file beside its stream that is none of its business."""
    for name in ("in/s", "other"):
        (tmp_path / name).mkdir(parents=True)
        times = pa.array([0, 1, 5_000_000], pa.timestamp("us"))
        pq.write_table(
            pa.table({"k": [1, 2, 3], "t": ["a", "b", "c"], "at": times}), tmp_path / name / "0.parquet"
        )
    bound: Bound = bind_statements(
        STREAM.replace("'in'", f"'{tmp_path / 'in' / 's'}'")
        + "CREATE QUERY q AS SELECT MAX(k + 987654) AS x FROM s GROUP BY TUMBLE '1 second';"
    )
    return LocalEngine(
        tmp_path / "run", tuple(bound.streams.values()), tuple(bound.queries.values()), planner_for(Config())
    )


def test_a_file_outside_of_the_streams_is_not_read(engine: LocalEngine, tmp_path: Path) -> None:
    with pytest.raises(
        StateError, match=r"other/0\.parquet: no stream or table of the session is read from there"
    ):
        engine.batch([("s", str(tmp_path / "other" / "0.parquet"))])
    with pytest.raises(StateError, match="no stream or table"):
        engine.batch([("s", str(tmp_path / "in" / "s" / ".." / ".." / "other" / "0.parquet"))])
    engine.batch([("s", str(tmp_path / "in" / "s" / "0.parquet"))])
    assert engine.results(engine.queries[0]).to_pylist() == [{"x": 987656}]


def test_a_table_of_a_plan_that_nothing_declares_is_not_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [1]}), tmp_path / "0.parquet")
    permit(Reach((str(tmp_path / "declared"),)))
    with pytest.raises(StateError, match="no stream or table of the session is read from there"):
        relation_rows(
            Relation("r", (Column("k", "BIGINT"),), "parquet", str(tmp_path / "0.parquet")),
            "SELECT * FROM scan",
        )


@pytest.mark.parametrize(
    "expression",
    [
        "(SELECT max(length(content)) FROM read_text('{root}/other/0.parquet'))",
        "(SELECT max(k) FROM read_parquet('{root}/other/0.parquet'))",
        "(SELECT max(k) FROM '{root}/other/0.parquet')",
        "length(getenv('HOME'))",
    ],
)
def test_an_expression_of_a_plan_reads_no_files(engine: LocalEngine, tmp_path: Path, expression: str) -> None:
    refused(engine, tmp_path, "987654", expression.format(root=tmp_path))


def test_a_plan_names_no_other_functions(engine: LocalEngine, tmp_path: Path) -> None:
    refused(engine, tmp_path, '"+"', '"getenv"')


def refused(engine: LocalEngine, root: Path, part: str, other: str) -> None:
    """A batch whose plan was written anew with another text in the place of a part of it, under the name that such a plan has."""

    def tampered(chunks: Any, task: Task) -> list[Report]:
        text = Path(task.plan).read_text()
        assert part in text
        made = text.replace(part, other).encode()
        plan = Path(task.plan).with_name(f"{Path(task.plan).name[:13]}{digest(made)}.json")
        plan.write_bytes(made)
        return local_job(chunks, replace(task, plan=str(plan)))

    engine.runner.job = tampered
    with pytest.raises((InternalError, StateError, ValueError, KeyError)) as caught:
        engine.batch([("s", str(root / "in" / "s" / "0.parquet"))])
    assert "digest" not in str(caught.value)
    assert engine.runner.manifest.batch == -1 and not Path(engine.output("q")).exists()
