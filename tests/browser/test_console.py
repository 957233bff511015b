"""The console in a real browser, over a session without Spark. Without a browser it is skipped, but with CI=true it fails."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_support import WAIT, Page
from playwright.sync_api import expect, sync_playwright
from service_support import READER, SUMS, WRITER, Served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = "no chromium: make chromium installs it on Debian, or put one on the PATH"
SIZES = [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 2200)]
PAGES = {
    "overview": "Last batches",
    "queries": "Share of the cost",
    "query/sums": "who shares it",
    "plan": "created sums",
    "plan/sums": "naive",
    "streams": "All known up to",
}
UNNAMED = """() => [...document.querySelectorAll("button, input, select, textarea, meter, [role], a[href]")]
  .filter((e) => !(e.ariaLabel || e.textContent.trim() || e.title || e.labels?.length || e.querySelector("img")))
  .map((e) => e.outerHTML.slice(0, 120))"""

FAINT = """() => {
  const shade = (c) => c.match(/[\\d.]+/g).map(Number);
  const part = (v) => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) { const c = shade(getComputedStyle(e).backgroundColor); if ((c[3] ?? 1) === 1) return c }
    return [255, 255, 255];
  };
  const faint = (e, style) => {
    const [high, low] = [light(shade(style.color)), light(behind(e))].sort((a, b) => b - a);
    return (high + .05) / (low + .05) < 4.5 ? [`${e.tagName} ${e.className}: ${style.color} on ${behind(e)}`] : [];
  };
  const said = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) && e.getClientRects().length && !e.closest("svg");
  const looked = (e) => e.placeholder ? faint(e, getComputedStyle(e, "::placeholder")) : said(e) ? faint(e, getComputedStyle(e)) : [];
  return [...document.querySelectorAll("body *")].flatMap(looked);
}"""
"""Texts that are hard to tell from what is behind them: WCAG asks for a ratio of 4.5."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    if CHROMIUM is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(MISSING)
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        yield made


def test_a_query_is_written_seen_altered_and_dropped(browser: Any, served: Served) -> None:
    console = Page(browser, served)
    page = console.page
    console.sees("main", "no query runs, so nothing is read")
    assert WRITER not in page.url, "the token does not stay in the address"
    page.get_by_role("link", name="Queries").click()
    console.writes(f"CREATE QUERY sums AS {SUMS.replace('SUM(v)', 'SUM(w)')}")
    console.sees(".problem", "unknown column w")
    expect(page.locator(".wrong")).to_have_text("w")
    console.writes(f"/* \U0001f600 */ CREATE QUERY sums AS {SUMS.replace('SUM(v)', 'SUM(ww)')}")
    expect(page.locator(".wrong")).to_have_text("ww")
    console.writes(f"CREATE QUERY sums AS {SUMS}")
    expect(page.locator(".editor .k").first).to_have_text("CREATE")
    console.sees("main", "How sums would be computed")
    console.sees(".adds", "Added to the cost of the other queries: +")
    page.reload()
    console.sees("main", "How sums would be computed")  # what was being written is still there
    page.get_by_label("SQL").press("Control+Enter")
    console.sees("main", "query sums created")
    served.batch()
    page.get_by_role("link", name="sums").click()
    console.counts(".live tbody tr", 3)
    served.batch()
    console.counts(".live tbody tr", 9)
    page.get_by_role("button", name="Pause").click()
    served.batch()
    console.sees("main", "paused, 6 more rows have come")
    page.get_by_role("button", name="Go on").click()
    console.counts(".live tbody tr", 15)
    page.reload()
    console.counts(".live tbody tr", 15)
    page.get_by_role("link", name="Show it in the plan").click()
    expect(page.locator(".paper g.mine").last).to_contain_text("1 second")
    page.go_back()
    page.get_by_role("button", name="Alter").click()
    expect(page.get_by_label("SQL")).to_have_value(f"ALTER QUERY sums AS\n{SUMS}")
    console.writes(f"ALTER QUERY sums AS\n{SUMS.replace('1 second', '2 seconds')}")
    page.get_by_role("button", name="Run").click()
    console.sees("main", "query sums replaced")
    served.batch()
    page.get_by_role("link", name="sums").click()
    console.sees("main", "TUMBLE '2 seconds'")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Drop").click()
    console.sees("main", "There is none yet")
    assert served.get("/v1/queries") == [] and console.errors == []


@pytest.mark.parametrize(("theme", "width"), SIZES)
def test_every_page_in_both_themes_from_a_phone_to_a_wide_screen(
    browser: Any, served: Served, theme: str, width: int
) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.sql(f"CREATE QUERY more AS {SUMS.replace('1 second', '2 seconds')}")
    served.batch()
    console = Page(browser, served, theme, width)
    for name, text in PAGES.items():
        console.goes(name)
        console.sees("main", text)
        wide = console.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} wide"
        assert console.page.evaluate(UNNAMED) == [], (
            f"{name} has something without a name for a screen reader"
        )
        assert console.page.evaluate(FAINT) == [], f"{name} has texts that are hard to read"
        assert console.page.locator("h1").count() == 1
    assert console.errors == []


def test_queries_are_altered_and_dropped_where_they_are_listed(browser: Any, served: Served) -> None:
    for name in ("sums", "more"):
        served.sql(f"CREATE QUERY {name} AS {SUMS}")
    served.batch()
    console = Page(browser, served)
    page = console.page
    console.goes("queries")
    page.get_by_role("button", name="Alter sums").click()
    expect(page.get_by_label("SQL")).to_have_value(f"ALTER QUERY sums AS\n{SUMS}")
    expect(page.get_by_label("SQL")).to_be_focused()
    console.sees(".adds", "next to nothing")
    page.get_by_role("button", name="Drop more").focus()
    served.batch()
    console.sees("tbody", "9")  # the list is drawn anew
    expect(page.get_by_role("button", name="Drop more")).to_be_focused()
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("Enter")
    console.sees("main", "query more dropped")
    console.counts("table[class=''] tbody tr", 1)
    assert [q["name"] for q in served.get("/v1/queries")] == ["sums"] and console.errors == []


def test_the_plan_is_drawn_in_the_colours_of_the_page(browser: Any, served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    light, dark = (Page(browser, served, theme) for theme in ("light", "dark"))
    found = []
    for console in (light, dark):
        console.goes("plan")
        console.sees("main", "created sums")
        look = "e => getComputedStyle(e).fill"
        found.append(
            [console.page.locator(f".paper svg > {e}").first.evaluate(look) for e in ("rect", "text")]
        )
    assert found[0] != found[1] and all(ground != ink for ground, ink in found), found
    assert light.errors == dark.errors == []


def test_the_plan_is_zoomed_by_keys_and_moved(browser: Any, served: Served) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    console = Page(browser, served, width=700)
    page = console.page
    console.goes("plan")
    console.sees("main", "created sums")
    before = page.locator(".paper svg").bounding_box()["width"]
    page.locator(".paper").press("+")
    page.get_by_role("button", name="larger").click()
    assert page.locator(".paper svg").bounding_box()["width"] > before * 1.5
    box = page.locator(".paper").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 100, box["y"] + 60)
    page.mouse.up()
    assert page.locator(".paper").evaluate("e => e.scrollLeft") > 100
    page.get_by_label("Query to highlight").select_option("sums")
    expect(page.locator(".paper g.mine")).not_to_have_count(0)
    console.sees("main", "naive")
    assert console.errors == []


def test_rows_of_a_stream_and_a_support_bundle(browser: Any, served: Served, tmp_path: Path) -> None:
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.batch()
    console = Page(browser, served)
    console.goes("streams")
    console.page.get_by_text("Some of the last rows").click()
    console.counts("details .live tbody tr", 10)
    served.batch()
    console.counts("details .live tbody tr", 10)  # new figures leave it open
    console.goes("overview")
    with console.page.expect_download(timeout=WAIT) as waiting:
        console.page.get_by_role("button", name="Support bundle").click()
    waiting.value.save_as(tmp_path / "bundle.json")
    bundle = json.loads((tmp_path / "bundle.json").read_text())
    assert bundle["queries"][0]["name"] == "sums" and bundle["plan"]["shares"]["sums"]
    assert console.errors == []


def test_who_may_only_read_is_told_so(browser: Any, served: Served) -> None:
    console = Page(browser, served, token=READER)
    console.goes("queries")
    console.writes(f"CREATE QUERY sums AS {SUMS}")
    console.page.get_by_role("button", name="Run").click()
    console.sees(".problem", "read")
    assert served.get("/v1/queries") == [] and console.errors == []


def test_by_keyboard_alone(browser: Any, served: Served) -> None:
    console = Page(browser, served)
    page = console.page
    console.sees("main", "What is wrong now")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    console.sees("h1", "Queries")
    page.get_by_role("button", name="Theme").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    assert console.errors == []


def test_without_a_token_it_asks_for_one(browser: Any, served: Served) -> None:
    console = Page(browser, served)
    console.page.evaluate("sessionStorage.clear()")
    console.page.goto(f"{served.url}/?again#/overview")
    console.sees("main", "This console needs a token")
    console.page.get_by_label("Token").fill(WRITER)
    console.page.get_by_role("button", name="Open").click()
    console.sees("main", "What is wrong now")
