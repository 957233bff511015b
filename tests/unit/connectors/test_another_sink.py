"""A sink of another kind is a module and a line: the engine knows of none in particular."""

from __future__ import annotations

import json
import sys
import types
import uuid
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from sink_conformance import Shown, SinkConformance

from thalweg.connectors.base import Sink, sink_at
from thalweg.model.settings import Config
from thalweg.model.target import SINKS, Files, target_of
from thalweg.optimizer.planner import planner_for
from thalweg.state.manifest import Staged
from thalweg.testing.bound import bind_statements
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine

SQL = """CREATE STREAM s (v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{0}', time = 'at', watermark = '0 seconds');
CREATE QUERY q AS SELECT COUNT(*) AS v FROM s GROUP BY TUMBLE '1 second';"""


class Lines:
    """One file of lines for all batches; a line says which batch and number it is of, so that none is added twice."""

    def __init__(self, address: str) -> None:
        self.address, self.root = address, Path(address.removeprefix("lines://"))
        self.file = self.root / "all.jsonl"

    def stage(self, table: pa.Table, batch: int, part: int) -> str:
        self.root.mkdir(parents=True, exist_ok=True)
        token = f"{uuid.uuid4().hex}.staged"
        (self.root / token).write_text(json.dumps(table.column("v").to_pylist()))
        return token

    def staged_files(self, token: str) -> list[Path]:
        return [self.root / token]

    def staged_folders(self) -> list[Path]:
        return [self.root]

    def named(self, token: str, batch: int, number: int) -> Staged:
        return Staged(self.address, token, f"{batch}/{number}")

    def commit(self, staged: Sequence[Staged]) -> None:
        known = (
            {json.loads(line)["of"] for line in self.file.read_text().splitlines()}
            if self.file.exists()
            else set()
        )
        new = [s for s in staged if s.shown not in known]
        if new:
            with self.file.open("a") as file:
                file.writelines(
                    json.dumps({"of": s.shown, "v": json.loads((self.root / s.token).read_text())}) + "\n"
                    for s in new
                )

    def recover(self, staged: Sequence[Staged]) -> None:
        self.commit(staged)

    def sweep(self) -> None:
        for path in self.root.glob("*.staged"):
            path.unlink()


def values(file: Path) -> list[int]:
    return (
        sorted(v for line in file.read_text().splitlines() for v in json.loads(line)["v"])
        if file.exists()
        else []
    )


@pytest.fixture(autouse=True)
def lines(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("thalweg.connectors.lines")
    module.Sink = Lines  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(SINKS, "lines", "lines")


class TestLines(SinkConformance):
    """The protocol can be kept by another kind of sink."""

    @pytest.fixture
    def sink(self, tmp_path: Path) -> Sink:
        return sink_at(f"lines://{tmp_path}/out")

    @pytest.fixture
    def other(self, tmp_path: Path) -> Sink:
        return sink_at(f"lines://{tmp_path}/out")

    @pytest.fixture
    def shown(self, tmp_path: Path) -> Shown:
        return lambda: values(tmp_path / "out" / "all.jsonl")


class Engine(LocalEngine):
    """The engine with results into lines."""

    def output(self, name: str) -> str:
        return f"lines://{self.root}/results/{name}"


def test_the_engine_writes_to_it(tmp_path: Path) -> None:
    bound = bind_statements(SQL.format(tmp_path / "in"))
    (stream,), queries = bound.streams.values(), tuple(bound.queries.values())
    engine = Engine(tmp_path / "run", (stream,), queries, planner_for(Config(), None), durable=True)
    for batch in range(3):
        at = pa.array([batch * 1_000_000 + i * 1000 for i in range(10 + batch)], pa.timestamp("us"))
        (path,) = write_batches(
            tmp_path / "in", stream, [pa.table({"v": pa.array(range(10 + batch)), "at": at})]
        )
        engine.batch([("s", str(path))])
        engine.restart()
        assert engine.runner.manifest.batch == batch
    assert values(tmp_path / "run" / "results" / "q" / "all.jsonl") == [10, 11]
    assert target_of("lines://x") == Files("lines://x")
