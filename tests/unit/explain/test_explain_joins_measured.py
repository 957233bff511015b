"""EXPLAIN ANALYZE of joins, and plans that hand over to each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from join_support import PAIRS, PER_SHOP, TOP, analyzed, ran, run_both, streams_sql

from thalweg.api.session import Session
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for


@pytest.mark.parametrize("evaluate", ["snapshot", "delta", "expiry", "materialize"])
def test_steps_and_state_are_measured(tmp_path: Path, evaluate: str) -> None:
    engine = ran(tmp_path, PER_SHOP, config=Config(evaluate=evaluate))
    found = analyzed(engine)
    (join,) = found.data["joins"]
    (run,) = join["runs"]
    assert run["measured"]["steps"][evaluate][1] > 0
    assert (run["measured"]["state_rows"] > 0) == (evaluate != "snapshot")
    assert any(s["measured"]["state_rows"] > 0 and s["measured"]["state_bytes"] > 0 for s in join["sides"])
    assert join["statistics"]["origins"] == {"groups": "measured", "batch_seconds": "measured"}
    assert all(
        i["origins"] == dict.fromkeys(("rate", "share", "keys", "sets"), "measured") for i in join["inputs"]
    )
    assert "  finish " in found.text and "in all" in found.text and "measured in batch 3" in found.text
    assert max(map(len, found.text.splitlines())) <= 110


def test_what_was_expected_stands_beside_what_was_measured(tmp_path: Path) -> None:
    found = analyzed(ran(tmp_path, PER_SHOP, config=Config(evaluate="expiry")))
    lines = found.text.splitlines()
    head = next(line for line in lines if line.startswith("  measured "))
    assert head.split() == [
        "measured",
        "rows",
        "expected",
        "ms",
        "expected",
        "state",
        "rows",
        "expected",
        "bytes",
    ]
    lift = next(line.split() for line in lines if line.startswith("  lift s (sale_"))
    assert len(lift) == 7 and float(lift[3]) == pytest.approx(float(lift[4]), rel=0.1), (
        "rows as expected, then both times"
    )
    side = next(s for s in found.data["joins"][0]["sides"] if s["source"] == "sale")
    assert side["predicted"]["state_rows"] == pytest.approx(side["measured"]["state_rows"], rel=0.1)


def test_changes_and_rows(tmp_path: Path) -> None:
    engine = ran(tmp_path, TOP + PAIRS)
    found = {j["query"]: j for j in analyzed(engine).data["joins"]}
    assert (
        found["top"]["measured"]["changes"]["state_rows"] > 0
        and found["pairs"]["runs"][0]["measured"]["steps"]["rows"][0] > 0
    )
    assert [j["query"] for j in analyzed(engine, "pairs").data["joins"]] == ["pairs"]
    assert "ran: " in analyzed(engine).svg()


def test_a_handover(tmp_path: Path) -> None:
    engine = ran(tmp_path, PER_SHOP, config=Config(early_aggregation="EAP11", evaluate="expiry"))
    engine.replan(planner_for(Config(early_aggregation="LAP", evaluate="snapshot")))
    run_both(engine, tmp_path, 2)
    found = analyzed(engine)
    (join,) = found.data["joins"]
    old, new = join["runs"]
    assert (old["name"], new["name"]) == ("EAP11 expiry", "LAP snapshot") and old["until"] == new["begin"]
    assert join["plan"]["name"] == "LAP snapshot" and len(join["sides"]) == 4
    assert "EAP11 expiry by hash join (handing over: gives out the instants before 2026-01-01" in found.text
    assert "LAP snapshot by hash join (taking over: gives out the instants from 2026-01-01" in found.text
    assert "< EAP11 expiry" in found.text and "> LAP snapshot" in found.text
    assert 'class="old"' in found.svg() and ":::old" in found.mermaid()


def test_a_join_that_comes_later(tmp_path: Path) -> None:
    ran(tmp_path, PER_SHOP)
    session = Session(tmp_path / "run")
    session.sql(streams_sql(tmp_path) + PER_SHOP + TOP + PAIRS)
    text = " ".join(session.explain(analyze=True).text.split())
    assert (
        "begins in mid-stream: instants from 2026-01-01" in text
        and "begins in mid-stream: rows from b 2026-01-01" in text
    )
