"""What operators are given: a dashboard and alerts over metrics that there are, and a page that names all of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from service_support import SUMS, Served

DOCS = Path(__file__).parents[3] / "docs"
METRIC = re.compile(r"\bthalweg_\w+")


@pytest.fixture
def told(tmp_path: Path) -> Iterator[set[str]]:
    """The names of all samples and metrics of a service that has done something."""
    with Served(tmp_path) as served:
        served.sql(f"CREATE QUERY sums AS {SUMS}")
        served.batch()
        yield set(METRIC.findall(served.http.get("/metrics").text))


def test_the_dashboard_asks_for_what_there_is(told: set[str]) -> None:
    board = json.loads((DOCS / "grafana.json").read_text())
    asked = [t["expr"] for panel in board["panels"] for t in panel["targets"]]
    named = {name for expression in asked for name in METRIC.findall(expression)}
    assert len(asked) > 12 and len(named) > 10 and named <= told
    assert len({p["id"] for p in board["panels"]}) == len(board["panels"])
    assert all(e.count("(") == e.count(")") and e.count("{") == e.count("}") for e in asked)


def test_alerts_are_about_what_there_is(told: set[str]) -> None:
    expressions = re.findall(r"^ +expr: (.+)$", (DOCS / "alerts.yml").read_text(), re.MULTILINE)
    named = {name for expression in expressions for name in METRIC.findall(expression)}
    assert len(expressions) == 7 and named and named <= told


def test_the_page_names_every_metric(told: set[str]) -> None:
    page = set(METRIC.findall((DOCS / "operations.md").read_text()))
    whole = {re.sub(r"_(bucket|sum|count)$", "", name) for name in told}
    assert page == whole
