"""How a task of a stage tells what it did, and what went wrong, without a trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb

from thalweg.engine.faults import Aborted
from thalweg.engine.kernel.connection import clean_message
from thalweg.engine.task import Report, Task, describe_error
from thalweg.errors import InternalError
from thalweg.state.directory import disk_problem

REPORT = "report"


def reported(report: Report, task: Task, act: Callable[[], None]) -> None:
    """Do something; an error becomes part of the report. Only what stands for a crash goes through."""
    try:
        act()
    except Aborted:
        raise
    except OSError as e:
        report.error = describe_error(disk_problem(Path(e.filename or task.state), e))
    except duckdb.Error as e:
        report.error = describe_error(InternalError(clean_message(e)))
    except Exception as e:
        report.error = describe_error(e)


def partition() -> int:
    """The hash range of the running task."""
    from pyspark import TaskContext

    return int(TaskContext.get().partitionId())
