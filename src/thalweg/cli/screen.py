"""Where a command writes: results to standard output, messages and errors to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cached_property

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

WIDE = 10_000
"""The width of a line that is not shown on a terminal: nothing is cut or wrapped."""


class Screen:
    """The two outputs of a command. Piped, they are plain text, each line as long as it needs to be."""

    @cached_property
    def out(self) -> Console:
        """For results."""
        return _console(stderr=False)

    @cached_property
    def err(self) -> Console:
        """For messages and errors."""
        return _console(stderr=True)

    @cached_property
    def live(self) -> Console | None:
        """The console that can show progress: the one that results go to, so that both keep out of each other's way."""
        return next((c for c in (self.out, self.err) if c.is_terminal), None)

    def say(self, text: str = "", style: str = "") -> None:
        """A line or more of results, as they are."""
        _print(self.out, Text(text, style))

    def note(self, text: str) -> None:
        """A message that is no result."""
        _print(self.err, Text(text))

    def title(self, text: str, more: str = "") -> None:
        """A line above a table or a line of its own: a name, and what there is to say about it."""
        _print(self.out, Text.assemble((text, "bold"), f": {more}" if more else ""))

    def table(self, table: Table) -> None:
        """A table; without the blanks at the ends of its lines where nobody sees them."""
        if self.out.is_terminal:
            self.out.print(table)
            return
        with self.out.capture() as captured:
            self.out.print(table)
        self.lines(line.rstrip() for line in captured.get().splitlines())

    def lines(self, lines: Iterable[str]) -> None:
        """Lines of results, as they are."""
        for line in lines:
            _print(self.out, Text(line))


def _console(stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDE
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def _print(console: Console, what: RenderableType) -> None:
    console.print(what, soft_wrap=True)
