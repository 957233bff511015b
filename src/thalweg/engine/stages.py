"""The Spark job of a batch: Python stages over Arrow, with as few calls to the JVM as it takes.

`DataFrame.mapInArrow` pickles its function and describes its columns and its result to the JVM anew each time, which costs more
than a small batch's own work. Here the functions are the same for every batch, so each is described once; what differs
between batches travels as a local property of the job.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from thalweg.engine.kernel.buckets import BUCKET_DDL
from thalweg.engine.kernel.finish import finish
from thalweg.engine.kernel.ingest import ingest
from thalweg.engine.kernel.work import work
from thalweg.engine.task import Report, Task
from thalweg.state.records import dumps, loads

TASK = "thalweg.task"
CHUNKS, BUCKETS = ("stream", "path", "data"), ("partition", "fragment", "data")
Stage = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def spark_job(frame: Any, task: Task) -> list[Report]:
    """The one Spark job of a batch."""
    frame.sparkSession.sparkContext.setLocalProperty(TASK, dumps(task))
    buckets = _mapped(frame, ingest_stage, CHUNKS, BUCKET_DDL)
    if task.near:
        return worked_here(buckets.toArrow().to_batches(), task)
    stages = (work_stage, *(finish_stage,) * task.last)
    for number, stage in enumerate(stages, 1):
        made = REPORTS if number == len(stages) else BUCKET_DDL
        buckets = _mapped(_exchanged(buckets, task), stage, BUCKETS, made)
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
    task = _current_task()
    yield from kernel(batches, task)
    _settle(task.plan)


@cache
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


def _mapped(frame: Any, stage: Stage, columns: Sequence[str], schema: str) -> Any:
    """A stage over a frame: `mapInArrow` with a function that the JVM knows already."""
    from pyspark.sql import DataFrame

    return DataFrame(
        frame._jdf.mapInArrow(_described(frame.sparkSession, stage, columns, schema), False, None),
        frame.sparkSession,
    )


def _described(spark: Any, stage: Stage, columns: Sequence[str], schema: str) -> Any:
    """A stage as the JVM's expression, made once per Spark context."""
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.functions import pandas_udf
    from pyspark.util import PythonEvalType

    key = (spark.sparkContext.applicationId, stage.__name__, schema)
    if key not in _DESCRIBED:
        udf = pandas_udf(stage, returnType=schema, functionType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
        _DESCRIBED[key] = udf(*[F.col(c) for c in columns])._jc
    return _DESCRIBED[key]


_DESCRIBED: dict[tuple[str, str, str], Any] = {}
