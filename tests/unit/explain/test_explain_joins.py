"""EXPLAIN of joins: every plan with its cost, what is kept of each input, and why the winner won."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from explain_support import as_shown, query_sql, tumbling
from join_support import PAIRS, PER_SHOP, TOP, explained

from thalweg import Session

MANY = """CREATE QUERY many AS SELECT a.auction, COUNT(*) AS n
  FROM bid AS a [RANGE 20 SECONDS], bid AS b [RANGE 20 SECONDS], bid AS c [RANGE 20 SECONDS],
    bid AS d [RANGE 20 SECONDS], sale AS s [UNBOUNDED]
  WHERE a.auction = b.auction AND b.auction = c.auction AND c.auction = d.auction AND d.auction = s.auction
  GROUP BY a.auction EVERY 10 SECONDS;"""


def test_all_plans_cheapest_first() -> None:
    (join,) = explained(PER_SHOP).data["joins"]
    work = [p["work_ms"] for p in join["plans"]]
    assert len(work) == 14 and work == sorted(work)
    assert {k: join["plans"][0][k] for k in join["plan"]} == join["plan"]
    for plan in join["plans"]:
        assert sum(plan["terms"].values()) == pytest.approx(plan["work_ms"], abs=1e-4)


def test_max_has_no_delta() -> None:
    (join,) = explained(TOP).data["joins"]
    found = [p["evaluate"] for p in join["plans"]]
    assert [found.count(e) for e in ("snapshot", "expiry", "materialize", "delta")] == [4, 4, 1, 0]


def test_partitioning_and_inputs() -> None:
    (join,) = explained(PER_SHOP).data["joins"]
    assert join["partitioning"] == {"axes": [{"b": ['"auction"'], "s": ['"auction"']}], "whole": []}
    assert [(i["alias"], i["source"], i["length_seconds"]) for i in join["inputs"]] == [
        ("b", "bid", 20),
        ("s", "sale", 10),
    ]
    assert all(set(i["origins"].values()) == {"assumed"} for i in join["inputs"])


def test_shared_sides() -> None:
    found = explained(PER_SHOP, TOP)
    for join, other in zip(found.data["joins"], ("top", "per_shop"), strict=True):
        assert [s["shared_by"] for s in join["sides"]] == [[other], [other]]
    assert found.text.count("one state for per_shop, top") == 4


def test_the_papers_costs() -> None:
    (join,) = explained(PER_SHOP).data["joins"]
    assert next(iter(join["paper_costs"])) == "EAP11" and set(join["paper_costs"]) == {
        "LAP",
        "EAP10",
        "EAP01",
        "EAP11",
    }
    found = explained(PER_SHOP)
    assert (
        "by the paper: EAP11 1.00" in found.say(papers=True) and "by the paper: EAP11 1.00" in found.verbose
    )
    assert "by the paper" not in found.text


@pytest.mark.parametrize("evaluate", ["snapshot", "delta", "expiry", "materialize"])
@pytest.mark.parametrize("early", ["LAP", "EAP10", "EAP11"])
def test_a_forced_plan(early: str, evaluate: str) -> None:
    found = explained(PER_SHOP, settings={"plan.early_aggregation": early, "plan.evaluate": evaluate})
    (join,) = found.data["joins"]
    assert join["plan"]["name"] == f"{early} {evaluate}" and len(join["plans"]) == 1
    words = {
        "LAP": ("rows", "rows"),
        "EAP10": ("partial aggregates", "rows"),
        "EAP11": ("partial aggregates",) * 2,
    }
    for alias, said in zip("bs", words[early], strict=True):
        assert f"    {alias}: {said} " in found.text
    for step in join["runs"][0]["steps"]:
        assert as_shown(step["sql"]) in as_shown(found.verbose)


def test_expressions_are_the_user_s() -> None:
    query = """CREATE QUERY odd AS SELECT s.auction + 7 AS rest, COUNT(DISTINCT b.price) AS n, SUM(b.price * 2) AS paid
      FROM bid AS b [RANGE 20 SECONDS], sale AS s [RANGE 10 SECONDS]
      WHERE b.auction + 1 = s.auction AND b.channel <> 'TRY("x")' AND (b.price > 3 OR s.shop = 'a0 k0')
      GROUP BY s.auction + 7 HAVING SUM(b.price * 2) > (s.auction + 7) * 3 EVERY 5 SECONDS;"""
    found = " ".join(explained(query).text.split())
    assert "on b.auction + 1 = s.auction and (b.price > 3 OR s.shop = 'a0 k0')" in found
    assert "where channel <> 'TRY(\"x\")': " in found
    assert "having SUM(b.price * 2) > (s.auction + 7) * 3" in found
    assert "aggregates COUNT(DISTINCT b.price), SUM(b.price * 2)" in found
    assert (
        "state b: partial aggregates by (price, auction + 1) per 5 seconds: count(*), list(DISTINCT price)"
        in found
    )


THREE = """CREATE QUERY three AS SELECT a.shop, COUNT(*) AS n
  FROM sale AS a [RANGE 20 SECONDS], sale AS b [RANGE 20 SECONDS], bid AS c [RANGE 20 SECONDS]
  WHERE a.auction = c.auction AND b.shop = c.channel GROUP BY a.shop EVERY 10 SECONDS;"""


def test_the_order_in_which_inputs_meet() -> None:
    found = explained(THREE, settings={"plan.early_aggregation": "LAP", "plan.evaluate": "expiry"})
    (join,) = found.data["joins"]
    assert [m["fresh"] for m in join["plan"]["order"]] == ["a", "b", "c"]
    assert all(
        m["inputs"] != ["a", "b", "c"] and sorted(m["inputs"]) == ["a", "b", "c"]
        for m in join["plan"]["order"]
    )
    assert join["runs"][0]["order"] == join["plan"]["order"] == join["plans"][0]["order"]
    assert "inputs meet in the order " in found.text
    assert (
        explained(PER_SHOP).data["joins"][0]["plan"]["order"] == []
        and "in the order" not in explained(PER_SHOP).text
    )


def test_a_forced_order() -> None:
    found = explained(THREE, settings={"plan.order": "written"})
    assert found.data["joins"][0]["plan"]["order"] == [] and "inputs meet in the order a, b, c" in found.text
    assert "plan.order = written is set, else " in " ".join(found.text.split())


def test_why() -> None:
    assert "of LAP snapshot: it saves most in join" in explained(PER_SHOP).text
    late = explained(PER_SHOP, settings={"plan.early_aggregation": "LAP", "plan.evaluate": "snapshot"}).text
    assert "LAP snapshot is the only plan left open" in late and "else EAP11 snapshot would cost" in " ".join(
        late.split()
    )


def test_joined_rows_have_one_plan() -> None:
    found = explained(PAIRS)
    (join,) = found.data["joins"]
    assert join["plan"]["name"] == "LAP rows" and join["paper_costs"] == {} and join["every_seconds"] is None
    assert "s less than 20 seconds after b and b less than 10 seconds after s" in found.text
    assert "until the watermark of s is 20 seconds past them" in " ".join(found.text.split())


def test_windows_stay_well_formed() -> None:
    data = json.loads(explained(PER_SHOP).json())
    assert data["windows"]["groups"] == [] and data["windows"]["costs"] == {
        "naive": 0,
        "shared": 0,
        "paper": 0,
        "best": 0,
    }
    assert "joins" not in explained(query_sql(tumbling(20))).data


def test_many_plans_fit_and_the_rest_is_in_the_verbose_form() -> None:
    found = explained(MANY)
    assert len(found.data["joins"][0]["plans"]) == 98
    assert "... and 86 more plans, in the verbose form" in found.text and "more plans" not in found.verbose
    assert max(map(len, explained(MANY, PER_SHOP, PAIRS).text.splitlines())) <= 110


def test_a_window_of_millions_of_instants_is_explained_in_no_time(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.sql(
        "CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'in', time = 'at')"
    )
    windows = "s AS a [RANGE 1 MINUTE], s AS b [RANGE 86400 HOUR]"
    session.query(f"SELECT a.k, COUNT(*) AS n FROM {windows} WHERE a.k = b.k GROUP BY a.k EVERY 5 SECONDS")
    started = time.thread_time()
    assert session.explain().verbose
    assert time.thread_time() - started < 1
