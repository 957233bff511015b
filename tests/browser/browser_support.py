"""A page of the console, and what it complains of."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect
from service_support import WRITER, Served

WAIT = 60_000
"""Milliseconds that a page has to show something; machines may be busy."""


expect.set_options(timeout=WAIT)


class Page:
    """A tab with the console; errors other than requests that were refused are kept."""

    def __init__(
        self, browser: Any, served: Served, theme: str = "light", width: int = 1280, token: str = WRITER
    ) -> None:
        self.context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": 900})
        self.page, self.errors = self.context.new_page(), list[str]()
        self.page.set_default_timeout(WAIT)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("console", self._heard)
        self.page.goto(f"{served.url}/#token={token}")

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and "Failed to load" not in message.text:
            self.errors.append(message.text)

    def sees(self, where: str, text: str) -> None:
        """Wait for a text."""
        expect(self.page.locator(where)).to_contain_text(text)

    def counts(self, where: str, number: int) -> None:
        """Wait for so many elements."""
        expect(self.page.locator(where)).to_have_count(number)

    def goes(self, name: str) -> None:
        """Another page of the console."""
        self.page.evaluate("to => { location.hash = to }", f"#/{name}")

    def writes(self, sql: str) -> None:
        """Fill the editor."""
        self.page.get_by_label("SQL").fill(sql)
