"""The SQL that the README and the documentation show is accepted as it stands, page by page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from thalweg import Session

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
