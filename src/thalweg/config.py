"""Settings of a session, from `SET key = value`, `--set key=value` or Python."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from typing import TypeVar

from thalweg.errors import UsageError

N = TypeVar("N", int, float)

CHOICES: dict[str, tuple[str, ...]] = {
    "plan.windows": ("naive", "shared", "paper", "best"),
}
FEATURES = ("sparse", "tiling", "chains", "prefix", "slots", "search")
KEYS = {
    "plan.windows": "how windows are computed: naive, shared, paper or best",
    "partitions": "hash ranges of state and parallel tasks; default: the cores of the Spark session",
    "trigger": "seconds between micro-batches; 0 runs them one after another",
    **{f"plan.windows.{f}": f"whether the plan `best` may use {f}: true or false" for f in FEATURES},
}


@dataclass(frozen=True)
class Config:
    """The settings in force."""

    windows: str = "best"
    features_off: frozenset[str] = frozenset()
    partitions: int | None = None
    trigger: float = 0.0
    given: tuple[tuple[str, str], ...] = field(default=())


def with_setting(config: Config, key: str, value: str) -> Config:
    """A configuration with one more setting, or an error that says what exists."""
    key = key.lower()
    if key not in KEYS:
        near = difflib.get_close_matches(key, KEYS, 1)
        hint = f"did you mean {near[0]}?" if near else f"settings are {', '.join(sorted(KEYS))}"
        raise UsageError(f"unknown setting {key}", hint)
    if key in CHOICES and value.lower() not in CHOICES[key]:
        raise UsageError(f"{key} can't be {value!r}", f"use one of {', '.join(CHOICES[key])}")
    config = replace(config, given=(*(g for g in config.given if g[0] != key), (key, value)))
    if key == "plan.windows":
        return replace(config, windows=value.lower())
    if key == "partitions":
        return replace(config, partitions=_number(key, value, int, 1))
    if key == "trigger":
        return replace(config, trigger=_number(key, value, float, 0))
    feature = frozenset({key.rpartition(".")[2]})
    return replace(config, features_off=config.features_off - feature if _flag(key, value) else config.features_off | feature)


def _number(key: str, value: str, kind: type[N], least: float) -> N:
    try:
        number = kind(value)
    except ValueError:
        number = kind(-1)
    if number < least:
        raise UsageError(f"{key} can't be {value!r}", f"use a number of at least {least}")
    return number


def _flag(key: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise UsageError(f"{key} can't be {value!r}", "use true or false")
    return value.lower() == "true"
