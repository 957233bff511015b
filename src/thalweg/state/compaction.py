"""When to merge the files of a fragment: files of about the same size, several at a time."""

from __future__ import annotations

from collections.abc import Sequence

from thalweg.state.manifest import StateFile

FAN = 6
FEW = 3
EDGE = 8
SMALL = 16_384


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


def are_few(files: Sequence[StateFile], more: int) -> bool:
    """Whether the rows of some files and so many new ones are best kept in one file: opening files then costs more than writing rows."""
    return sum(f.rows for f in files) + more <= SMALL


def to_rewrite(files: Sequence[StateFile], oldest: int, block: int) -> tuple[tuple[StateFile, ...], ...]:
    """What to rewrite of files whose slots expire: those that begin in one block of slots as one file, those at the edge by themselves.

    The last two blocks may still grow and are merged like any files, and so are files that are wider than a block; of the other
    blocks at most FEW files are left. A file is cut as soon as an eighth of its slots has expired, so a row is rewritten a few times
    at most, and what has expired is a small part of what is kept.
    """
    edge = [f for f in files if f.low < oldest and (oldest - f.low) * EDGE >= f.high - f.low + 1]
    rest = [f for f in files if f not in edge]
    blocks: dict[int, list[StateFile]] = {}
    for f in rest:
        if f.high - f.low < block:
            blocks.setdefault(f.low // block, []).append(f)
    grows = max(blocks, default=0) - 1
    full = [tuple(fs) for b, fs in blocks.items() if b < grows and len(fs) > FEW]
    growing = [to_merge(fs) for b, fs in blocks.items() if b >= grows]
    wide = to_merge([f for f in rest if f.high - f.low >= block])
    return (*((f,) for f in edge), *full, *(m for m in (*growing, wide) if m))


def _tier(rows: int) -> int:
    tier, size = 0, 4096
    while rows > size:
        tier, size = tier + 1, size * FAN
    return tier
