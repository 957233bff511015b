"""Where a command writes: results to standard output, messages and errors to standard error."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable
from typing import IO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from thalweg.once import cached_property

WIDE = 10_000
"""The width of a line that is not shown on a terminal: nothing is cut or wrapped."""
GONE = {errno.EPIPE, errno.EIO}
"""What a write meets where the reader of a pipe has left, or the terminal is closed."""


class Screen:
    """The two outputs of a command. Piped, they are plain text, each line as long as it needs to be.

    Nobody has to read them: `unread` says that the reader of results has left. What is written from then on goes nowhere.
    """

    def __init__(self) -> None:
        self.unread = False

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
        self._print(self.out, Text(text, style))

    def note(self, text: str) -> None:
        """A message that is no result."""
        self._print(self.err, Text(text))

    def title(self, text: str, more: str = "") -> None:
        """A line above a table or a line of its own: a name, and what there is to say about it."""
        self._print(self.out, Text.assemble((text, "bold"), f": {more}" if more else ""))

    def table(self, table: Table) -> None:
        """A table; without the blanks at the ends of its lines where nobody sees them."""
        if self.out.is_terminal:
            self._attempt(self.out, lambda: self.out.print(table))
            return
        with self.out.capture() as captured:
            self.out.print(table)
        self.lines(line.rstrip() for line in captured.get().splitlines())

    def lines(self, lines: Iterable[str]) -> None:
        """Lines of results, as they are."""
        for line in lines:
            self._print(self.out, Text(line))

    def _print(self, console: Console, what: RenderableType) -> None:
        self._attempt(console, lambda: console.print(what, soft_wrap=True))

    def _attempt(self, console: Console, write: Callable[[], None]) -> None:
        """Write; where nobody can read it any more, this and what follows goes nowhere."""
        try:
            write()
        except OSError as error:
            if error.errno not in GONE:
                raise
            self.unread = self.unread or console is self.out
            discard(console.file)


class _Console(Console):
    """A console that lets a pipe without a reader be an error like others, instead of ending the process."""

    def on_broken_pipe(self) -> None:
        """Called while the error is handled."""
        raise


def _console(stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else WIDE
    return _Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def discard(stream: IO[str]) -> None:
    """Let what is still written to a stream, and what waits in its buffer, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
