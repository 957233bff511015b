"""Thalweg on many queries, on Spark and through its own front door, in a mode of `plan.sharing`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.engines.progress import batches, keep_all
from benchmarks.sharing_apart import ManyRun
from benchmarks.sharing_run import Measured, declare, results_of, state_of
from thalweg.api.session import Session


def execute(run: ManyRun) -> Measured:
    """Run it over all files; times are those of the whole trigger as Spark reports it."""
    with Session(run.own / "session") as session:
        declared = declare(session, run.streams, run.queries, run.form, Path(run.directory, "in"))
        keep_all(session.spark)
        session.run_available()
        counted = tuple(b.ms for b in batches(session.reports())[run.warmup :])
        return Measured(
            run.events, len(run.queries), counted, *state_of(session), results_of(session), declared=declared
        )
