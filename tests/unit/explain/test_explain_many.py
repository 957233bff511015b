"""EXPLAIN of many queries and windows: a summary, what is shared by whom, and the rest on request."""

from __future__ import annotations

import json
import re

import pytest
from explain_support import explained, query_sql, tumbling
from join_support import PAIRS, PER_SHOP, TOP, streams_sql
from join_support import explained as explained_joins

from thalweg.api.outcomes import Explained
from thalweg.api.session import Session

LOW = "CREATE QUERY low AS SELECT auction, window_end, MIN(price) AS v FROM bid WHERE price > 3 GROUP BY auction, TUMBLE '5 seconds';"


def of_shop(number: int) -> str:
    """One of many joins that differ in the window of bids."""
    return PER_SHOP.replace("per_shop", f"shop_{number}").replace(
        "20 SECONDS", f"{10 + 5 * (number % 10)} SECONDS"
    )


FIFTY = [of_shop(n) for n in range(30)] + [
    query_sql(tumbling(10 + n % 7, 60), name=f"low_{n}") for n in range(20)
]


@pytest.fixture(scope="module")
def fifty() -> Session:
    session = Session("nowhere")
    session.sql(streams_sql() + "".join(FIFTY))
    return session


def test_fifty_queries_are_a_summary(fifty: Session) -> None:
    lines = fifty.explain().text.splitlines()
    assert lines[0].startswith("plan (best): 50 queries") and len(lines) < 100 and max(map(len, lines)) <= 110
    assert "  streams     bid (read once for 50 queries), sale (read once for 30 queries)" in lines
    assert sum(bool(re.match(r"  (shop|low)_\d+ .* \d+\.\d %$", line)) for line in lines) == 50
    assert any("by 30 queries (shop_0, shop_10, " in line for line in lines) and any(
        "... and 11 more sets" in line for line in lines
    )
    assert not any("join of bid b and sale s" in line for line in lines)


def test_one_of_fifty_is_said_in_full(fifty: Session) -> None:
    (shown,) = fifty.sql("EXPLAIN QUERY shop_3;")
    assert isinstance(shown, Explained) and "shop_3: join of bid b and sale s" in shown.explanation.text
    verbose = fifty.explain().verbose
    assert all((f"shop_{n}: join of bid b and sale s" in verbose) == (n < 10) for n in range(30)), (
        "those that are alike are said once"
    )


def test_shares_add_up(fifty: Session) -> None:
    data = fifty.explain().data
    nodes, shares = [f["predicted"] for f in data["fragments"]], data["shares"]
    assert sum(s["cost"] for s in shares.values()) == pytest.approx(sum(n["cost"] for n in nodes), rel=1e-3)
    assert sum(s["state_rows"] for s in shares.values()) == pytest.approx(
        sum(n["state_rows"] for n in nodes), rel=1e-3
    )
    assert all(
        (s["cost"] > 0) == q.startswith("low") and (s["work_ms"] > 0) == q.startswith("shop")
        for q, s in shares.items()
    )


def test_queries_that_are_alike_run_once(fifty: Session) -> None:
    text = explained_joins(PER_SHOP, PER_SHOP.replace("per_shop", "again"), PAIRS).text
    assert "alike       per_shop, again ask the same: they run once" in text
    assert "computed once for per_shop, again" in text
    assert ["shop_0", "shop_10", "shop_20"] in fifty.explain().data["alike"]


def test_one_of_several_that_are_alike(fifty: Session) -> None:
    (shown,) = fifty.sql("EXPLAIN QUERY low_7;")
    assert isinstance(shown, Explained)
    lines = shown.explanation.text.splitlines()
    assert lines[1] == "  alike       low_0, low_7, low_14 ask the same: they run once" and lines[
        2
    ].startswith("  shared      by 20 queries (low_0, ")
    assert shown.explanation.data["alike"] == [["low_0", "low_7", "low_14"]]


def test_a_query_that_others_ask_too_adds_nothing_and_one_that_is_new_is_told_what_it_adds(
    fifty: Session,
) -> None:
    same, new = fifty.explain("low_7"), fifty.explain(LOW.partition(" AS ")[2])
    assert "  adds        0 hash-table updates a batch, 0 state rows to 49 other queries" in same.text
    assert same.data["adds"] == {"others": 49, "cost": 0.0, "work_ms": 0.0, "state_rows": 0.0}
    assert new.data["adds"]["cost"] > 0 and new.data["adds"]["state_rows"] > 0
    assert "state rows to 50 other queries" in new.text
    assert "  adds " not in explained_joins(PER_SHOP).text and "adds: what would be saved" in new.text
    assert "adds" not in fifty.explain().data and "adds" not in fifty.explain("low_7", marginal=False).data


def test_a_fragment_of_windows_and_joins_is_one() -> None:
    found = explained_joins(LOW, PER_SHOP)
    (shared,) = (f for f in found.data["fragments"] if len(f["queries"]) > 1)
    assert (
        shared["queries"] == ["low", "per_shop"]
        and shared["given_to"] == ["low"]
        and shared["joined_by"] == ["per_shop"]
    )
    assert "(5 seconds: also what is kept for the join of per_shop)" in found.text
    assert (
        "one state for low, per_shop" in found.text
        and ">2</text>" in found.svg()
        and "shared by 2 queries" in found.mermaid()
    )
    assert "  g0w0 -. the same .- j0r0k0" in found.mermaid().splitlines()


def test_names_are_short_for_people_and_whole_for_programs() -> None:
    found = explained_joins(PER_SHOP, TOP)
    assert re.search(r"bid_[0-9a-f]{6}\b", found.text) and not re.search(r"[0-9a-f]{32}", found.text)
    assert all(re.fullmatch(r"\w+_[0-9a-f]{32}", f["id"]) for f in found.data["fragments"])
    assert not re.search(r"[0-9a-f]{32}", found.verbose) and re.search(
        r"[0-9a-f]{32}", found.data["fragments"][0]["sql"]
    )


def test_two_hundred_windows_of_two_kinds() -> None:
    windows = tumbling(*range(5, 1005, 5))
    found = explained(query_sql(windows), query_sql(windows, "MEDIAN(price)", "middle"))
    lines = found.text.splitlines()
    assert len(lines) < 200 and "... and 160 more windows" in found.text and max(map(len, lines)) <= 110
    assert sum("computed once for all" in line for line in lines) == 2
    assert len(found.verbose.splitlines()) > 400 and len(json.loads(found.json())["windows"]["groups"]) == 2


def test_windows_without_a_common_multiple_that_a_number_holds() -> None:
    """The least common multiple of the primes below 400 has 160 digits."""
    primes = [n for n in range(2, 400) if all(n % d for d in range(2, n))]
    found = explained(query_sql(tumbling(*primes)))
    assert len(primes) == 78 and len(found.text.splitlines()) < 200 and "inf" not in found.text


def test_many_aggregates_are_listed_shortly() -> None:
    calls = ", ".join(f"MIN(price + {n}) AS v{n}" for n in range(60))
    said = explained(query_sql(tumbling(20), f"{calls}, MIN(price)")).text
    assert (
        re.search(r"and \d+ more \(pieces may overlap\)", " ".join(said.split()))
        and len(said.splitlines()) < 30
    )


def test_words_are_explained_where_they_occur() -> None:
    windows, joins = explained(query_sql(tumbling(20))).text, explained_joins(PER_SHOP).text
    assert "\nEAP: early aggregation" in joins and "\ninstant: " in joins and "\nexpiry: " in joins
    assert "EAP" not in windows and "instant: " not in windows
    assert (
        "\nfactor: " not in windows
        and "\nfactor: " in explained(query_sql(tumbling(20, 30)), settings={"plan.windows": "paper"}).text
    )


def test_a_join_is_told_in_stages() -> None:
    labels = [
        line[2:14].strip() for line in explained_joins(TOP).text.splitlines() if re.match("  [a-z]", line)
    ]
    at = labels.index("stage 1")
    assert labels[at : at + 6] == ["stage 1", "shuffle", "state", "stage 2", "shuffle", "stage 3"]


def test_very_many_windows_are_explained() -> None:
    text = explained(query_sql(tumbling(*range(1, 713)))).text
    assert text.startswith("plan (best): 1 query, 712 windows") and max(map(len, text.splitlines())) <= 110
