"""`thalweg run`: a script's queries over its streams, until there is no more data or the user stops it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import typer

from thalweg import errors
from thalweg.api.outcomes import Created
from thalweg.api.status import read_status
from thalweg.cli.progress import RunProgress
from thalweg.cli.screen import Screen
from thalweg.cli.script import default_directory, open_session, read_script, show_outcomes
from thalweg.cli.signals import StopWish
from thalweg.cli.spark_process import LOG, start_spark
from thalweg.cli.status import draw_counts
from thalweg.cli.tables import by_time, draw_results
from thalweg.cli.values import count_text, seconds_text, shorter
from thalweg.errors import InternalError, UsageError
from thalweg.state.directory import Directory

if TYPE_CHECKING:
    from thalweg.api.session import Session

POLL = 0.2


def run_script(
    script: Path,
    directory: Path | None,
    available_now: bool,
    master: str | None,
    settings: Sequence[str],
    rows: int,
    functions: Sequence[str] = (),
) -> None:
    """Execute a script, run its queries, and sum up; or go on with what a session directory remembers."""
    screen = Screen()
    text = "" if script.is_dir() else read_script(script)
    with (
        StopWish() as wish,
        open_session(directory_of(script, directory), settings, master, functions) as session,
    ):
        outcomes = session.sql(text, str(script))
        show_outcomes(screen, outcomes)
        for name, failure in session.catalog.failed.items():
            screen.note(
                f"query {name} failed before batch {failure.batch:,}: {failure.message} (CREATE OR REPLACE QUERY starts it again)"
            )
        if not session.catalog.queries:
            raise UsageError(f"{script}: no query to run", "add CREATE QUERY name AS SELECT ...")
        if kept := sorted(
            set(session.catalog.queries) - {o.query for o in outcomes if isinstance(o, Created)}
        ):
            screen.note(f"goes on with {', '.join(kept)}")
        if (told := str(session.check())) and session.latest_manifest().batch >= 0:
            screen.note(f"since the last run: {told}")
        session.console = ConsoleResults(screen, session, rows).show
        progress = run_queries(screen, session, wish, available_now)
        sum_up(screen, session, progress, wish.asked)
    if progress.failed:
        raise typer.Exit(max(getattr(errors, f.kind, InternalError).exit_code for f in progress.failed))


def directory_of(script: Path, directory: Path | None) -> Path:
    """Where the session of a script is kept, or the session directory that was given in the place of one."""
    if not script.is_dir():
        return directory or default_directory(script)
    if directory is not None and directory.resolve() != script.resolve():
        raise UsageError(
            f"{script}: a directory, not a script",
            "give the path of an SQL script, or a session directory without --dir",
        )
    Directory(script).check_format()
    return script


def run_queries(
    screen: Screen, session: Session, wish: StopWish, available_now: bool, total: int | None = None
) -> RunProgress:
    """Run until the data or the user's patience ends."""
    with RunProgress(screen, total) as progress:
        session.listeners.append(progress.batch)
        start_spark(session)
        wish.listen()
        progress.say("first batch" if available_now else "waiting for data")
        try:
            session.start(available_now)
            while not session.wait(POLL):
                if wish.asked or (screen.unread and not available_now):
                    progress.say_soon("stopping after this batch")
                    break
            session.stop()
            wish.done()
        except InternalError as e:
            raise InternalError(e.message, f"Spark's own words are in {session.directory.root / LOG}") from e
    return progress


def sum_up(screen: Screen, session: Session, progress: RunProgress, stopped: bool = False) -> None:
    """What the run did, and what the session holds after it."""
    did = f"{count_text(progress.rows, 'event')} in {count_text(progress.batches, 'batch', 'batches')}"
    work = (
        f", {seconds_text(progress.seconds)} of work ({progress.rows / progress.seconds:,.0f} events/s)"
        if progress.rows
        else ""
    )
    screen.title("stopped between two batches" if stopped else "done", f"{did}{work}")
    screen.say()
    draw_counts(screen, read_status(session.directory.root))
    if stopped:
        screen.say("run it again to go on from here")


class ConsoleResults:
    """Prints new result rows of the queries that write INTO 'console'."""

    def __init__(self, screen: Screen, session: Session, rows: int) -> None:
        self._screen, self._session, self._rows = screen, session, rows

    def show(self, name: str, batch: int, rows: pa.Table) -> None:
        """Print what a batch has published of a query."""
        query, results = self._session.catalog.queries[name], by_time(rows)
        shown = results.slice(0, self._rows) if self._rows else results
        self._screen.title(name, f"batch {batch:,}, {count_text(results.num_rows, 'row')}")
        self._screen.table(draw_results(query, shown))
        if shown.num_rows < results.num_rows:
            left = count_text(results.num_rows - shown.num_rows, "more row")
            self._screen.say(
                f"... {left} in {shorter(self._session.output_of(query))} (--rows 0 prints all)", style="dim"
            )
        self._screen.say()
