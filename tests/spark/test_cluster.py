"""A local cluster and a standalone one give the same results as the definition."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pyspark
import pytest
from support import QUERIES, batches, stream_sql

from thalweg.testing.bound import bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.reference import reference

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
QUICK = {
    **os.environ,
    "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1",
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
}


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextmanager
def process(*command: str) -> Iterator[None]:
    """A process of ours, ended by its own id."""
    started = subprocess.Popen(command, env=QUICK, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        started.terminate()
        started.wait(30)


def wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(f"nothing listens on port {port}")


@contextmanager
def standalone(root: Path) -> Iterator[str]:
    """A master and one worker with two cores on loopback."""
    port = free_port()
    deploy = "org.apache.spark.deploy"
    master = (f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    worker = (
        f"{deploy}.worker.Worker",
        "--host",
        "127.0.0.1",
        "--webui-port",
        "0",
        "-c",
        "2",
        "-m",
        "1g",
        "-d",
        str(root / "work"),
    )
    with process(str(SPARK_CLASS), *master):
        wait_for_port(port)
        with process(str(SPARK_CLASS), *worker, f"spark://127.0.0.1:{port}"):
            yield f"spark://127.0.0.1:{port}"


@contextmanager
def local_cluster(root: Path) -> Iterator[str]:
    yield "local-cluster[2,1,1024]"


@pytest.mark.parametrize("cluster", [local_cluster, standalone])
def test_cluster(cluster: object, tmp_path: Path) -> None:
    app = tmp_path / "app.sql"
    app.write_text(stream_sql(tmp_path / "in", ", files_per_batch = 2") + QUERIES)
    bound = bind_statements(app.read_text())
    tables = batches()
    write_batches(tmp_path / "in", bound.streams["s"], tables)
    with cluster(tmp_path) as master:  # type: ignore[operator]
        command = [
            sys.executable,
            "-m",
            "thalweg",
            "run",
            str(app),
            "--dir",
            str(tmp_path / "run"),
            "--available-now",
            "--master",
            master,
        ]
        done = subprocess.run(command, env=QUICK, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for query in bound.queries.values():
        compare(
            pq.read_table(tmp_path / "run" / "results" / query.name),
            reference(query, bound.streams["s"], tables),
        )
