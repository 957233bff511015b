"""Thalweg on a join of two streams, through its own front door; the plan is its own choice unless settings force one."""

from __future__ import annotations

import time

from benchmarks.engines.progress import batches, keep_all
from benchmarks.join_data import COLUMNS
from benchmarks.join_run import JoinRun
from benchmarks.spec import Batch
from thalweg.api.session import Session


def execute(run: JoinRun) -> tuple[tuple[Batch, ...], float]:
    """Run it over all files; batches and seconds."""
    with Session(f"{run.directory}/session", settings=run.settings) as session:
        session.sql(script(run))
        keep_all(session.spark)
        started = time.perf_counter()
        session.run_available()
        seconds = time.perf_counter() - started
        return batches(session.reports()), seconds


def script(run: JoinRun) -> str:
    """The streams and the query as a user writes them."""
    options = "format = 'parquet', time = 'ts', watermark = '0 seconds', files_per_batch = 1"
    streams = [
        f"CREATE STREAM s{n} ({COLUMNS}) WITH ({options}, path = '{run.directory}/s{n}');" for n in (0, 1)
    ]
    return "\n".join([*streams, f"CREATE QUERY q INTO '{run.directory}/out' AS {select(run)};"])


def select(run: JoinRun) -> str:
    """The query.

    >>> select(JoinRun("thalweg_join", "", "rows", 10, 1))
    'SELECT a.k AS k, a.x AS first, b.x AS second FROM s0 AS a [RANGE 10 SECONDS], s1 AS b [RANGE 10 SECONDS] WHERE a.k = b.k'
    """
    if run.form == "rows":
        window = f"[RANGE {run.window} SECONDS]"
        return f"SELECT a.k AS k, a.x AS first, b.x AS second FROM s0 AS a {window}, s1 AS b {window} WHERE a.k = b.k"
    window = f"[TUMBLE {run.window} SECONDS]"
    shown = "a.g AS g, window_end, COUNT(*) AS n, SUM(a.x) AS first, SUM(b.x) AS second"
    return f"SELECT {shown} FROM s0 AS a {window}, s1 AS b {window} WHERE a.k = b.k GROUP BY a.g"
