"""A service while batches are under way, and while they can't be."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from service_support import SUMS, Served

from thalweg.errors import EnvironmentProblem
from thalweg.generate.demo.feed import Feed
from thalweg.service import service as service_module
from thalweg.testing import local


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as made:
        yield made


READS = (
    "/v1/queries",
    "/v1/queries/sums",
    "/v1/queries/sums/results",
    "/v1/streams",
    "/v1/plan",
    "/v1/plan.svg",
    "/v1/changes",
    "/v1/status",
)


def test_nothing_waits_for_a_batch(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, real = threading.Event(), threading.Event(), local.local_job

    def slow(*args: Any) -> Any:
        begun.set()
        assert go_on.wait(120)
        return real(*args)

    monkeypatch.setattr(local, "local_job", slow)
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    batch = threading.Thread(target=served.batch)
    batch.start()
    try:
        assert begun.wait(60)
        answers = [
            served.http.get(path).status_code for path in (*READS, "/metrics", "/ready", "/v1/batches")
        ]
        made = served.sql(f"CREATE QUERY more AS {SUMS}")
        assert batch.is_alive() and served.get("/v1/status")["batch"] is None
        assert answers == [200] * 9 + [503, 200] and made.status_code == 200
    finally:
        go_on.set()
        batch.join(60)
    assert served.get("/v1/queries/sums/results")["rows"]


def test_a_session_that_cannot_run_is_told_about_and_can_be_mended_over_http(served: Served) -> None:
    (served.root / "in").rmdir()
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    served.service.keep_running()
    problem = served.get("/v1/status")["problems"][0]
    assert (
        problem["severity"] == "error"
        and "the directory of stream s does not exist" in problem["text"]
        and problem["hint"]
    )
    assert served.http.get("/ready").status_code == 503
    assert served.sql("DROP QUERY sums; DROP STREAM s").status_code == 200
    served.service.keep_running()
    assert served.http.get("/ready").status_code == 200 and served.service.problem is None


def test_failures_of_the_machine_end_the_process_at_last(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start() -> None:
        raise EnvironmentProblem("the disk is full")

    monkeypatch.setattr(served.session, "start", start)
    monkeypatch.setattr(service_module, "AGAIN", 0.0)
    served.sql(f"CREATE QUERY sums AS {SUMS}")
    for _ in range(service_module.TRIES - 1):
        served.service.keep_running()
    assert "the disk is full" in served.get("/v1/status")["problems"][0]["text"]
    with pytest.raises(EnvironmentProblem):
        served.service.keep_running()


def test_events_of_now_for_the_demo(tmp_path: Path) -> None:
    before = time.time()
    with Feed(tmp_path):
        deadline = time.monotonic() + 60
        while not (found := sorted((tmp_path / "bid").glob("[0-9]*.parquet"))):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    times = pq.read_table(found[0]).column("at").to_pylist()
    assert abs(times[0].timestamp() - before) < 3600 * 24 and len(times) > 1000
