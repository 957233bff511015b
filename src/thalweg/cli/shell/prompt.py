"""The loop of the shell: a statement or a shortcut, what came of it, the next."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from thalweg.cli.failures import report
from thalweg.cli.screen import Screen
from thalweg.cli.script import say_outcome
from thalweg.cli.shell.shortcuts import Leave, Shortcuts
from thalweg.cli.shell.texts import candidates, is_whole
from thalweg.cli.sites import Names, Site, site
from thalweg.errors import EnvironmentProblem, ThalwegError
from thalweg.statistics.constants import calibration_file

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

FRESH = 2.0
"""Seconds for which names that were asked for serve completion."""
_WORD = re.compile(r"[\w.]+")
FIRST, MORE = "thalweg> ", "     ... "


def run_shell(url: str | None, directory: Path | None, script: Path | None) -> None:
    """Read statements and carry them out, until the user leaves. Of what is piped in, the first error ends it."""
    screen, is_typed = Screen(), sys.stdin.isatty()
    if is_typed:
        _check_installed()
    asked = site(screen, url, directory, script)
    try:
        shell = Shell(screen, asked)
        if is_typed:
            screen.say(f"Thalweg over {asked.place}; statements end with ; and \\? helps")
            shell.converse(prompted(asked))
        else:
            shell.obey(whole_texts(sys.stdin))
    finally:
        asked.close()


class Shell:
    """Carries out what is written."""

    def __init__(self, screen: Screen, asked: Site) -> None:
        self._screen, self._site = screen, asked
        self._shortcuts = Shortcuts(screen, asked, self.run)

    def run(self, text: str, origin: str = "") -> None:
        """Carry out statements, and show what became of each."""
        for outcome in self._site.sql(text, origin):
            say_outcome(self._screen, outcome)

    def carry_out(self, text: str) -> None:
        """A statement or more, or a shortcut."""
        if text.lstrip().startswith("\\"):
            self._shortcuts.carry_out(text)
        elif text.strip():
            self.run(text)

    def converse(self, ask: Callable[[], str]) -> None:
        """Go on whatever is refused, until the user leaves."""
        while True:
            try:
                self.carry_out(ask())
                if (trouble := self._site.trouble()) is not None:
                    report(trouble, False, ["shell"])
            except (Leave, EOFError):
                return
            except KeyboardInterrupt:
                continue
            except Exception as error:
                report(error, False, ["shell"])

    def obey(self, texts: Iterable[str]) -> None:
        """Carry out texts until one is refused."""
        try:
            for text in texts:
                self.carry_out(text)
        except Leave:
            return
        except ThalwegError as error:
            raise typer.Exit(report(error, False, ["shell"])) from None


def whole_texts(lines: Iterable[str]) -> Iterator[str]:
    """Lines put together until they can be carried out; at the end a statement needs no semicolon."""
    held = ""
    for line in lines:
        held += line
        if is_whole(held):
            yield held
            held = ""
    if held.strip():
        yield held


class FreshNames:
    """The names of a session, asked for again once they are some seconds old; none where it does not answer."""

    def __init__(self, asked: Site) -> None:
        self._site, self._at, self._names = asked, float("-inf"), Names()

    def get(self) -> Names:
        """The names."""
        if time.monotonic() - self._at > FRESH:
            self._at = time.monotonic()
            try:
                self._names = self._site.names()
            except ThalwegError:
                self._names = Names()
        return self._names


def prompted(asked: Site) -> Callable[[], str]:
    """What asks for the next text: Enter sends what is whole, else begins a line."""
    session = _session(FreshNames(asked))
    return lambda: str(session.prompt(FIRST))


def _session(names: FreshNames) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
    from prompt_toolkit.completion import Completer, Completion, ThreadedCompleter
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.sql import SqlLexer

    class Words(Completer):
        """Keywords and names."""

        def get_completions(self, document: Document, event: Any) -> Iterator[Completion]:
            """What may come at the cursor."""
            word = document.get_word_before_cursor(pattern=_WORD)
            for found in candidates(document.text_before_cursor, names.get()):
                yield Completion(found, start_position=-len(word))

    history = calibration_file().with_name("history")
    history.parent.mkdir(parents=True, exist_ok=True)
    return PromptSession(
        history=FileHistory(str(history)),
        completer=ThreadedCompleter(Words()),
        complete_while_typing=False,
        auto_suggest=AutoSuggestFromHistory(),
        lexer=PygmentsLexer(SqlLexer),
        multiline=True,
        prompt_continuation=MORE,
        key_bindings=_bindings(),
    )


def _bindings() -> Any:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    return bindings


def _check_installed() -> None:
    try:
        import prompt_toolkit  # noqa: F401
    except ImportError as e:
        raise EnvironmentProblem(
            f"the shell needs {e.name}, which is not installed", "pip install 'thalweg[shell]'"
        ) from None
