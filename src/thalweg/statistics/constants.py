"""The constants of this machine: measured once by `thalweg calibrate`, kept in a file of the user's."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from functools import lru_cache
from pathlib import Path

from thalweg.optimizer.cost.calibration import JoinConstants

HOME = "THALWEG_HOME"


def calibration_file() -> Path:
    """Where the constants are kept: in the folder that THALWEG_HOME names, else in the user's cache."""
    home = os.environ.get(HOME)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return (Path(home) if home else Path(cache) / "thalweg") / "calibration.json"


def save(constants: JoinConstants) -> Path:
    """Keep the constants for every later session on this machine."""
    path = calibration_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(constants), indent=2) + "\n")
    return path


def join_constants() -> JoinConstants:
    """The constants of this machine, or the defaults where it was never measured."""
    path = calibration_file()
    try:
        return _read(str(path), path.stat().st_mtime_ns)
    except OSError:
        return JoinConstants()


@lru_cache(maxsize=4)
def _read(path: str, changed: int) -> JoinConstants:
    """What a file says; one that can't be read says nothing."""
    try:
        found = json.loads(Path(path).read_text())
        return JoinConstants(**{f.name: float(found[f.name]) for f in fields(JoinConstants)})
    except (ValueError, KeyError, TypeError):
        return JoinConstants()
