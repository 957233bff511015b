"""Spark's process, kept apart: its messages go to a file of the session, and signals to stop are ours to answer."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.session import Session

LOG = "spark.log"


def start_spark(session: Session) -> None:
    """Start Spark for a session; its directory is refused now if it can't be used."""
    session.directory.create()
    with _errors_to(session.directory.root / LOG), _deaf_to(signal.SIGTERM):
        _ = session.spark


@contextmanager
def _errors_to(path: Path) -> Iterator[None]:
    """Processes started meanwhile write their errors to `path`, for as long as they live."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def _deaf_to(number: signal.Signals) -> Iterator[None]:
    """Processes started meanwhile ignore a signal, so that one sent to all of us does not end Spark in mid-batch."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)
