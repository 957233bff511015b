"""Failures from below are told by whose fault they are: processes, disks and damaged files are the environment's."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.engine.kernel.reporting import described
from thalweg.engine.mishaps import mishap
from thalweg.errors import DataError, EnvironmentProblem, InternalError, StateError

FAILED = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: "
JOB = "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 4.0 failed 4 times, most recent failure: "
CRASHED = f"{JOB}org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\nCaused by: java.io.EOFException"
DAEMON = f"{JOB}java.io.IOException: Stream closed\n\tat org.apache.spark.api.python.PythonWorkerFactory.stopWorker(P.scala:527)"
LOG = "Failed to read log file file:/s/checkpoint/offsets/0. Incomplete log file SQLSTATE: XXKST"
SPARK_DISK = "Caused by: java.io.IOException: No space left on device"


class Py4JNetworkError(Exception):
    """Named as the bridge names what it raises when the JVM has gone."""


class Py4JError(Exception):
    """Named as what it raises where no answer came."""


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (Exception(CRASHED), EnvironmentProblem, "a Python process of Spark was ended from outside"),
        (Exception(DAEMON), EnvironmentProblem, "a Python process of Spark was ended from outside"),
        (
            Exception(f"{JOB}java.lang.OutOfMemoryError: Java heap space"),
            EnvironmentProblem,
            "Spark ran out of memory",
        ),
        (Exception("ExecutorLostFailure (executor 3 exited)"), EnvironmentProblem, "Spark lost an executor"),
        (
            Py4JNetworkError("Answer from Java side is empty"),
            EnvironmentProblem,
            "Spark's own process has ended",
        ),
        (
            Py4JError("An error occurred while calling o233.mapInArrow"),
            EnvironmentProblem,
            "Spark's own process has ended",
        ),
        (
            Py4JError(
                "An error occurred while calling o1.f. Trace:\npy4j.Py4JException: Method f does not exist"
            ),
            InternalError,
            "Py4JError: An error occurred while calling o1.f. Trace:",
        ),
        (
            ConnectionRefusedError(111, "Connection refused"),
            EnvironmentProblem,
            "Spark's own process has ended",
        ),
        (Exception(f"{FAILED}{SPARK_DISK}"), EnvironmentProblem, "a disk refuses: no space left on device"),
        (
            OSError(28, "No space left on device", "/out/q"),
            EnvironmentProblem,
            "/out/q: no space left on device",
        ),
        (Exception(FAILED + LOG), StateError, "/s/checkpoint/offsets/0: damaged file of Spark's checkpoint"),
        (
            Exception(f"{FAILED}batch 0 doesn't exist SQLSTATE: XXKST"),
            StateError,
            "/s/checkpoint: Spark's checkpoint is damaged",
        ),
        (
            Exception("o1.start\n: com.fasterxml.jackson.core.JsonParseException: x"),
            StateError,
            "/s/checkpoint: Spark's checkpoint is",
        ),
        (DataError("a.csv: not readable"), DataError, "a.csv: not readable"),
        (Exception(f"{FAILED}something else SQLSTATE: 1"), InternalError, "something else"),
        (
            Exception("org.apache.spark.api.python.PythonException: Traceback\nKeyError: 'q'"),
            InternalError,
            "Exception: org.apache",
        ),
    ],
)
def test_whose_fault_it_is(error: Exception, kind: type[Exception], message: str) -> None:
    found = mishap(error, Path("/s/checkpoint"), Path("/s/spark.log"))
    assert type(found) is kind and message in found.message
    assert found.exit_code == {EnvironmentProblem: 2, StateError: 2, DataError: 1, InternalError: 3}[kind]
    assert kind is DataError or found.hint


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_met_in_a_task() -> None:
    with pytest.raises(OSError) as met, Path("/dev/full").open("wb") as full:
        pq.write_table(pa.table({"x": list(range(1_000_000))}), full)
    error = described(met.value).error
    assert (
        isinstance(error, EnvironmentProblem)
        and "no space left on device" in error.message.lower()
        and error.hint
    )


def test_a_full_disk_met_by_the_database() -> None:
    error = described(
        duckdb.IOException('IO Error: Could not write file "/tmp/x": No space left on device')
    ).error
    assert isinstance(error, EnvironmentProblem) and error.message == "/tmp/x: no space left on device"
    assert isinstance(described(duckdb.BinderException("Binder Error: no column x")).error, InternalError)


def test_an_error_whose_words_are_lost_with_the_jvm() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise ConnectionRefusedError

    assert mishap(Silent()).message
