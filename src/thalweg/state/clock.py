"""The processing time of a batch: one moment for all its rows, on disk before the batch runs, so that a batch that is run again has the same."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import time_ns as nanoseconds

from thalweg.state.checks import damaged, opened, sealed
from thalweg.state.local import flush, write_file

FILE = "clock.json"


def moment_of(root: Path, batch: int, durable: bool) -> int:
    """The moment of a batch in microseconds, taken now if it runs for the first time. It is never before that of an earlier one, even where
    the machine's clock is set back."""
    known = _last(root)
    if known is not None and known[0] == batch:
        return known[1]
    now = nanoseconds() // 1000
    moment = now if known is None else max(now, known[1])
    _write(root, batch, moment, durable)
    return moment


def _last(root: Path) -> tuple[int, int] | None:
    """The last batch that had a moment, and that."""
    name = str(root / FILE)
    try:
        said = json.loads(opened(name, (root / FILE).read_bytes())[1])
        return int(said["batch"]), int(said["moment"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as e:
        raise damaged(name, "not readable") from e


def _write(root: Path, batch: int, moment: int, durable: bool) -> None:
    hidden = root / f".{FILE}.{os.getpid()}"
    hidden.unlink(missing_ok=True)
    said = sealed(json.dumps({"batch": batch, "moment": moment}))
    write_file(hidden, said, flush=durable, shown=root / FILE)
    hidden.replace(root / FILE)
    if durable:
        flush([root])
