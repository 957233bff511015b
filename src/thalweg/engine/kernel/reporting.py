"""How a task of a stage tells what it did, and what went wrong, without a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb

from thalweg.connectors.base import sink_at
from thalweg.engine.blame import Blamed, blaming_sink
from thalweg.engine.faults import Aborted
from thalweg.engine.kernel.compiled import compiled
from thalweg.engine.kernel.connection import Reach, clean_message, permit
from thalweg.engine.kernel.functions import offer, raised
from thalweg.engine.kernel.showing import POOL
from thalweg.engine.mishaps import mishap
from thalweg.engine.task import Notes, Task, Trouble, trouble
from thalweg.errors import EnvironmentProblem, InternalError
from thalweg.plan.functions import users_of
from thalweg.state.local import flush


def reported(report: Notes, task: Task, act: Callable[[], None]) -> None:
    """Do something; an error becomes part of the report. Only what stands for a crash goes through."""
    try:
        begin(task)
        act()
        check_functions(task)
        if task.durable:
            _flush(report, task)
    except Aborted:
        raise
    except Exception as e:
        report.trouble = described(of_function(task) or e)


def begin(task: Task) -> None:
    """What a task may read, and the functions that it may call."""
    permit(Reach(task.readable, task.spill))
    offer(task.functions, task.kept_functions)


def check_functions(task: Task) -> None:
    """Fail where a function did: what was computed since has NULLs in the place of its values."""
    if (error := of_function(task)) is not None:
        raise error


def of_function(task: Task) -> Exception | None:
    """What a function of this task raised, with the queries that call it."""
    if (found := raised()) is None:
        return None
    users = users_of(compiled(task.plan).plan, found[1])
    return Blamed(found[0], users) if users else found[0]


def described(error: Exception) -> Trouble:
    """An error of a task as data: what the disk or the database refuses in words of its own."""
    if isinstance(error, Blamed):
        return replace(described(error.error), queries=error.queries)
    if not isinstance(error, OSError | duckdb.Error):
        return trouble(error)
    found = mishap(error)
    is_database = isinstance(error, duckdb.Error) and isinstance(found, InternalError)
    return trouble(InternalError(clean_message(error)) if is_database else found)


def _flush(report: Notes, task: Task) -> None:
    """Write through to the disk what this task wrote; the driver does the same for the names, before it commits."""
    results = {
        path: r.query
        for r in report.results
        for path in sink_at(task.outputs[r.query]).staged_files(r.staged)
    }
    try:
        flush([*(Path(task.state) / file.path for file in report.files), *results])
    except EnvironmentProblem:
        for path, query in results.items():
            if not query.startswith(POOL):
                with blaming_sink(query, task.outputs[query], task.state):
                    flush([path])
        raise


def partition() -> int:
    """The hash range of the running task."""
    from pyspark import TaskContext

    return int(TaskContext.get().partitionId())
