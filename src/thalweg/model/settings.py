"""Settings of a session, from `SET key = value`, `--set key=value` or Python."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypeVar

from thalweg.errors import UsageError
from thalweg.model.durations import DurationError, parse_duration

N = TypeVar("N", int, float)

EVALUATIONS = ("snapshot", "delta", "wide", "stairs", "expiry", "materialize")
"""The ways to evaluate aggregates over joins, each a file of its name in `compile/evaluations/`."""
CHOICES: dict[str, tuple[str, ...]] = {
    "plan.windows": ("naive", "shared", "paper", "best", "slices"),
    "plan.evaluate": ("best", *EVALUATIONS),
    "plan.join": ("best", "hash", "loop"),
    "plan.order": ("best", "written"),
    "plan.exchange": ("best", "always"),
    "plan.scan": ("best", "table"),
    "plan.sharing": ("best", "off", "all"),
    "plan.split": ("best", "off", "all"),
    "plan.rollup": ("best", "off", "all"),
    "plan.invalidate": ("slot", "probe", "probe-and-insert", "probe-all", "both-all"),
}
AUTO, OFF = "auto", "off"
MOST_PARTITIONS = 10_000
_LIMITS = re.compile(r"\s*(\d{1,5})\s*\.\.\s*(\d{1,5})\s*")
_BYTES = re.compile(r"\s*(\d{1,9}(?:\.\d{1,6})?)\s*(bytes|[kmgt]?b)\s*", re.IGNORECASE)
_UNITS = ("b", "kb", "mb", "gb", "tb")
_EARLY = re.compile(r"best|lap|eap[01]+")
FEATURES = ("sparse", "tiling", "chains", "prefix", "slots", "search")
KEYS = {
    "plan.windows": "how windows are computed: naive, shared, paper, best or slices",
    "plan.early_aggregation": "which inputs of a join are aggregated first: LAP (none), EAP10, EAP11, ..., or best",
    "plan.evaluate": f"how aggregates over joins are evaluated: {', '.join(EVALUATIONS)} or best",
    "plan.join": "how partners are found: hash, loop (nested loops) or best",
    "plan.order": "in which order the inputs of a join meet: written (as in FROM) or best",
    "plan.invalidate": "when rows of a join are forgotten: slot, probe, probe-and-insert, probe-all or both-all",
    "plan.exchange": "best: a batch that makes few rows is worked on without an exchange; always: never so",
    "plan.scan": "best: one reader of a Parquet file computes while it reads; table: rows are read first, then computed with",
    "plan.sharing": "best: queries are computed together where that costs less; off: each alone; all: together wherever they can be",
    "plan.split": "best: rows of joins with very frequent values are spread over all partitions where that costs less; off: never; all: always",
    "plan.rollup": "best: groups by fewer keys begin with those by more where that costs less; off: all with the rows; all: wherever they can",
    "plan.memory": "the most state that a join query's plan may be expected to keep, as '2 GB'; off (default): any",
    "partitions": "hash ranges of state and parallel tasks: a number, or auto (default), as scale.* say",
    "scale.latency": "with partitions = auto: batches that take longer get more partitions; default: 5 seconds",
    "scale.partitions": "with partitions = auto: the fewest and the most, as 2..8; default: 1 to the cores of the Spark session",
    "scale.executors": "with partitions = auto, on a cluster: how many executors are asked for, as 1..4; default: what Spark has",
    "durable": "true: a batch is flushed to disk before it counts, so that a power cut loses nothing; false: never so",
    "trigger": "seconds between micro-batches; 0 runs them one after another",
    **{f"plan.windows.{f}": f"whether the plan `best` may use {f}: true or false" for f in FEATURES},
}


@dataclass(frozen=True)
class Config:
    """The settings in force."""

    windows: str = "best"
    early_aggregation: str = "best"
    evaluate: str = "best"
    join: str = "best"
    order: str = "best"
    invalidate: str = "slot"
    exchange: str = "best"
    sharing: str = "best"
    scan: str = "best"
    split: str = "best"
    rollup: str = "best"
    features_off: frozenset[str] = frozenset()
    memory: int | None = None
    partitions: int | None = None
    latency: float = 5.0
    limits: tuple[int, int] | None = None
    executors: tuple[int, int] | None = None
    trigger: float = 0.0
    durable: bool = True
    given: tuple[tuple[str, str], ...] = field(default=())

    @property
    def plan_settings(self) -> tuple[tuple[str, str], ...]:
        """What was set of plans, in order of name."""
        return tuple(sorted((k, v.lower()) for k, v in self.given if k.startswith("plan.")))

    @property
    def stays_one(self) -> bool:
        """Whether there is one partition, and somebody said so: it does not follow the load."""
        return self.partitions == 1 and dict(self.given).get("partitions", AUTO).lower() != AUTO


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
    if key == "plan.early_aggregation":
        if not _EARLY.fullmatch(value.lower()):
            raise UsageError(
                f"{key} can't be {value!r}",
                "use best, LAP, or EAP with a digit 0 or 1 for each input, as EAP10",
            )
        return replace(config, early_aggregation="best" if value.lower() == "best" else value.upper())
    if key in CHOICES:
        return replace(config, **{key.removeprefix("plan."): value.lower()})  # type: ignore[arg-type]
    if key == "plan.memory":
        return replace(config, memory=None if value.lower() == OFF else _bytes(key, value))
    if key == "partitions":
        fixed = (
            None if value.lower() == AUTO else _number(key, value, int, 1, MOST_PARTITIONS, f", or {AUTO}")
        )
        return replace(config, partitions=fixed)
    if key == "scale.latency":
        return replace(config, latency=_seconds(key, value))
    if key == "scale.partitions":
        return replace(config, limits=_limits(key, value))
    if key == "scale.executors":
        return replace(config, executors=_limits(key, value))
    if key == "trigger":
        return replace(config, trigger=_number(key, value, float, 0, 1_000_000))
    if key == "durable":
        return replace(config, durable=_flag(key, value))
    feature = frozenset({key.rpartition(".")[2]})
    return replace(
        config,
        features_off=config.features_off - feature if _flag(key, value) else config.features_off | feature,
    )


def _number(key: str, value: str, kind: type[N], least: float, most: float, or_else: str = "") -> N:
    try:
        number = kind(value)
    except ValueError:
        number = kind(-1)
    if not least <= number <= most:
        raise UsageError(f"{key} can't be {value!r}", f"use a number from {least} to {most}{or_else}")
    return number


def _seconds(key: str, value: str) -> float:
    try:
        length = parse_duration(value)
    except DurationError as e:
        raise UsageError(f"{key} can't be {value!r}", e.hint or "write it as '5 seconds'") from None
    if length.months or length.micros <= 0:
        raise UsageError(f"{key} can't be {value!r}", "write it as '5 seconds'")
    return length.micros / 1e6


def _bytes(key: str, value: str) -> int:
    """A number of bytes, in units of a thousand.

    >>> _bytes("plan.memory", "1.5 GB")
    1500000000
    """
    found = _BYTES.fullmatch(value)
    unit = found[2].lower().replace("bytes", "b") if found else ""
    size = int(Decimal(found[1]) * 1000 ** _UNITS.index(unit)) if found else 0
    if size < 1:
        raise UsageError(f"{key} can't be {value!r}", f"write it as '2 GB' or '500 MB', or {OFF}")
    return size


def _limits(key: str, value: str) -> tuple[int, int]:
    found = _LIMITS.fullmatch(value)
    low, high = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= low <= high <= MOST_PARTITIONS:
        raise UsageError(f"{key} can't be {value!r}", "write the fewest and the most, as '2..8'")
    return low, high


def _flag(key: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise UsageError(f"{key} can't be {value!r}", "use true or false")
    return value.lower() == "true"
