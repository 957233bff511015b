"""The SQL that the README and the documentation show is accepted as it stands, page by page."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg import Session
from thalweg.api.functions import declare_from
from thalweg.testing.local import LocalSession

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def shown(page: Path) -> list[str]:
    """The scripts of a page."""
    return re.findall(r"```sql\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_there_is_something_to_read() -> None:
    assert sum(len(shown(page)) for page in PAGES) >= 6


@pytest.mark.parametrize("page", [p for p in PAGES if shown(p)], ids=lambda p: p.name)
def test_what_a_page_shows_is_accepted(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(tmp_path / "run")
    for script in shown(page):
        session.sql(script, page.name)
    assert session.catalog.queries and session.explain().text


def test_what_contributing_names_is_there() -> None:
    named = re.findall(
        r"`((?:tests/|docs/)?[\w./]+(?:/|\.py))`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    )
    missing = [n for n in named if not (ROOT / n).exists() and not (ROOT / "src" / "thalweg" / n).exists()]
    assert len(named) > 40 and not missing


def test_the_python_functions_that_are_shown_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = LocalSession(tmp_path / "run")
    section = (
        (ROOT / "docs" / "sql.md")
        .read_text(encoding="utf-8")
        .split("### Python functions")[1]
        .split("## ")[0]
    )
    first, marked = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(first, {"session": session})
    Path("mine.py").write_text(marked)
    assert declare_from(session, "mine.py") == ("domain",)
    session.sql("CREATE QUERY domains AS SELECT domain(channel) AS name FROM offer")
    rows = {
        "item": [1, 2],
        "price": [100, 3],
        "channel": ["web", "a@b"],
        "at": pa.array([0, 1], pa.timestamp("us")),
    }
    Path("data/offer").mkdir(parents=True)
    pq.write_table(pa.table(rows), "data/offer/1.parquet")
    session.batch([("offer", str(tmp_path / "data/offer/1.parquet"))])
    assert session.handle("risky").results().column("risk").to_pylist() == [150.0]
    assert sorted(session.handle("domains").results().column("name").to_pylist()) == ["b", "web"]
