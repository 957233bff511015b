"""When each query was part of the batches: of those that live, and of those that were dropped not long ago."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from thalweg.errors import StateError
from thalweg.model.query import Query
from thalweg.model.stream import Column
from thalweg.state.checks import digest
from thalweg.state.local import LocalStore
from thalweg.state.store import Taken

DROPPED = 200


@dataclass(frozen=True)
class Life:
    """A query in force: from batch `epoch` on, until batch `ended`, which is without it.

    `begins` is per stream the event time from which its rows count, None where they do from the first. `pools` are those that it was
    computed in, whose result files have its rows. `number` says which creation of a query in its session it is of.
    """

    name: str
    epoch: int
    begins: Mapping[str, int | None]
    directory: str
    outputs: tuple[Column, ...]
    text: str = ""
    ended: int | None = None
    pools: tuple[str, ...] = ()
    number: int = 0


Lives = tuple[Life, ...]


def lived(
    lives: Lives,
    queries: Iterable[Query],
    continuing: Collection[str],
    batch: int,
    tops: Mapping[str, int | None],
    outputs: Mapping[str, str],
    pools: Mapping[str, tuple[str, ...]],
    begins: Mapping[str, Mapping[str, int | None]],
) -> Lives:
    """What is known of lives once a batch has run `queries`; those that the batch before it had too are `continuing`. `pools` are those
    that queries are computed in now; `begins` is where those begin that don't after all rows seen."""
    queries = tuple(queries)
    known = {life.name for life in lives if life.ended is None and life.name in continuing}
    ended = [
        replace(life, ended=batch) if life.ended is None and life.name not in known else life
        for life in lives
    ]
    born = [
        _born(q, batch, tops, outputs[q.name], begins.get(q.name)) for q in queries if q.name not in known
    ]
    gone = [life for life in ended if life.ended is not None]
    live = (*(life for life in ended if life.ended is None), *born)
    return (
        *gone[-DROPPED:],
        *(replace(v, pools=tuple(dict.fromkeys((*v.pools, *pools.get(v.name, ()))))) for v in live),
    )


def _born(
    query: Query,
    batch: int,
    tops: Mapping[str, int | None],
    directory: str,
    earlier: Mapping[str, int | None] | None,
) -> Life:
    seen = {s: tops.get(s) for s in query.sources}
    after = {s: None if top is None else top + 1 for s, top in seen.items()}
    outputs = tuple(Column(o.name, o.type) for o in query.outputs)
    begins = after if earlier is None else earlier
    return Life(query.name, batch, begins, directory, outputs, query.text, number=query.number)


def write(directory: Path, batch: int, lives: Lives) -> None:
    """Log the lives that a batch leaves, before it is committed."""
    text = json.dumps([{**vars(life), "outputs": [vars(c) for c in life.outputs]} for life in lives])
    directory.mkdir(exist_ok=True)
    with suppress(Taken):
        LocalStore(directory).put(f"{batch:012d}-{digest(text.encode())}.json", text.encode())


def read(directory: Path, batch: int) -> Lives:
    """The lives as the last committed batch left them."""
    path = max((p for p in directory.glob("[0-9]*.json") if _batch(p) <= batch), default=None)
    if path is None:
        return ()
    try:
        text = path.read_text()
        if digest(text.encode()) != path.stem.partition("-")[2]:
            raise ValueError("its checksum is another")
        return tuple(_life(found) for found in json.loads(text))
    except (ValueError, KeyError, TypeError) as e:
        raise StateError(
            f"{path}: damaged ({e})", "restore it from a copy, or start anew in another directory"
        ) from e


def forget(directory: Path, batch: int) -> None:
    """Remove what was logged before a committed batch, and by batches that were never committed."""
    paths = sorted(directory.glob("[0-9]*.json"))
    current = max((p for p in paths if _batch(p) <= batch), default=None)
    for path in paths:
        if path != current:
            path.unlink(missing_ok=True)


def _life(found: dict[str, object]) -> Life:
    columns = found["outputs"]
    assert isinstance(columns, list)
    pools = found.get("pools", [])
    assert isinstance(pools, list)
    return Life(**{**found, "outputs": tuple(Column(**c) for c in columns), "pools": tuple(pools)})  # type: ignore[arg-type]


def _batch(path: Path) -> int:
    return int(path.stem.partition("-")[0])
