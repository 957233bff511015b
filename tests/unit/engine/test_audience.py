"""Listeners are told from outside the batch: slow ones hold nothing up, broken ones are dropped, the rest hear all in order."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from thalweg.engine.audience import Audience
from thalweg.engine.progress import BatchProgress
from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.sql.statements import CreateStream, parse_statement
from thalweg.testing.local import LocalEngine


def test_all_is_told_in_order() -> None:
    heard: list[int] = []
    audience: Audience[int] = Audience([heard.append])
    for i in range(100):
        audience.tell(i)
    assert audience.told(60) and heard == list(range(100))


def test_a_listener_that_raises_is_reported_and_dropped(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[int] = []

    def broken(news: int) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    def leaving(news: int) -> None:
        raise SystemExit(1)

    audience: Audience[int] = Audience([broken, leaving, heard.append])
    audience.tell(1)
    audience.tell(2)
    assert audience.told(60) and heard == [1, 2] and audience.listeners == [heard.append]
    assert [r.getMessage() for r in caplog.records] == [
        f"listener {broken.__qualname__} is told nothing more: BrokenPipeError: [Errno 32] Broken pipe",
        f"listener {leaving.__qualname__} is told nothing more: SystemExit: 1",
    ]


def test_a_listener_that_never_returns_holds_nothing_up() -> None:
    stuck = threading.Event()
    audience: Audience[int] = Audience([lambda _: _waited(stuck)])
    for i in range(5000):
        audience.tell(i)
    assert not audience.told(0.01)
    stuck.set()
    assert audience.told(60)


def _waited(event: threading.Event) -> None:
    event.wait(60)


def test_a_batch_is_committed_whatever_its_listeners_do(tmp_path: Path) -> None:
    declared = parse_statement(
        "CREATE STREAM s (v BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = 'in', time = 'at')"
    )
    assert isinstance(declared, CreateStream)
    engine = LocalEngine(tmp_path, (declared.stream,), (), planner_for(Config()))
    stuck, heard = threading.Event(), []

    def listener(progress: BatchProgress) -> None:
        stuck.wait(60)
        heard.append(progress.batch)
        raise BrokenPipeError

    engine.runner.audience.listeners.append(listener)
    engine.batch([])
    engine.batch([])
    assert engine.runner.manifest.batch == 1 and not heard
    stuck.set()
    assert engine.runner.audience.told(60) and heard == [0]
