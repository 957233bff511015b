"""The batches that happened, as files: one of what it changed for every batch, and now and then a base with all of it.

A base saves a restart, and a new worker, from reading all changes; a batch is committed by its change alone.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from thalweg.errors import StateError
from thalweg.state.change import Change, applied, change_of
from thalweg.state.checks import damaged, missing, opened, sealed
from thalweg.state.local import LocalStore
from thalweg.state.manifest import Manifest
from thalweg.state.records import dumps, loads
from thalweg.state.store import Missing, Store, Taken

# Changes that stay behind a base, for who reads while the session goes on.
KEEP = 4
CHANGE, BASE = ".json", ".base"
T = TypeVar("T", Change, Manifest)


def change_name(batch: int) -> str:
    """The file of what a batch changed."""
    return f"{batch:012d}{CHANGE}"


def base_name(batch: int) -> str:
    """The file of all that is there after a batch."""
    return f"{batch:012d}{BASE}"


def append(store: Store, before: Manifest, made: Manifest, root: str = "manifests") -> tuple[str, int]:
    """Commit a batch: from here on it has happened. Returns the digest and the bytes of what was written."""
    text = sealed(dumps(change_of(before, made)))
    try:
        store.put(change_name(made.batch), text)
    except Taken:
        said = f"{root}/{change_name(made.batch)}: batch {made.batch} was committed by another process"
        raise StateError(said, "let only one process use the directory") from None
    return opened(root, text)[0], len(text)


def write_base(store: Store, manifest: Manifest) -> int:
    """Write all that is there; returns its bytes. It is the same however often it is written."""
    text = sealed(dumps(manifest))
    try:
        store.put(base_name(manifest.batch), text)
    except Taken:
        read_base(store, manifest.batch, "manifests")
    return len(text)


def forget(store: Store, batch: int) -> None:
    """Remove what a base makes superfluous."""
    for name in _numbered(store):
        oldest = batch - KEEP + 1 if name.endswith(CHANGE) else batch
        if _number(name) < oldest:
            store.delete(name)


def latest(store: Store, root: str = "manifests") -> Manifest:
    """The manifest of the last committed batch, or an empty one; `root` is what an error says before a name."""
    names = _numbered(store)
    return read(store, max(map(_number, names)), root) if names else Manifest()


def latest_at(directory: Path) -> Manifest:
    """The manifest of the last committed batch of a session."""
    return latest(LocalStore(directory), str(directory))


def read(store: Store, batch: int, root: str) -> Manifest:
    """The manifest of a batch, from the last base before it and what was changed since."""
    found = _last_base(store, batch, root)
    for number in range(found.batch + 1, batch + 1):
        found = _following(found, *read_change(store, number, root), f"{root}/{change_name(number)}")
    return found


def _last_base(store: Store, batch: int, root: str) -> Manifest:
    bases = [n for name in _numbered(store) if name.endswith(BASE) and (n := _number(name)) <= batch]
    return read_base(store, max(bases), root) if bases else Manifest()


def read_change(store: Store, batch: int, root: str) -> tuple[Change, str]:
    """What a batch changed, and the digest of that."""
    text, digest = _body(store, change_name(batch), root)
    return _loaded(Change, text, f"{root}/{change_name(batch)}"), digest


def read_base(store: Store, batch: int, root: str) -> Manifest:
    """The whole manifest of a batch."""
    text, _ = _body(store, base_name(batch), root)
    return _loaded(Manifest, text, f"{root}/{base_name(batch)}")


def _body(store: Store, name: str, root: str) -> tuple[str, str]:
    try:
        digest, text = opened(f"{root}/{name}", store.get(name).to_pybytes())
    except Missing:
        raise missing(f"{root}/{name}", "the manifest") from None
    return text, digest


def _loaded(kind: type[T], text: str, where: str) -> T:
    try:
        return loads(kind, text)
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        raise damaged(where, str(e)) from e


def _following(before: Manifest, change: Change, digest: str, where: str) -> Manifest:
    if change.prior != before.digest or change.batch != before.batch + 1:
        raise damaged(where, "it does not follow the batch before")
    return applied(before, change, digest)


def _numbered(store: Store) -> list[str]:
    """The names of changes and bases; what else may lie there is not ours."""
    return [n for n in store.list() if n.endswith((CHANGE, BASE)) and n.split(".")[0].isdecimal()]


def _number(name: str) -> int:
    return int(name.split(".")[0])


# ---- in a worker, which lives through many batches ----

_RECENT: OrderedDict[str, Manifest] = OrderedDict()
REMEMBERED = 4


def manifest_at(path: Path) -> Manifest:
    """The manifest of the batch whose change is in a file, read once and from what is known of the batch before."""
    seen = path.stat() if path.exists() else path.with_suffix(BASE).stat()
    return _manifest(path, seen.st_ino, seen.st_mtime_ns)


@lru_cache(maxsize=2)
def _manifest(path: Path, inode: int, changed: int) -> Manifest:
    """Workers outlive sessions, and a session directory made anew has files of the same names: so the file itself is the key."""
    store, root, batch = LocalStore(path.parent), str(path.parent), _number(path.name)
    found = _next(store, batch, root) if path.exists() else None
    found = found or read(store, batch, root)
    _RECENT[found.digest] = found
    while len(_RECENT) > REMEMBERED:
        _RECENT.popitem(last=False)
    return found


def _next(store: Store, batch: int, root: str) -> Manifest | None:
    """The successor of a manifest that this process knows."""
    change, digest = read_change(store, batch, root)
    before = Manifest() if batch == 0 else _RECENT.get(change.prior)
    return None if before is None else _following(before, change, digest, f"{root}/{change_name(batch)}")
