"""What was logged last, kept in memory for whoever has to find a fault."""

from __future__ import annotations

import logging
from collections import deque
from datetime import UTC, datetime

LOGGED = "thalweg"
KEPT = 50


class LastErrors(logging.Handler):
    """The last warnings and errors, as they stand in the log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._texts: deque[str] = deque(maxlen=KEPT)
        self.setFormatter(logging.Formatter("%(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(" ", "seconds")
        self._texts.append(f"{at} {self.format(record)}")

    @property
    def texts(self) -> list[str]:
        """The last ones, oldest first."""
        return list(self._texts)
