"""The Spark session that Thalweg starts when it is given none."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thalweg.connectors.base import CHUNK_DDL
from thalweg.errors import EnvironmentProblem

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.files.openCostInBytes": "1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.python.worker.reuse": "true",
    # By TCP a task of few rows may wait 40 ms for an acknowledgement.
    "spark.python.unix.domain.socket.enabled": str(hasattr(socket, "AF_UNIX")).lower(),
    # Hadoop starts a process (chmod) for every local file it makes; without files of checksums beside them there are half as many.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # What Spark remembers of jobs that have ended, and of files that it will not list again, only fills the driver's memory.
    "spark.ui.retainedJobs": "16",
    "spark.ui.retainedStages": "16",
    "spark.ui.retainedTasks": "64",
    "spark.ui.dagGraph.retainedRootRDDs": "16",
    "spark.sql.ui.retainedExecutions": "16",
    "spark.sql.hive.filesourcePartitionFileCacheSize": "0",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
}
# Settings that a streaming query needs wherever it runs.
STREAMING = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.minBatchesToRetain": "4",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
}
# How often a task is tried, as on a cluster.
ATTEMPTS = 4
JAVA_HINT = (
    "install Java 17 (Debian, Ubuntu: apt-get install openjdk-17-jre-headless), or set JAVA_HOME to one"
)


def check_java() -> None:
    """One line that says how to get Java, before Spark fails with many."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise EnvironmentProblem("Spark needs Java 17 or later, and there is none", JAVA_HINT)
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    if found and int(found[1]) < 17:
        raise EnvironmentProblem(f"Spark needs Java 17 or later, {java} is {found[1]}", JAVA_HINT)


def start_spark(
    master: str | None = None, settings: dict[str, str] | None = None, log: Path | None = None
) -> Any:
    """A local session by default; any master that Spark knows. Its own words go to `log`."""
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    log4j = Path(__file__).with_name("log4j2.properties").as_uri()
    # The rows are worked on by DuckDB; what is left to the JVM is wide and short: a second compiler only takes cores from it, and the
    # first one should begin early.
    quiet = f"-Dlog4j2.configurationFile={log4j} -XX:+IgnoreUnrecognizedVMOptions --enable-native-access=ALL-UNNAMED"
    compiler = "-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=0.1 -XX:ReservedCodeCacheSize=240m"
    options = f"{compiler} {quiet}"
    builder = SparkSession.builder.appName("thalweg").master(retrying(master or "local[*]"))
    for key, value in {**SETTINGS, "spark.driver.extraJavaOptions": options, **(settings or {})}.items():
        builder = builder.config(key, value)
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    log = log or Path(tempfile.mkdtemp(prefix="thalweg-spark-")) / "spark.log"
    try:
        with _stderr_to(log):
            return builder.getOrCreate()
    except Exception as e:
        hint = f"check the master's address; Spark's own words are in {log}"
        raise EnvironmentProblem(
            f"Spark did not start on {master or 'local[*]'}: {_first_line(e)}", hint
        ) from e


def retrying(master: str) -> str:
    """A master that tries a task again whose worker has died; within this process Spark gives up at once unless it is told.

    >>> [retrying(m) for m in ("local", "local[*]", "local[2]", "local[2,1]", "spark://host:7077")]
    ['local[1,4]', 'local[*,4]', 'local[2,4]', 'local[2,1]', 'spark://host:7077']
    """
    found = re.fullmatch(r"local(?:\[(\*|\d+)\])?", master)
    return f"local[{found[1] or 1},{ATTEMPTS}]" if found else master


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """While the JVM starts, standard error goes to a file; the JVM keeps it, so its chatter stays out of the terminal."""
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("a") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def lease(master: str | None, log: Path) -> Any:
    """The Spark of this process, started where there is none; to be given back with `release`."""
    from pyspark import SparkContext

    with _LEASING:
        is_new = SparkContext._active_spark_context is None
        spark = start_spark(master, log=log)
        id = spark.sparkContext.applicationId
        if is_new:
            _LEASES[id] = 0
        if id in _LEASES:
            _LEASES[id] += 1
        return spark


def release(spark: Any) -> None:
    """Give a Spark back that was leased: the last one ends it. What was there before it was first leased stays."""
    from py4j.protocol import Py4JError

    with _LEASING:
        try:
            id = spark.sparkContext.applicationId
            if id not in _LEASES:
                return
            _LEASES[id] -= 1
            if not _LEASES[id]:
                del _LEASES[id]
                spark.stop()
        except (Py4JError, OSError):  # its process has gone, and all that ran in it
            return


_LEASING = threading.Lock()
# How many sessions use a Spark that one of them started, by the id of its application.
_LEASES: dict[str, int] = {}


def own_session(spark: Any) -> Any:
    """A session on the same Spark with settings of its own, those that streaming needs; nobody else's change.

    Sources may come and go on one checkpoint, so all of them have names. What fails in a batch is told by the session, not by the bridge
    to the JVM.
    """
    from pyspark.sql import SparkSession

    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_not_of_the_bridge)
    own = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for key, value in STREAMING.items():
        own.conf.set(key, value)
    return own


def _not_of_the_bridge(record: logging.LogRecord) -> bool:
    """Whether a record of the root logger is somebody else's: the bridge writes there that the JVM has gone, with a traceback."""
    return record.module != "java_gateway"


def frame_of(spark: Any, chunks: Iterable[tuple[str, str]]) -> Any:
    """Files of streams as a DataFrame of chunks in one partition."""
    return spark.createDataFrame([(stream, path, None) for stream, path in chunks], CHUNK_DDL).coalesce(1)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
