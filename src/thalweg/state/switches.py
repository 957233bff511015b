"""What changed in the plan of a session, when, why, and what that brought: of the last changes, in one file.

It is written before the batch that has the change is committed; what it says of batches that never were does not count.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from thalweg.errors import StateError
from thalweg.state.checks import opened, sealed
from thalweg.state.local import write_file
from thalweg.state.records import dumps, loads

FILE = "changes.json"
KEPT = 200
MEASURED = 8
"""Batches before and after a change whose time is compared."""


@dataclass(frozen=True)
class Switch:
    """A change of the plan, in force from `batch` on.

    Names of queries that were created, dropped, replaced, failed (with what they met), and planned again; `why` those were planned
    again, what was set, how the number of partitions changed, and which values are split over them. Costs are as EXPLAIN has them, before
    and after: hash-table updates a batch for windows, milliseconds a second of stream for joins. `before_ms` and `after_ms` are the
    median times of the batches with rows next to it, None where there were none.
    """

    batch: int
    at: str
    created: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    replanned: tuple[str, ...] = ()
    why: str = ""
    settings: tuple[str, ...] = ()
    scaled: str = ""
    split: str = ""
    updates: tuple[float, float] = (0.0, 0.0)
    join_ms: tuple[float, float] = (0.0, 0.0)
    before_ms: float | None = None
    after_ms: float | None = None

    @property
    def what(self) -> str:
        """All that was done, in words.

        >>> Switch(3, "", created=("a", "b"), settings=("plan.join = hash",), replanned=("c",), why="settings").what
        'created a, b; set plan.join = hash; planned c anew (settings)'
        """
        parts = (
            ("created", self.created),
            ("dropped", self.dropped),
            ("replaced", self.replaced),
            ("failed", self.failed),
        )
        told = [f"{word} {', '.join(names)}" for word, names in (*parts, ("set", self.settings)) if names]
        planned = [f"planned {', '.join(self.replanned)} anew ({self.why})"] if self.replanned else []
        return "; ".join([*told, *planned, *(words for words in (self.scaled, self.split) if words)])


Switches = tuple[Switch, ...]


@dataclass(frozen=True)
class Noted:
    """The last changes, oldest first."""

    switches: Switches = ()


def read(root: Path, batch: int) -> Switches:
    """The changes up to a batch; a damaged note says nothing, as it is for people."""
    try:
        found = loads(Noted, opened(FILE, (root / FILE).read_bytes())[1]).switches
    except (OSError, StateError, ValueError, KeyError, TypeError):
        return ()
    return tuple(s for s in found if s.batch <= batch)


def write(root: Path, switches: Switches) -> Switches:
    """Keep the last of some changes; they are seen whole."""
    kept = switches[-KEPT:]
    hidden = root / f".{FILE}.{os.getpid()}"
    hidden.unlink(missing_ok=True)
    write_file(hidden, sealed(dumps(Noted(kept))), flush=False, shown=root / FILE)
    hidden.replace(root / FILE)
    return kept


def with_time(switches: Switches, millis: float) -> Switches:
    """With what was measured after the last change."""
    return (*switches[:-1], replace(switches[-1], after_ms=millis)) if switches else ()
