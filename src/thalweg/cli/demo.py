"""`thalweg demo`: data, queries, plan and results in under a minute."""

from __future__ import annotations

import os
import time
from pathlib import Path

from thalweg.api.handle import QueryHandle
from thalweg.api.outcomes import Created
from thalweg.api.session import Session
from thalweg.cli.generate import written
from thalweg.cli.run import run_queries, sum_up
from thalweg.cli.screen import Screen
from thalweg.cli.script import open_session
from thalweg.cli.serve import Asked, serve_session
from thalweg.cli.signals import StopWish
from thalweg.cli.tables import by_time, draw_results
from thalweg.cli.values import count_text, seconds_text
from thalweg.generate.demo import EVENTS_PER_FILE, Demo
from thalweg.generate.demo.feed import Feed

ROWS = 5
QUICK_START = "-XX:TieredStopAtLevel=1"
"""A run of seconds ends before Java's optimizing compiler pays for itself: this halves what the demo takes."""


def run_demo(directory: Path, events: int) -> None:
    """Generate events, run the demo's script over them, and show what came of it."""
    os.environ.setdefault("JAVA_TOOL_OPTIONS", QUICK_START)
    screen, demo = Screen(), Demo(directory, events)
    generator = demo.generator
    demo.prepare()
    started = time.perf_counter()
    summary = written(screen, generator, demo.data, "parquet", EVENTS_PER_FILE, overwrite=True)
    took = seconds_text(time.perf_counter() - started)
    screen.title(
        "events", f"{count_text(summary.events, 'event')} of an auction site in {demo.data} ({took})"
    )
    with StopWish() as wish, open_session(demo.session) as session:
        outcomes = session.sql(demo.script.read_text(), str(demo.script))
        queries = [QueryHandle(session, o.query) for o in outcomes if isinstance(o, Created)]
        screen.title("script", f"{count_text(len(queries), 'query', 'queries')} in {demo.script}")
        total = sum(rows for name, rows in summary.streams.items() if name in session.catalog.streams)
        progress = run_queries(screen, session, wish, available_now=True, total=total)
        _show(screen, session, queries)
        sum_up(screen, session, progress, wish.asked)
    screen.title("next", f"copy {demo.script}, change it, and: thalweg run COPY.sql --available-now")


def serve_demo(directory: Path, port: int) -> None:
    """Serve the demo's queries over events that happen now."""
    demo = Demo(directory, events=1)
    demo.prepare()
    with Feed(demo.data):
        serve_session(Asked(demo.script, demo.session, port=port))


def _show(screen: Screen, session: Session, queries: list[QueryHandle]) -> None:
    """The last rows of every query, and the plan of all of them together."""
    for query in queries:
        results = by_time(query.results())
        screen.say()
        shown = min(ROWS, results.num_rows)
        screen.title(query.name, f"the last {shown} of {count_text(results.num_rows, 'row')}")
        screen.table(draw_results(query.query, results.slice(results.num_rows - shown)))
    screen.say()
    screen.say(str(session.explain()))
    screen.say()
