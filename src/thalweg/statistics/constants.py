"""The constants of this machine: measured once by `thalweg calibrate`, kept in a file of the user's."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from thalweg.optimizer.cost.calibration import Constants, JoinConstants

HOME = "THALWEG_HOME"
WINDOWS = "windows"


def calibration_file() -> Path:
    """Where the constants are kept: in the folder that THALWEG_HOME names, else in the user's cache."""
    home = os.environ.get(HOME)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return (Path(home) if home else Path(cache) / "thalweg") / "calibration.json"


def save(constants: JoinConstants, windows: Constants | None = None) -> Path:
    """Keep the constants for every later session on this machine."""
    path = calibration_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    of_windows = {} if windows is None else {WINDOWS: asdict(windows)}
    path.write_text(json.dumps({**asdict(constants), **of_windows}, indent=2) + "\n")
    return path


def in_updates(nanos: Mapping[str, float]) -> Constants:
    """The constants of windows from what was measured in nanoseconds: in updates of a hash table, and what is not measured as it is.

    >>> in_updates({"row": 20.0, "step": 1_000_000.0}).step
    50000.0
    """
    measured: dict[str, Any] = {name: found / nanos["row"] for name, found in nanos.items()}
    return replace(Constants(), **measured)


def join_constants() -> JoinConstants:
    """The constants of this machine, or the defaults where it was never measured."""
    path = calibration_file()
    try:
        return _read(str(path), path.stat().st_mtime_ns)
    except OSError:
        return JoinConstants()


def window_constants() -> Constants:
    """The constants of windows on this machine, or the defaults where they were never measured."""
    path = calibration_file()
    try:
        return _read_windows(str(path), path.stat().st_mtime_ns)
    except OSError:
        return Constants()


@lru_cache(maxsize=4)
def _read_windows(path: str, changed: int) -> Constants:
    try:
        found = json.loads(Path(path).read_text())[WINDOWS]
        numbers = {f.name: float(found[f.name]) for f in fields(Constants)}
        narrowest = int(numbers.pop("narrowest"))
        return Constants(**numbers, narrowest=narrowest)
    except (ValueError, KeyError, TypeError):
        return Constants()


@lru_cache(maxsize=4)
def _read(path: str, changed: int) -> JoinConstants:
    """What a file says; one that can't be read says nothing."""
    try:
        found = json.loads(Path(path).read_text())
        return JoinConstants(**{f.name: float(found[f.name]) for f in fields(JoinConstants)})
    except (ValueError, KeyError, TypeError):
        return JoinConstants()
