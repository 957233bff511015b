"""What a batch changed of the manifest: that is what is written, so a commit grows with the batch and not with the session."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from thalweg.state.manifest import Consumed, Counts, Manifest, Seen, SetAside, Staged, StateFile, StepTime

V = TypeVar("V")
# What a manifest holds by name, of which a change has only the names whose value is another.
NAMED = ("tops", "frontiers", "streams", "queries", "consumed", "checkpoint")
KNOWN = ("streams", "keys", "sides", "heavy", "pairs")


@dataclass(frozen=True)
class Change:
    """The difference of two manifests. `prior` is the digest of the earlier one; `gone` has the names that it had and the later hasn't."""

    batch: int
    prior: str
    hash: str
    plan: str
    tops: dict[str, int | None] = field(default_factory=dict)
    frontiers: dict[str, int | None] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    files: tuple[StateFile, ...] = ()
    publish: tuple[Staged, ...] = ()
    streams: dict[str, Counts] = field(default_factory=dict)
    queries: dict[str, Counts] = field(default_factory=dict)
    set_aside: tuple[SetAside, ...] = ()
    steps: dict[str, StepTime] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    consumed: dict[str, Consumed] = field(default_factory=dict)
    checkpoint: dict[str, str] = field(default_factory=dict)
    gone: dict[str, tuple[str, ...]] = field(default_factory=dict)
    replayed: int | None = None


def change_of(before: Manifest, after: Manifest) -> Change:
    """What a batch did to a manifest."""
    named, known = _pairs(before, after, NAMED), _pairs(before.seen, after.seen, KNOWN)
    old, new = {f.path for f in before.files}, {f.path for f in after.files}
    lost = {n: _lost(b, a) for n, (b, a) in named.items()} | {
        f"seen.{n}": _lost(b, a) for n, (b, a) in known.items()
    }
    return Change(
        batch=after.batch,
        prior=before.digest,
        hash=after.hash,
        plan=after.plan,
        removed=tuple(f.path for f in before.files if f.path not in new),
        files=tuple(f for f in after.files if f.path not in old),
        publish=after.publish,
        set_aside=after.set_aside[len(before.set_aside) :],
        steps=after.steps,
        seen=Seen(**{n: _set(b, a) for n, (b, a) in known.items()}),
        gone={n: names for n, names in lost.items() if names},
        replayed=after.replayed,
        **{n: _set(b, a) for n, (b, a) in named.items()},
    )


def applied(before: Manifest, change: Change, digest: str) -> Manifest:
    """The later of the two manifests whose difference a change is."""
    removed = set(change.removed)
    named = {n: _with(getattr(before, n), getattr(change, n), change.gone.get(n, ())) for n in NAMED}
    seen = {
        n: _with(getattr(before.seen, n), getattr(change.seen, n), change.gone.get(f"seen.{n}", ()))
        for n in KNOWN
    }
    return replace(
        before,
        batch=change.batch,
        hash=change.hash,
        plan=change.plan,
        files=(*(f for f in before.files if f.path not in removed), *change.files),
        publish=change.publish,
        set_aside=(*before.set_aside, *change.set_aside),
        steps=change.steps,
        seen=Seen(**seen),
        replayed=change.replayed,
        digest=digest,
        **named,
    )


def _pairs(
    before: Any, after: Any, names: tuple[str, ...]
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    return {n: (getattr(before, n), getattr(after, n)) for n in names}


def _set(before: dict[str, V], after: dict[str, V]) -> dict[str, V]:
    return {k: v for k, v in after.items() if k not in before or before[k] != v}


def _lost(before: dict[str, V], after: dict[str, V]) -> tuple[str, ...]:
    return tuple(k for k in before if k not in after)


def _with(before: dict[str, V], changed: dict[str, V], gone: tuple[str, ...]) -> dict[str, V]:
    return {**{k: v for k, v in before.items() if k not in gone}, **changed}
