"""The Spark job of a batch: Python stages over Arrow, with as few calls to the JVM as it takes.

`DataFrame.mapInArrow` pickles its function and describes its columns and its result to the JVM anew each time, which costs more
than a small batch's own work. Here the functions are the same for every batch, so each is described once; what differs
between batches travels as a local property of the job.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import pyarrow as pa

from thalweg.engine.kernel.buckets import BUCKET_DDL
from thalweg.engine.kernel.finish import finish
from thalweg.engine.kernel.ingest import ingest
from thalweg.engine.kernel.work import work
from thalweg.engine.task import Report, Task
from thalweg.state.records import dumps, loads

TASK = "thalweg.task"
YIELDING, LESS = "THALWEG_YIELDS", 10
"""What tells a worker to yield, and by how much its priority is then below that of others."""
CHUNKS, BUCKETS = ("stream", "path", "data"), ("partition", "fragment", "data")
Stage = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def spark_job(frame: Any, task: Task) -> list[Report]:
    """The one Spark job of a batch."""
    frame.sparkSession.sparkContext.setLocalProperty(TASK, dumps(task))
    buckets = _mapped(frame, ingest_stage, CHUNKS, BUCKET_DDL, task.yields)
    if task.near:
        return worked_here(buckets.toArrow().to_batches(), task)
    stages = (work_stage, *(finish_stage,) * task.last)
    for number, stage in enumerate(stages, 1):
        made = REPORTS if number == len(stages) else BUCKET_DDL
        buckets = _mapped(_exchanged(buckets, task), stage, BUCKETS, made, task.yields)
    return reports_of(buckets.toArrow().to_batches())


REPORTS = "report string"


def worked_here(buckets: Iterable[pa.RecordBatch], task: Task) -> list[Report]:
    """The stages after ingest, in this process, as one hash range."""
    worked = work(buckets, task, 0)
    for _ in range(task.last):
        worked = finish(worked, task, 0)
    return reports_of(worked)


def reports_of(batches: Iterable[Any]) -> list[Report]:
    """The reports that a stage gave out."""
    return [loads(Report, text) for b in batches for text in b.column("report").to_pylist()]


def ingest_stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Ingest as the running job's task says."""
    return _staged(ingest, batches)


def work_stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Work as the running job's task says."""
    return _staged(work, batches)


def finish_stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Finish as the running job's task says."""
    return _staged(finish, batches)


def _staged(
    kernel: Callable[[Iterable[pa.RecordBatch], Task], Iterator[pa.RecordBatch]],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """What a kernel makes of its task's batches."""
    _give_way()
    task = _current_task()
    yield from kernel(batches, task)
    _settle(task.plan)


@cache
def _give_way() -> None:
    """Once per worker: one that does not run batches leaves the cores to those that do."""
    if os.environ.get(YIELDING) and hasattr(os, "nice"):
        os.nice(LESS)


@lru_cache(8)
def _settle(plan: str) -> None:
    """Once per worker and plan: what is there by now stays.

    Spark's worker collects garbage after every task, and looks at each object of all modules for it, which takes longer than a small
    task itself.
    """
    gc.collect()
    gc.freeze()


def _current_task() -> Task:
    from pyspark import TaskContext

    return loads(Task, TaskContext.get().getLocalProperty(TASK))


def _exchanged(buckets: Any, task: Task) -> Any:
    from pyspark.sql import functions as F

    return buckets.repartitionById(task.partitions, F.col("partition"))


def _mapped(frame: Any, stage: Stage, columns: Sequence[str], schema: str, yields: bool) -> Any:
    """A stage over a frame: `mapInArrow` with a function that the JVM knows already."""
    from pyspark.sql import DataFrame

    return DataFrame(
        frame._jdf.mapInArrow(_described(frame.sparkSession, stage, columns, schema, yields), False, None),
        frame.sparkSession,
    )


def _described(spark: Any, stage: Stage, columns: Sequence[str], schema: str, yields: bool) -> Any:
    """A stage as the JVM's expression, made once per Spark context, and apart for workers that yield."""
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.functions import pandas_udf
    from pyspark.util import PythonEvalType

    key = (spark.sparkContext.applicationId, stage.__name__, schema, yields)
    if key not in _DESCRIBED:
        with _workers(spark.sparkContext, yields):
            udf = pandas_udf(stage, returnType=schema, functionType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
            _DESCRIBED[key] = udf(*[F.col(c) for c in columns])._jc
    return _DESCRIBED[key]


@contextmanager
def _workers(context: Any, yields: bool) -> Iterator[None]:
    """Which workers run what is described meanwhile: Spark has processes of their own for each environment that is asked for."""
    with _DESCRIBING:
        if yields:
            context.environment[YIELDING] = "1"
        try:
            yield
        finally:
            context.environment.pop(YIELDING, None)


_DESCRIBED: dict[tuple[str, str, str, bool], Any] = {}
_DESCRIBING = threading.Lock()
