"""The Spark session that Thalweg starts when it is given none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from thalweg.errors import EnvironmentProblem

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.files.openCostInBytes": "1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.python.worker.reuse": "true",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
}
# Settings that a session needs wherever it runs, set on a session that the user brings too.
STREAMING = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.queryEvolution.enableSourceEvolution": "true",
    "spark.sql.streaming.numRecentProgressUpdates": "20",
    "spark.sql.streaming.minBatchesToRetain": "4",
}
JAVA_HINT = "install Java 17 (Debian, Ubuntu: apt-get install openjdk-17-jre-headless), or set JAVA_HOME to one"


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


def start_spark(master: str | None = None, settings: dict[str, str] | None = None) -> Any:
    """A local session by default; any master that Spark knows."""
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    log4j = Path(__file__).with_name("log4j2.properties").as_uri()
    options = f"-Dlog4j2.configurationFile={log4j} -XX:+IgnoreUnrecognizedVMOptions --enable-native-access=ALL-UNNAMED"
    builder = SparkSession.builder.appName("thalweg").master(master or "local[*]")
    for key, value in {**SETTINGS, **STREAMING, "spark.driver.extraJavaOptions": options, **(settings or {})}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as e:
        raise EnvironmentProblem(f"Spark did not start on {master or 'local[*]'}: {_first_line(e)}", "check the master's address") from e


def prepare(spark: Any) -> None:
    """Set on a session what streaming needs."""
    for key, value in STREAMING.items():
        spark.conf.set(key, value)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
