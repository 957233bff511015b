"""`thalweg explain` in its forms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from explain_support import query_sql, stream_sql, tumbling
from typer.testing import CliRunner, Result

from thalweg.cli.main import app


@pytest.fixture
def explain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    Path("app.sql").write_text(stream_sql() + query_sql(tumbling(20, 30, 40)))
    return lambda *args: CliRunner().invoke(app, ["explain", "app.sql", *args])


def test_a_picture(explain: Callable[..., Result]) -> None:
    said = explain("--svg", "plan.svg")
    assert said.exit_code == 0 and said.stdout == "" and "plan.svg" in said.stderr
    assert Path("plan.svg").read_text().startswith("<svg ")


def test_a_picture_has_no_place(explain: Callable[..., Result]) -> None:
    said = explain("--svg", "nowhere/plan.svg")
    assert said.exit_code == 1 and "nowhere/plan.svg: no such file or directory" in said.stderr


def test_mermaid(explain: Callable[..., Result]) -> None:
    assert explain("--mermaid").stdout.startswith("flowchart TB\n")


def test_verbose(explain: Callable[..., Result]) -> None:
    assert "emit low: 20 seconds" in explain("--verbose").stdout


def test_papers(explain: Callable[..., Result]) -> None:
    assert "paper, R = 120 seconds" in explain("--papers").stdout and "paper, R =" not in explain().stdout
    assert (
        explain("--papers", "--svg", "plan.svg").exit_code == 0
        and "paper: events in" in Path("plan.svg").read_text()
    )


def test_nothing_was_measured(explain: Callable[..., Result]) -> None:
    said = explain("--analyze")
    assert (
        said.exit_code == 0
        and "nothing was measured yet" in said.stderr
        and said.stdout.startswith("plan (best)")
    )
