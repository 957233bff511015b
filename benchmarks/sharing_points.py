"""What was measured of a workload in one mode, and whether its results are those of the first mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.sharing_run import Measured, differing

MODES = ("best", "off", "all")


@dataclass(frozen=True)
class Compared:
    """With which mode results were compared, and the queries whose rows differ."""

    mode: str
    differing: tuple[str, ...]


@dataclass(frozen=True)
class Point:
    """A figure. mode: of Thalweg, or the name of another engine. compared: None where there was nothing to compare with."""

    part: str
    case: str
    value: float
    mode: str
    measured: Measured
    compared: Compared | None = None

    @property
    def key(self) -> tuple[str, str, float]:
        """What points that are set beside each other have in common."""
        return self.part, self.case, self.value

    @property
    def wrong(self) -> bool:
        """Whether results differ."""
        return self.compared is not None and bool(self.compared.differing)


def compared(found: Mapping[str, Measured], mode: str) -> Compared | None:
    """The results of a mode beside those of the first mode that has some."""
    first = next((name for name, m in found.items() if m.results is not None), mode)
    one, own = found[first].results, found[mode].results
    return None if first == mode or one is None or own is None else Compared(first, differing(one, own))


def ratio(points: Sequence[Point], mode: str, over: Sequence[str]) -> float | None:
    """How many times as fast a mode is as the fastest of some others at the same point: by the processor's time, where all have that."""
    times = {p.mode: p.measured.batch_cpu_ms for p in points}
    if None in times.values():
        times = {p.mode: p.measured.batch_ms for p in points}
    others = [t for name in over if (t := times.get(name)) is not None]
    own = times.get(mode)
    return min(others) / own if own is not None and others else None


def as_data(points: Sequence[Point]) -> list[dict[str, Any]]:
    """The figures as JSON holds them, without the checksums."""
    found = []
    for p in points:
        data = asdict(p)
        data["measured"].pop("results")
        figures = {
            name: getattr(p.measured, name)
            for name in ("batch_ms", "batch_cpu_ms", "events_per_second", "overall", "result_rows")
        }
        found.append({**data, **figures})
    return found
