"""Planning goes on beside the batches: none waits for it, and a query begins with the first batch after it is planned."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.api.explaining import SampledPlanners
from thalweg.engine.beside import Beside
from thalweg.engine.workload import Workload
from thalweg.optimizer.planner import WindowPlanner
from thalweg.optimizer.workload import Planner
from thalweg.state.manifest import Manifest
from thalweg.testing.local import LocalSession

STREAM = "CREATE STREAM s (k BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at')"
SELECT = "SELECT k, COUNT(*) AS n FROM s GROUP BY k, TUMBLE '1 second'"


class Slow(SampledPlanners):
    """Planners that are ready with a query named `slow` when they may."""

    def __init__(self) -> None:
        super().__init__()
        self.may, self.made = threading.Event(), 0

    def of(self, workload: Workload, manifest: Manifest) -> WindowPlanner:
        self.made += 1
        assert "slow" not in {q.name for q in workload.queries} or self.may.wait(20)
        return super().of(workload, manifest)


def test_a_batch_does_not_wait_for_a_plan(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    planners = Slow()
    session, files = LocalSession(tmp_path / "run"), [tmp_path / "in" / f"{i}.parquet" for i in range(4)]
    for i, file in enumerate(files):
        pq.write_table(pa.table({"k": [i], "at": pa.array([i * 2_000_000], pa.timestamp("us"))}), file)
    session._running._planner_of = planners.of
    session.sql(STREAM.format(tmp_path / "in"))
    quick = session.query(SELECT, name="quick")
    session.batch([("s", str(files[0]))])
    slow = session.query(SELECT, name="slow")
    session.batch([("s", str(files[1]))], settled=False)
    assert (quick.epoch, slow.epoch) == (0, None)
    planners.may.set()
    session.batch([("s", str(files[2]))])
    assert (slow.epoch, slow.begins) == (2, {"s": 2_000_001})
    made = planners.made
    session.batch([("s", str(files[3]))])
    assert planners.made == made, "what was chosen beside the batch is not chosen again in it"
    session.close()


def test_work_beside_is_done_once_more_when_it_is_asked_for_meanwhile() -> None:
    began, may, done = threading.Event(), threading.Event(), list[int]()

    def work() -> None:
        began.set()
        assert may.wait(20)
        done.append(1)

    beside = Beside(work, "work")
    beside.ask()
    assert began.wait(20)
    for _ in range(5):
        beside.ask()
    may.set()
    beside.settle()
    assert len(done) == 2
    beside.ask()
    beside.settle()
    assert len(done) == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_work_that_fails_does_not_end_all_work() -> None:
    done = list[int]()

    def work() -> None:
        done.append(1)
        if len(done) == 1:
            raise OSError("once")

    beside = Beside(work, "work")
    for _ in range(2):
        beside.ask()
        beside.settle()
    assert len(done) == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_work_may_be_waited_for_while_others_ask_for_it() -> None:
    beside, errors, until = Beside(lambda: None, "work"), list[BaseException](), monotonic() + 0.5

    def person() -> None:
        try:
            while monotonic() < until:
                beside.ask()
                beside.settle()
        except BaseException as e:
            errors.append(e)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    people = [threading.Thread(target=person) for _ in range(4)]
    for p in people:
        p.start()
    for p in people:
        p.join()
    sys.setswitchinterval(interval)
    assert not errors, errors


def test_what_is_asked_for_while_a_batch_runs_is_one_change(tmp_path: Path) -> None:
    """While a batch runs it can't be had before the next one: it is planned once the batch has ended, or after a rest, and not at each
    request."""
    (tmp_path / "in").mkdir()
    session, planned = LocalSession(tmp_path / "run"), list[int]()
    session.sql(STREAM.format(tmp_path / "in"))
    session.begin()
    session._running.settle()
    ahead, turns = session._running._ahead, session.runner.turns
    assert ahead is not None
    chosen = ahead._chosen

    def slowly(workload: Workload) -> Planner:
        planned.append(len(workload.queries))
        sleep(0.05)
        return chosen(workload)

    ahead._chosen = slowly  # type: ignore[method-assign]
    turns.turn(True)
    for number in range(20):
        session.query(SELECT, name=f"q{number}")
    assert len(planned) <= 4
    turns.turn(False)
    session.runner.ready()
    session._running.settle()
    assert planned[-1] == 20
    assert len(session.runner.workload.queries) == 20
    session.close()


def test_a_long_batch_has_one_plan_made_near_its_end(tmp_path: Path) -> None:
    """What was planned while a batch ran is in force with the next one, which waits for nothing; what came later is part of the one after."""
    (tmp_path / "in").mkdir()
    session, planned = LocalSession(tmp_path / "run"), list[int]()
    session.sql(STREAM.format(tmp_path / "in"))
    session.begin()
    session._running.settle()
    ahead, turns = session._running._ahead, session.runner.turns
    assert ahead is not None
    chosen = ahead._chosen

    def noted(workload: Workload) -> Planner:
        planned.append(len(workload.queries))
        return chosen(workload)

    ahead._chosen = noted  # type: ignore[method-assign]
    turns.turn(True)
    sleep(1.0)
    turns.turn(False)
    turns.turn(True)
    until, number = monotonic() + 1.2, 0
    while monotonic() < until:
        session.query(SELECT, name=f"q{number}")
        number += 1
        sleep(0.01)
    assert 1 <= len(planned) <= 3 and number > planned[-1]
    turns.turn(False)
    ready, session.runner.ready = session.runner.ready, lambda: None
    ahead._preparing.settle = lambda timeout=None: pytest.fail("a plan is there")  # type: ignore[method-assign]
    ready()
    del ahead._preparing.settle
    assert len(session.runner.workload.queries) == planned[-1]
    session._running.settle()
    assert len(session.runner.workload.queries) == number
    session.close()
