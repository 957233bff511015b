"""Commands of the shell that begin with a backslash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from thalweg.api.console import values_of
from thalweg.cli.reference import show_help
from thalweg.cli.screen import Screen
from thalweg.cli.script import read_script
from thalweg.cli.sites import Columns, Site
from thalweg.cli.tables import by_time, draw
from thalweg.errors import UsageError
from thalweg.model.catalog import known

ROWS = 20
"""Rows that are shown unless more are asked for."""
HELP = r"""statements end with ; and may have many lines; Tab completes, the arrows go through what was written before
  \d            streams, tables, views and queries
  \d NAME       the columns of one, and of a query its SQL
  \r QUERY [N]  the last N rows of a query (20)
  \f QUERY      new rows of a query as they come; Ctrl-C ends that, not the session
  \p [QUERY]    the plan, or that of a query
  \s            how the session is
  \i FILE       carry out the statements of a file
  \h [TOPIC]    the reference of the SQL (\h functions)
  \?            this
  \q            leave; also Ctrl-D"""


class Leave(Exception):
    """The user has had enough."""


class Shortcuts:
    """What a line that begins with a backslash asks for; `run` carries out statements and shows what came of them."""

    def __init__(self, screen: Screen, site: Site, run: Callable[[str, str], None]) -> None:
        self._screen, self._site, self._run = screen, site, run
        self._known: dict[str, tuple[Callable[..., None], int]] = {
            "d": (self._describe, 1),
            "r": (self._rows, 2),
            "f": (self._follow, 1),
            "p": (self._plan, 1),
            "s": (self._state, 0),
            "i": (self._file, 1),
            "h": (show_help_or_all, 1),
            "?": (self._help, 0),
            "q": (self._leave, 0),
        }

    def carry_out(self, line: str) -> None:
        """Do what a line asks for."""
        name, *given = line.strip().rstrip(";").removeprefix("\\").split() or ["?"]
        if name not in self._known:
            raise UsageError(f"no shortcut \\{name}", r"\? lists those that there are")
        what, most = self._known[name]
        if len(given) > most:
            raise UsageError(
                f"\\{name} takes at most {most} words, not {len(given)}", r"\? says what each takes"
            )
        what(*given)

    def _help(self) -> None:
        self._screen.say(HELP)

    def _leave(self) -> None:
        raise Leave

    def _state(self) -> None:
        self._screen.title(self._site.place, self._site.state())

    def _describe(self, name: str | None = None) -> None:
        names = self._site.names()
        kinds = {"stream": names.streams, "table": names.tables, "view": names.views, "query": names.queries}
        if name is None:
            rows = [
                (kind, n, ", ".join(cs)) for kind, found in kinds.items() for n, cs in sorted(found.items())
            ]
            self._screen.table(draw(("kind", "name", "columns"), rows))
            return
        every: dict[str, tuple[str, Columns]] = {
            n: (k, cs) for k, found in kinds.items() for n, cs in found.items()
        }
        known(name, every, "stream, table, view or query")
        kind, columns = every[name]
        self._screen.title(f"{kind} {name}")
        self._screen.table(draw(("column", "type"), list(columns.items())))
        if kind == "query":
            self._screen.say(self._site.text(name))

    def _rows(self, query: str = "", most: str = str(ROWS)) -> None:
        if not most.isdigit():
            raise UsageError(f"{most}: no number of rows", rf"write \r {query} 20")
        rows = by_time(self._site.results(self._named(query)))
        shown = rows.slice(max(rows.num_rows - int(most), 0))
        self._show(shown)
        self._screen.say(f"({shown.num_rows:,} of {rows.num_rows:,} rows)", style="dim")

    def _follow(self, query: str = "") -> None:
        """New rows until Ctrl-C, or until the query is dropped."""
        name = self._named(query)
        self._screen.note(f"new rows of {name}; Ctrl-C ends this")
        try:
            for rows in self._site.follow(name):
                self._show(by_time(rows))
        except KeyboardInterrupt:
            self._screen.say()
            return
        self._screen.note(f"query {name} has ended")

    def _named(self, query: str) -> str:
        queries = self._site.names().queries
        if not query:
            raise UsageError("no query is named", f"there is {', '.join(sorted(queries)) or 'none yet'}")
        return query

    def _show(self, rows: pa.Table) -> None:
        self._screen.table(draw(rows.column_names, list(zip(*map(values_of, rows.columns), strict=True))))

    def _plan(self, query: str | None = None) -> None:
        self._run(f"EXPLAIN QUERY {query};" if query else "SHOW PLAN;", "")

    def _file(self, path: str = "") -> None:
        self._run(read_script(Path(path)), path)


def show_help_or_all(topic: str | None = None) -> None:
    """The reference of the SQL, or a part of it."""
    show_help(topic)
