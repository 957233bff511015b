"""The manifest of a batch: the one atomic write that decides that the batch happened."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from thalweg.errors import StateError
from thalweg.state.directory import write_atomic

KEEP = 4


@dataclass(frozen=True)
class StateFile:
    """An immutable Arrow file: instances [low, high] of a fragment, of one hash range (`part` of `parts`)."""

    fragment: str
    path: str
    part: int
    parts: int
    low: int
    high: int
    rows: int
    bytes: int


@dataclass(frozen=True)
class Staged:
    """A result file and the name under which it is shown once its batch is committed."""

    staged: str
    final: str


@dataclass(frozen=True)
class Counts:
    """What happened so far to a stream or a query."""

    rows: int = 0
    late: int = 0
    untimed: int = 0
    bad_files: int = 0

    def plus(self, **more: int) -> Counts:
        """These counts and more."""
        return replace(self, **{k: getattr(self, k) + v for k, v in more.items()})


@dataclass(frozen=True)
class Seen:
    """Statistics of the running streams.

    streams: (events per second, microseconds of event time per batch). keys: distinct keys per group, groups per join. sides:
    of what joins keep, (share of rows that its conditions choose, distinct values of all, distinct values of what is equated).
    """

    streams: dict[str, tuple[float, float]] = field(default_factory=dict)
    keys: dict[str, float] = field(default_factory=dict)
    sides: dict[str, tuple[float, float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """Everything that batch `batch` left behind: state files, frontiers, counts, results to show."""

    batch: int = -1
    hash: str = ""
    plan: str = ""
    tops: dict[str, int | None] = field(default_factory=dict)
    frontiers: dict[str, int | None] = field(default_factory=dict)
    files: tuple[StateFile, ...] = ()
    publish: tuple[Staged, ...] = ()
    streams: dict[str, Counts] = field(default_factory=dict)
    queries: dict[str, Counts] = field(default_factory=dict)
    bad_files: tuple[str, ...] = ()
    steps: dict[str, Any] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)


def manifest_path(directory: Path, batch: int) -> Path:
    """Where the manifest of a batch stands."""
    return directory / f"{batch:012d}.json"


def write(directory: Path, manifest: Manifest) -> None:
    """Commit a batch."""
    write_atomic(manifest_path(directory, manifest.batch), json.dumps(asdict(manifest)))


def read(path: Path) -> Manifest:
    """The manifest in a file."""
    try:
        found = json.loads(path.read_text())
        found["files"] = tuple(StateFile(**f) for f in found["files"])
        found["publish"] = tuple(Staged(**p) for p in found["publish"])
        found["streams"] = {k: Counts(**v) for k, v in found["streams"].items()}
        found["queries"] = {k: Counts(**v) for k, v in found["queries"].items()}
        found["bad_files"] = tuple(found["bad_files"])
        seen = found["seen"]
        sides = {k: (v[0], v[1], v[2]) for k, v in seen.get("sides", {}).items()}
        found["seen"] = Seen({k: (v[0], v[1]) for k, v in seen["streams"].items()}, seen["keys"], sides)
        return Manifest(**found)
    except (ValueError, KeyError, TypeError) as e:
        raise StateError(f"{path}: damaged manifest ({e})", "restore it from a copy, or start anew in another directory") from e


def latest(directory: Path) -> Manifest:
    """The manifest of the last committed batch, or an empty one."""
    paths = sorted(directory.glob("[0-9]*.json"))
    return read(paths[-1]) if paths else Manifest()


def forget_old(directory: Path, batch: int) -> None:
    """Remove manifests that no restart can ask for."""
    for path in sorted(directory.glob("[0-9]*.json")):
        if int(path.stem) <= batch - KEEP:
            path.unlink(missing_ok=True)
