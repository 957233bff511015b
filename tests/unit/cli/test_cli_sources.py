"""Sources that can't be read, as the command line tells them: without a start of Spark."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)


def test_run_tells_a_directory_that_is_not_there(thalweg, script):
    said = thalweg("run", "app.sql", "--available-now")
    assert said.exit_code == 1
    assert (
        "data/bid: the directory of stream bid does not exist" in said.output
        and "correct the stream's path" in said.output
    )


def test_explain_goes_on_without_it(thalweg, script):
    said = thalweg("explain", "app.sql")
    assert said.exit_code == 0 and "data/bid: not there yet" in said.output


@pytest.mark.parametrize("command", [("run", "--available-now"), ("explain",)])
def test_columns_that_the_files_have_not(thalweg, script, tmp_path: Path, command: tuple[str, ...]):
    (tmp_path / "data" / "bid").mkdir(parents=True)
    pq.write_table(
        pa.table({"auction": [1], "cost": [2], "at": pa.array([0], pa.timestamp("us"))}),
        tmp_path / "data/bid/0.parquet",
    )
    said = thalweg(command[0], "app.sql", *command[1:])
    assert said.exit_code == 1
    told = " ".join(said.output.split())
    assert "0.parquet: can't be read as stream bid: it has no column price" in told
    assert "correct what CREATE STREAM says of it" in told
