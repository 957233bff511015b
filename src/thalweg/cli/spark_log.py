"""Spark's own messages go to a file of the session, so that the terminal shows results."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOG = "spark.log"


@contextmanager
def standard_error_in(path: Path) -> Iterator[None]:
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
