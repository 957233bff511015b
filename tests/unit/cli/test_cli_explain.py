from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.sql"))


def test_the_plan_of_the_queries(thalweg, script):
    said = thalweg("explain", "app.sql")
    assert said.exit_code == 0
    assert "1 minute" in said.stdout and "5 minutes" in said.stdout and "high" in said.stdout


def test_nothing_is_written(thalweg, script, tmp_path):
    thalweg("explain", "app.sql")
    assert [p.name for p in tmp_path.iterdir()] == ["app.sql"]


def test_neither_java_nor_spark_is_needed(thalweg, script, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert thalweg("explain", "app.sql").exit_code == 0


def test_statements_that_show_something_come_first(thalweg, script):
    script.write_text(script.read_text() + "SHOW STREAMS; EXPLAIN QUERY high;")
    lines = thalweg("explain", "app.sql").stdout.splitlines()
    assert lines[0] == "SHOW STREAMS"
    assert lines[1].split() == ["stream", "format", "path", "time", "watermark", "columns"]
    assert lines[3].split() == ["bid", "parquet", "data/bid", "at", "5", "seconds", "3"]
    assert "EXPLAIN QUERY high" in lines


def test_json_is_one_document(thalweg, script):
    script.write_text(script.read_text() + "SHOW STREAMS; EXPLAIN QUERY high;")
    found = json.loads(thalweg("explain", "app.sql", "--json").stdout)
    assert {q["query"] for q in found["queries"]} == {"high"}
    assert len(found["fragments"]) == 2
    assert [s["statement"] for s in found["statements"]] == ["EXPLAIN QUERY high"]
    assert found["statements"][0]["fragments"]


def test_settings_change_the_plan(thalweg, script):
    found = json.loads(thalweg("explain", "app.sql", "--json", "--set", "plan.windows=naive").stdout)
    assert found["mode"] == "naive"
    assert {f["from"] for f in found["fragments"]} == {"rows"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.name)
def test_every_example_can_be_planned(thalweg, example):
    said = thalweg("explain", example)
    assert said.exit_code == 0, said.stderr
