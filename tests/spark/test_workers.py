"""A standalone cluster gets a worker and loses one while batches run, and a session asks for executors and gives them back: partitions
follow, nothing is lost or counted twice."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.parquet as pq
from support import QUERIES, batches, stream_sql
from test_cluster import QUICK, SPARK_CLASS, free_port, process, wait_for_port
from test_serve import THALWEG, until_ready

import thalweg
from thalweg import Session
from thalweg.testing.comparison import compare
from thalweg.testing.reference import reference

DEPLOY = "org.apache.spark.deploy"
HERE = ("--host", "127.0.0.1", "--webui-port")
WAIT = 90.0
CONF = "spark.executor.memory 512m\nspark.executor.cores 1\n"
SETTINGS = "SET scale.latency = '1 millisecond'; SET plan.exchange = 'always';"
"""Every batch is longer than that, and crosses the exchange: so there are as many partitions as may be."""


class Cluster:
    """A master and its workers, of which some come and go."""

    def __init__(self, root: Path) -> None:
        self.root, self._held = root, ExitStack()
        self._port, self._page = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> Cluster:
        command = (f"{DEPLOY}.master.Master", *HERE, str(self._page), "--port", str(self._port))
        self._held.enter_context(process(str(SPARK_CLASS), *command))
        wait_for_port(self._port)
        wait_for_port(self._page)
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    @contextmanager
    def worker(self, name: str) -> Iterator[None]:
        """A worker with room for two executors of one core, which end with it."""
        size = ("-c", "2", "-m", "1200m", "-d", str(self.root / name))
        with process(str(SPARK_CLASS), f"{DEPLOY}.worker.Worker", *HERE, "0", *size, self.master):
            yield

    @property
    def used(self) -> int:
        """Cores that executors have."""
        with urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=WAIT) as answer:
            return sum(w["coresused"] for w in json.load(answer)["workers"] if w["state"] == "ALIVE")


@contextmanager
def serving(root: Path, master: str) -> Iterator[Any]:
    """A service whose batches run on a cluster."""
    (root / "conf").mkdir()
    (root / "conf" / "spark-defaults.conf").write_text(CONF)
    said = root / "said"
    command = [str(THALWEG), "serve", "--dir", "run", "--port", "0", "--root", str(root), "--master", master]
    with said.open("w") as output:
        started = subprocess.Popen(
            command,
            cwd=root,
            env={**QUICK, "SPARK_CONF_DIR": str(root / "conf")},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        url, token = until_ready(started, said)
        yield thalweg.connect(url, token=token)
        started.send_signal(signal.SIGTERM)
        assert started.wait(WAIT) == 0, said.read_text()
    finally:
        started.kill()
        started.wait()


def until(found: Callable[[], Any], told: Callable[[], Any]) -> None:
    """Wait for something."""
    deadline = time.monotonic() + WAIT
    while not found():
        assert time.monotonic() < deadline, told()
        time.sleep(0.1)


class Fed:
    """A stream that gets files, and the service that reads them."""

    def __init__(self, root: Path, session: Any) -> None:
        self.root, self.session, self.tables = root, session, list[pa.Table]()

    def put(self, tables: Sequence[pa.Table]) -> None:
        """One file after another, each read before the next comes."""
        for table in tables:
            name = f"{len(self.tables):03d}.parquet"
            pq.write_table(table, self.root / f".{name}")
            (self.root / f".{name}").replace(self.root / name)
            self.tables.append(table)
            rows = sum(t.num_rows for t in self.tables)
            until(lambda rows=rows: self.session.status_data()["rows"] >= rows, self.session.status_data)  # type: ignore[misc]


def parts(session: Any) -> int:
    """The number of partitions after the last change of it; 0 where there was none."""
    found = [c["what"] for c in session.changes if "partition" in c["what"]]
    return int(found[-1].split()[2]) if found else 0


def test_workers_and_executors_come_and_go(tmp_path: Path) -> None:
    tables = iter(batches(40))
    sql = stream_sql(tmp_path / "in", ", files_per_batch = 1") + QUERIES
    known = Session(tmp_path / "other")
    known.sql(sql)
    (tmp_path / "in").mkdir()
    with ExitStack() as held, Cluster(tmp_path) as cluster, ExitStack() as first:
        first.enter_context(cluster.worker("first"))
        session = held.enter_context(serving(tmp_path, cluster.master))
        session.sql(SETTINGS + sql)
        fed = Fed(tmp_path / "in", session)

        def settles(at: int, cores: int) -> None:
            """Batches go on until there are so many partitions, and executors with so many cores."""

            def settled() -> bool:
                fed.put([next(tables)])
                return (parts(session), cluster.used) == (at, cores)

            until(settled, session.status_data)

        fed.put([next(tables)])
        assert cluster.used == 2
        held.enter_context(cluster.worker("second"))
        settles(4, 4)
        first.close()
        settles(2, 2)
        session.set("scale.executors", "1..1")
        settles(1, 1)
        session.set("scale.executors", "1..2")
        settles(2, 2)
        for query in known.catalog.queries.values():
            expected = reference(query, known.catalog.streams["s"], fed.tables)
            compare(session.handle(query.name).results(), expected)
    known.close()
