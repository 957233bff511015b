"""`thalweg generate`: event data in files, and the statements that declare it."""

from __future__ import annotations

import time
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from thalweg.cli.screen import Screen
from thalweg.cli.values import count_text, seconds_text
from thalweg.generate import Generator, Summary, write


def generate_files(
    generator: Generator, out: Path, format: str, events_per_file: int, overwrite: bool
) -> None:
    """Write the data, then print what there is; the output is a script that declares the streams."""
    screen = Screen()
    started = time.perf_counter()
    summary = written(screen, generator, out, format, events_per_file, overwrite)
    screen.lines(_comments(summary, out, time.perf_counter() - started))
    screen.say(generator.ddl(out, format).rstrip())


def written(
    screen: Screen, generator: Generator, out: Path, format: str, events_per_file: int, overwrite: bool
) -> Summary:
    """Write the data with a progress bar where there is a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        _Count(),
        TextColumn("events"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen.live, transient=True, disable=screen.live is None) as bar:
        task = bar.add_task("generating", total=generator.events)
        return write(
            generator, out, format, events_per_file, lambda done: bar.update(task, completed=done), overwrite
        )


class _Count(MofNCompleteColumn):
    """Done of all, with thousands separators."""

    def render(self, task):  # type: ignore[no-untyped-def]
        """Draw it."""
        return f"{int(task.completed):>{len(f'{task.total:,.0f}')},} of {task.total:,.0f}"


def _comments(summary: Summary, out: Path, seconds: float) -> list[str]:
    rate = f"{summary.events / max(seconds, 1e-9):,.0f} events/s"
    head = f"-- {count_text(summary.events, 'event')} in {count_text(summary.files, 'file')} under {out} ({seconds_text(seconds)}, {rate})"
    wide = max(map(len, summary.streams))
    return [
        head,
        *(
            f"--   {name:<{wide}}  {rows:>{len(f'{summary.events:,}')},} rows"
            for name, rows in summary.streams.items()
        ),
        "",
    ]
