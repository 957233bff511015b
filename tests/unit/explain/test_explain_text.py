"""The text of EXPLAIN: it fits, it is a tree, it says why."""

from __future__ import annotations

import json

import pytest
from explain_support import as_shown, explained, query_sql, sql_of, tumbling

from thalweg.model.windows import SECOND
from thalweg.optimizer.window_sets import random_gen, sequential_gen

SETS = {
    "tumbling": random_gen(20, True, 1, unit=SECOND),
    "hopping": random_gen(20, False, 2, unit=SECOND),
    "sequence": sequential_gen(20, False, 3, unit=SECOND),
    "uneven": random_gen(20, False, 4, unit=1),
}


@pytest.mark.parametrize("call", ["MIN(price)", "SUM(price)", "MEDIAN(price)"])
@pytest.mark.parametrize("windows", SETS.values(), ids=SETS.keys())
def test_lines_fit(windows, call: str) -> None:  # type: ignore[no-untyped-def]
    name = "a_query_with_quite_a_long_name_that_leaves_little_room"
    text = explained(
        query_sql(map(sql_of, windows), call, name), query_sql(map(sql_of, windows[:5]), call, "other")
    ).text
    assert max(map(len, text.splitlines())) <= 110


def test_a_chain_is_drawn_in_short() -> None:
    text = explained(query_sql(["HOP '1 hour' BY '1 second'"])).text
    assert "└─ 1 hour by 1 second" in text or "└─ 1 h by 1 s" in text


def test_the_tree_follows_the_plan() -> None:
    found = explained(query_sql(tumbling(20, 30, 40)), settings={"plan.windows": "paper"})
    text = found.text
    lines = [line[2 : line.index("seconds") + 7] for line in text.splitlines() if "─ " in line]
    assert lines == ["└─ 10 seconds", "   ├─ 20 seconds", "   │  └─ 40 seconds", "   └─ 30 seconds"]
    assert "(factor)" in text and "the paper" not in text
    assert "the paper's factor windows: <10, 10> in seconds" in found.say(papers=True)


def test_every_window_of_naive_reads_the_rows() -> None:
    text = explained(query_sql(tumbling(20, 30, 40)), settings={"plan.windows": "naive"}).text
    assert "every window reads the rows; best would cost" in text


def test_one_window_leaves_no_choice() -> None:
    assert "every mode makes this plan" in explained(query_sql(tumbling(20))).text


def test_verbose_has_the_sql_of_every_step() -> None:
    found = explained(query_sql(tumbling(20, 30, 40)))
    for query in found.data["queries"]:
        assert as_shown(query["sql"]) in as_shown(found.verbose)
    assert found.text.splitlines()[0] == found.verbose.splitlines()[0] and len(found.verbose) > len(
        found.text
    )


def test_names_are_plain_and_predicates_whole() -> None:
    text = explained(query_sql(tumbling(20), where="WHERE channel = 'a \"b\"' AND price > 3")).text
    assert "bid by auction where channel = 'a \"b\"' and price > 3" in text


def test_a_period_that_no_float_holds() -> None:
    found = explained(query_sql(f"TUMBLE '{10**8 + n} microseconds'" for n in range(1, 80)))
    assert "1 query" in found.text and found.svg() and found.mermaid()
    assert "e+" in json.loads(found.json())["windows"]["groups"][0]["period"]
