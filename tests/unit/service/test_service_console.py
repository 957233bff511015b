"""The console in a real browser, over a session without Spark. Needs the extra `browser` and Debian's chromium."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service_support import SUMS, WRITER, Served

playwright = pytest.importorskip(
    "playwright.sync_api", reason="pip install 'thalweg[browser]' to test the console in a browser"
)
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="apt-get install chromium to test the console in a browser"
)
SIZES = [("light", 1280), ("dark", 1280), ("light", 390)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        yield made


class Page:
    """A page of the console; what it complains of, other than requests that were refused, is kept."""

    def __init__(self, browser: Any, served: Served, theme: str = "light", width: int = 1280) -> None:
        self.context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
        self.page, self.errors = self.context.new_page(), list[str]()
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on(
            "console",
            lambda m: (
                self.errors.append(m.text) if m.type == "error" and "Failed to load" not in m.text else None
            ),
        )
        self.page.goto(f"{served.url}/#token={WRITER}")

    def sees(self, where: str, text: str) -> None:
        """Wait for a text."""
        playwright.expect(self.page.locator(where)).to_contain_text(text, timeout=60_000)

    def goes(self, name: str) -> None:
        """Another page of the console."""
        self.page.evaluate("to => { location.hash = to }", f"#/{name}")


def test_a_query_is_written_seen_and_dropped(browser: Any, served: Served) -> None:
    console = Page(browser, served)
    page = console.page
    console.sees("main", "no query runs, so nothing is read")
    assert WRITER not in page.url, "the token does not stay in the address"
    page.get_by_role("link", name="Queries").click()
    page.get_by_label("SQL").fill(f"CREATE QUERY sums AS {SUMS.replace('SUM(v)', 'SUM(w)')}")
    console.sees(".problem", "unknown column w")
    playwright.expect(page.locator(".wrong")).to_have_text("w")
    page.get_by_label("SQL").fill(f"CREATE QUERY sums AS {SUMS}")
    console.sees("main", "How sums would be computed")
    page.get_by_label("SQL").press("Control+Enter")
    console.sees("main", "query sums created")
    served.batch()
    page.get_by_role("link", name="sums").click()
    playwright.expect(page.locator(".live tbody tr")).to_have_count(3, timeout=60_000)
    served.batch()
    playwright.expect(page.locator(".live tbody tr")).to_have_count(9, timeout=60_000)
    page.get_by_role("button", name="Pause").click()
    served.batch()
    console.sees("main", "paused, 6 more rows have come")
    page.get_by_role("button", name="Go on").click()
    playwright.expect(page.locator(".live tbody tr")).to_have_count(15, timeout=60_000)
    page.reload()
    playwright.expect(page.locator(".live tbody tr")).to_have_count(15, timeout=60_000)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Drop").click()
    console.sees("main", "There is none yet")
    assert served.get("/v1/queries") == [] and console.errors == []


@pytest.mark.parametrize(("theme", "width"), SIZES)
def test_every_page_in_both_themes_and_on_a_phone(
    browser: Any, served: Served, theme: str, width: int
) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    console = Page(browser, served, theme, width)
    for name, text in {
        "overview": "Last batches",
        "queries": "sums",
        "query/sums": "Figures",
        "plan": "created sums",
        "streams": "All known up to",
    }.items():
        console.goes(name)
        console.sees("main", text)
        wide = console.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} wide"
    assert console.errors == []


def test_without_a_token_it_asks_for_one(browser: Any, served: Served) -> None:
    console = Page(browser, served)
    console.page.evaluate("sessionStorage.clear()")
    console.page.goto(f"{served.url}/?again#/overview")
    console.sees("main", "This console needs a token")
    console.page.get_by_label("Token").fill(WRITER)
    console.page.get_by_role("button", name="Open").click()
    console.sees("main", "What is wrong now")
