"""When to merge the files of a fragment: files of about the same size, several at a time."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.state.manifest import StateFile

FAN = 6


def to_merge(files: Sequence[StateFile]) -> tuple[StateFile, ...]:
    """The files to merge now: a tier (by powers of FAN in rows) that has grown to FAN files, with all smaller ones.

    Each row is rewritten about once per tier, so the cost of merging grows with the logarithm of the state.
    """
    tiers: dict[int, list[StateFile]] = {}
    for file in files:
        tiers.setdefault(_tier(file.rows), []).append(file)
    full = [t for t, members in tiers.items() if len(members) >= FAN]
    if not full:
        return ()
    return tuple(f for f in files if _tier(f.rows) <= max(full))


def _tier(rows: int) -> int:
    tier, size = 0, 4096
    while rows > size:
        tier, size = tier + 1, size * FAN
    return tier
