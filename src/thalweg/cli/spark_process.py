"""Spark's process, kept apart: signals to stop are ours to answer."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.api.session import Session

LOG = "spark.log"


def start_spark(session: Session) -> None:
    """Start Spark for a session; its directory is refused now if it can't be used."""
    with _deaf_to(signal.SIGTERM):
        _quieten(session.spark)


def _quieten(spark: Any) -> None:
    """Where Spark's process is killed, the bridge to it would print a trace of its own; the run tells what happened."""
    server: Any = getattr(spark.sparkContext, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda request, address: None


@contextmanager
def _deaf_to(number: signal.Signals) -> Iterator[None]:
    """Processes started meanwhile ignore a signal, so that one sent to all of us does not end Spark in mid-batch."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)
