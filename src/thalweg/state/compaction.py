"""When to merge the files of a fragment: files of about the same size, several at a time."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.state.manifest import StateFile

FAN = 6
FEW = 3
EDGE = 8


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


def to_rewrite(files: Sequence[StateFile], oldest: int, block: int) -> tuple[tuple[StateFile, ...], ...]:
    """What to rewrite of files whose slots expire: those within one block of slots as one file, and those at the edge by themselves.

    A block that still grows is merged like any files; of one that is full at most FEW files are left. A file is cut as soon as an
    eighth of its slots has expired, so a row is rewritten a few times at most.
    """
    edge = [f for f in files if f.low < oldest and (oldest - f.low) * EDGE >= f.high - f.low + 1]
    blocks: dict[int, list[StateFile]] = {}
    for f in files:
        if f not in edge and f.low // block == f.high // block:
            blocks.setdefault(f.low // block, []).append(f)
    newest = max((f.high // block for f in files), default=0)
    merged = [to_merge(fs) if b == newest else tuple(fs) for b, fs in blocks.items() if b == newest or len(fs) > FEW]
    return (*((f,) for f in edge), *(m for m in merged if m))


def _tier(rows: int) -> int:
    tier, size = 0, 4096
    while rows > size:
        tier, size = tier + 1, size * FAN
    return tier
