"""EXPLAIN as SVG and as Mermaid."""

from __future__ import annotations

from xml.etree import ElementTree

from explain_support import explained, query_sql, sql_of, tumbling
from join_support import PAIRS, PER_SHOP
from join_support import explained as explained_joins

from thalweg.model.windows import SECOND
from thalweg.optimizer.window_sets import random_gen

ODD = query_sql(tumbling(20, 30, 40), where="WHERE channel <> 'a \"b\" & <c>'")
PAPER = {"plan.windows": "paper"}


def texts(svg: str) -> list[str]:
    return [e.text or "" for e in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_svg_names_every_window_and_query() -> None:
    shown = texts(explained(ODD, query_sql(tumbling(60), name="other"), settings=PAPER).svg())
    assert {"10 seconds", "20 seconds", "30 seconds", "40 seconds", "1 minute"} <= set(shown)
    assert {"low", "other", "factor window", "2 combined", "3 combined", "each row"} <= set(shown)
    assert "bid by auction where channel <> 'a \"b\" & <c>'" in shown


def test_svg_marks_the_mode_in_force() -> None:
    svg = explained(query_sql(tumbling(20, 30, 40)), settings=PAPER).svg(papers=True)
    assert 'class="strong" text-anchor="start">paper<' in svg and "150 (0.42)" in texts(svg)


def test_svg_of_many_windows_stays_narrow() -> None:
    svg = explained(query_sql(map(sql_of, random_gen(30, False, 1, unit=SECOND)))).svg()
    assert float(ElementTree.fromstring(svg).get("width", "0")) <= 1400


def test_svg_of_nothing() -> None:
    assert "plan (best): 0 queries, 0 windows" in texts(explained().svg())


def test_mermaid_has_a_node_and_an_edge_per_window() -> None:
    lines = [line.strip() for line in explained(ODD, settings=PAPER).mermaid().splitlines()]
    assert lines[0] == "flowchart TB"
    assert "subgraph g0[\"bid by auction where channel #lt;#gt; 'a #quot;b#quot; #amp; #lt;c#gt;'\"]" in lines
    assert sum("-->" in line for line in lines) == 4
    assert sum(":::asked" in line for line in lines) == 3 and sum(":::factor" in line for line in lines) == 1


def test_svg_of_joins() -> None:
    svg = explained_joins(PER_SHOP, PAIRS).svg()
    shown = texts(svg)
    expected = {
        "bid b",
        "sale s",
        "partial aggregates",
        "rows",
        "results of per_shop",
        "EAP11 snapshot by hash join",
        "rows by hash join",
    }
    assert expected <= set(shown)
    assert (
        "shuffle: b by hash of auction, s by hash of auction" in shown
        and 'class="set"' in svg
        and 'class="kept"' in svg
    )


def test_mermaid_of_joins() -> None:
    lines = [line.strip() for line in explained_joins(PER_SHOP, PAIRS).mermaid().splitlines()]
    assert 'subgraph j0["per_shop: join of bid b and sale s"]' in lines
    assert sum("-->" in line for line in lines) == 10
    assert sum(":::set" in line for line in lines) == 2 and sum(":::kept" in line for line in lines) == 2
