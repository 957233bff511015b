"""Every statement gives a typed outcome: a text, HTML for notebooks, and plain values that JSON can have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thalweg import Session
from thalweg.api.outcomes import Assigned, Created, Declared, Dropped, Explained, Listing

STREAM = "CREATE STREAM bid (auction BIGINT, price BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'in', time = 'at');"
TABLE = "CREATE TABLE person (id BIGINT, name STRING) WITH (format = 'csv', path = 'p.csv');"
QUERY = "CREATE QUERY top AS SELECT auction, MAX(price) AS top FROM bid WHERE price < 9 GROUP BY auction, TUMBLE '1 minute';"
SCRIPT = f"""{STREAM} {TABLE} {QUERY} SET plan.windows = 'naive'; SHOW QUERIES; SHOW STREAMS; SHOW STATISTICS; SHOW PLAN;
EXPLAIN QUERY top; DROP QUERY top; DROP TABLE person; DROP STREAM bid"""


def test_the_outcome_of_every_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcomes = Session(tmp_path / "run").sql(SCRIPT)
    kinds = (
        Declared,
        Declared,
        Created,
        Assigned,
        Listing,
        Listing,
        Listing,
        Explained,
        Explained,
        Dropped,
        Dropped,
        Dropped,
    )
    assert tuple(type(o) for o in outcomes) == kinds
    assert outcomes[0] == Declared("stream", "bid")
    assert outcomes[2] == Created("top", str(tmp_path / "run" / "results" / "top"))
    assert [str(o) for o in outcomes[-3:]] == [
        "query top dropped",
        "table person dropped",
        "stream bid dropped",
    ]
    assert str(outcomes[3]) == "plan.windows is now naive"


def test_outcomes_are_fit_for_json_and_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcomes = Session(tmp_path / "run").sql(SCRIPT)
    found = json.loads(json.dumps([o.data for o in outcomes]))
    assert [f["outcome"] for f in found][:5] == ["declared", "declared", "created", "assigned", "listing"]
    assert found[4]["header"][0] == "query" and found[4]["rows"][0][0] == "top"
    assert found[8]["statement"] == "EXPLAIN QUERY top" and found[8]["queries"]
    html = outcomes._repr_html_()
    assert (
        "<td>top</td>" in html
        and "<pre>" in html
        and "price < 9" not in html
        and str(outcomes).startswith("stream bid declared\n")
    )


def test_a_query_of_rows_is_listed_without_a_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(tmp_path / "run")
    session.sql(f"{STREAM} CREATE QUERY passing AS SELECT auction FROM bid AS b WHERE price > 3;")
    (listed,) = session.sql("SHOW QUERIES")
    assert isinstance(listed, Listing)
    (row,) = listed.rows
    assert dict(zip(listed.header, row, strict=True))["windows"] == ""
