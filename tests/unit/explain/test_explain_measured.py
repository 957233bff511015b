"""EXPLAIN ANALYZE: what the last batch measured stands beside what was expected; switches are shown while they last."""

from __future__ import annotations

from pathlib import Path

import pytest
from explain_support import query_sql, ran, run_batch, stream_sql, tumbling

from thalweg.api.outcomes import Explained
from thalweg.api.session import Session
from thalweg.explain import explain
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.local import LocalEngine

LOW = query_sql(tumbling(10, 20, 30, 40))
MEAN = query_sql(["TUMBLE '20 seconds'", "HOP '1 minute' BY '10 seconds'"], "AVG(price)", "mean")


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    return ran(tmp_path, LOW + MEAN, mode="paper")


def analyzed(engine: LocalEngine, query: str | None = None):  # type: ignore[no-untyped-def]
    manifest = engine.runner.manifest
    return explain(engine.runner.plan, planner_for(Config(windows="paper"), manifest), query, manifest)


def test_every_step_is_measured_or_inside_a_result(engine: LocalEngine) -> None:
    (group,) = analyzed(engine).data["windows"]["groups"]
    for step in group["steps"]:
        assert (step["measured"]["rows"] is None) == step["inside_result"]
    root = next(s for s in group["steps"] if s["from"] == "rows")
    assert (
        root["measured"]["rows"] > 0
        and root["measured"]["milliseconds"] > 0
        and root["measured"]["state_rows"] > 0
    )


def test_statistics_are_measured(engine: LocalEngine) -> None:
    (group,) = analyzed(engine).data["windows"]["groups"]
    origins = dict.fromkeys(("rate", "keys", "batch_seconds"), "measured")
    assert group["statistics"] == {"rate": 50.0, "keys": 20.0, "batch_seconds": 40.0, "origins": origins}


def test_text_has_both(engine: LocalEngine) -> None:
    text = analyzed(engine).text
    assert "measured in batch 2" in text.splitlines()[0]
    assert "50 rows/s in batches of 40 seconds (measured), 20 keys (measured)" in text
    assert "emit mean" in text and "scan bid" in text


def test_a_query_is_shown_with_its_part(engine: LocalEngine) -> None:
    found = analyzed(engine, "mean")
    assert {q["query"] for q in found.data["queries"]} == {"mean"}
    shown = {s["window"] for s in found.data["windows"]["groups"][0]["steps"]}
    assert "1 minute by 10 seconds" in shown and "40 seconds" not in shown
    assert "for other queries" in found.text


def test_one_of_two_that_are_alike_is_measured(tmp_path: Path) -> None:
    twice = ran(tmp_path, LOW + LOW.replace("QUERY low", "QUERY again"))
    said = [
        [
            w
            for line in analyzed(twice, q).text.splitlines()
            if line.startswith(f"emit {q}")
            for w in line.split()[2:]
        ]
        for q in ("low", "again")
    ]
    assert said[0] == said[1] and int(said[0][0]) > 0


def test_a_switch_in_progress(engine: LocalEngine, tmp_path: Path) -> None:
    engine.replan(planner_for(Config(windows="naive")))
    run_batch(engine, tmp_path / "bid", 3)
    found = analyzed(engine)
    assert "switch in progress: instances that start from 2026-01-01 00:01:59" in found.text
    assert "low 20 seconds: from 10 seconds, then from rows" in found.text
    assert any(s["ending"] for s in found.data["windows"]["groups"][0]["steps"])
    assert 'class="old"' in found.svg() and ":::old" in found.mermaid()


def test_a_session_finds_what_an_earlier_one_measured(engine: LocalEngine, tmp_path: Path) -> None:
    session = Session(tmp_path / "run")
    session.sql(stream_sql(tmp_path / "bid") + LOW + MEAN)
    assert session.explain(analyze=True).view.batch == 2
    assert session.explain().view.batch is None
    (shown,) = session.sql("EXPLAIN ANALYZE QUERY mean;")
    assert isinstance(shown, Explained) and shown.explanation.view.batch == 2


def test_a_query_that_comes_later_begins_in_mid_stream(engine: LocalEngine, tmp_path: Path) -> None:
    session = Session(tmp_path / "run")
    session.sql(stream_sql(tmp_path / "bid") + LOW + MEAN + query_sql(tumbling(60), "MAX(price)", "late"))
    assert (
        "late begins in mid-stream: 1 window with instances from 2026-01-01 00:01:59"
        in session.explain(analyze=True).text
    )
