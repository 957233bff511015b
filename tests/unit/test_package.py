"""The package as others see it: names, types, what notebooks show."""

from __future__ import annotations

import tomllib
from pathlib import Path

import thalweg
from thalweg import QueryHandle, Session

ROOT = Path(__file__).parents[2]


def test_names_that_are_offered_can_be_had() -> None:
    assert {"Session", "QueryHandle", "UsageError"} <= set(dir(thalweg))
    assert all(getattr(thalweg, name) is not None for name in dir(thalweg))


def test_types_are_shipped() -> None:
    assert (Path(thalweg.__file__).parent / "py.typed").exists()


def test_the_reference_is_shipped() -> None:
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]["force-include"]
    assert shipped == {"docs/sql.md": "thalweg/sql.md"} and (ROOT / "docs" / "sql.md").exists()


def test_handles_and_explanations_in_a_notebook(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.sql(
        "CREATE STREAM s (v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'in', time = 'at')"
    )
    query: QueryHandle = session.query("SELECT COUNT(*) AS n FROM s WHERE v < 3 GROUP BY TUMBLE '1 minute'")
    shown = query._repr_html_()
    assert "<b>s_1</b>: stopped" in shown and "v &lt; 3" in shown and str(tmp_path) in shown
    drawn = session.explain()._repr_html_()
    assert drawn.startswith('<img alt="the plan, drawn" src="data:image/svg+xml;base64,') and "<pre>" in drawn
    assert f"<b>{tmp_path}</b>: new" in session._repr_html_() and "v &lt; 3" in session._repr_html_()
