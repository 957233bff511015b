"""Manifests as files: a batch writes what it changed, and what is read is what was committed, or an error with its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from thalweg.errors import StateError
from thalweg.state import history
from thalweg.state.change import applied, change_of
from thalweg.state.local import LocalStore
from thalweg.state.manifest import Counts, Manifest, Seen, SetAside, Staged, StateFile, StepTime
from thalweg.state.records import dumps, loads


def file(name: str) -> StateFile:
    return StateFile(f"f{hash(name) % 3}", name, 0, 2, 1, 2, 10, 100, 7)


def successor(before: Manifest, rng: Random) -> Manifest:
    """A manifest in which something of everything may have changed."""
    batch = before.batch + 1
    kept = tuple(f for f in before.files if rng.random() < 0.8)
    streams = {**before.streams, f"s{rng.randrange(3)}": Counts(rng.randrange(100), 1, 2, 3)}
    queries = {q: c for q, c in before.queries.items() if rng.random() < 0.8} | {
        f"q{rng.randrange(5)}": Counts(batch)
    }
    keys = {k: v for k, v in before.seen.keys.items() if rng.random() < 0.8} | {
        f"k{rng.randrange(5)}": rng.random()
    }
    return Manifest(
        batch=batch,
        hash="h",
        plan=f"p{batch // 3}",
        tops={**before.tops, "s": batch},
        frontiers={**before.frontiers, "s": None if batch == 0 else batch - 1},
        files=(*kept, *(file(f"{batch}-{i}") for i in range(rng.randrange(3)))),
        publish=(Staged("out", f"x{batch}", f"y{batch}"),),
        streams=streams,
        queries=queries,
        set_aside=(
            *before.set_aside,
            *([SetAside("s", f"bad{batch}", "it is empty")] if rng.random() < 0.3 else []),
        ),
        steps={"lift a": StepTime(batch, 0.5)},
        seen=Seen({"s": (1.0, batch + 0.5)}, keys, {"a": (0.5, 1.0, 2.0)}),
    )


def grow(store: LocalStore, batches: int, last: Manifest | None = None) -> list[Manifest]:
    """Commit batches; returns all manifests."""
    rng, made = Random(5), [last or Manifest()]
    for _ in range(batches):
        after = successor(made[-1], rng)
        digest, _ = history.append(store, made[-1], after)
        made.append(replace(after, digest=digest))
    return made


def test_a_change_and_what_was_before_are_what_is_after() -> None:
    rng, before = Random(1), Manifest()
    for _ in range(50):
        after = successor(before, rng)
        assert applied(before, change_of(before, after), "d") == after
        before = after


@pytest.mark.parametrize("kind", [Manifest])
def test_records_survive_json(kind: type[Manifest]) -> None:
    made = successor(successor(Manifest(), Random(2)), Random(3))
    assert loads(kind, dumps(made)) == made


def test_the_last_batch_is_read_from_a_base_and_changes(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, durable=False)
    made = grow(store, 12)
    assert history.latest(store) == made[-1]
    history.write_base(store, made[-1])
    history.forget(store, made[-1].batch)
    assert history.latest(store) == made[-1]
    assert len(store.list()) == history.KEEP + 1
    more = grow(store, 3, made[-1])
    assert history.latest(store) == more[-1]
    assert history.latest(store).digest == more[-1].digest


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, durable=False)
    made = grow(store, 3)
    (tmp_path / "notes.json").write_text("mine")
    (tmp_path / "folder.json").mkdir()
    history.write_base(store, made[-1])
    history.forget(store, made[-1].batch + 10)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder.json", "notes.json"]


def test_a_worker_goes_on_from_the_batch_that_it_knows(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, durable=False)
    made = grow(store, 6)
    assert history.manifest_at(tmp_path / history.change_name(4)) == made[5]
    for name in store.list()[:5]:
        store.delete(name)
    assert history.manifest_at(tmp_path / history.change_name(5)) == made[6]


def test_a_batch_is_committed_once(tmp_path: Path) -> None:
    store = LocalStore(tmp_path, durable=False)
    made = grow(store, 2)
    with pytest.raises(StateError, match="batch 1 was committed by another process"):
        history.append(store, made[1], made[2])


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "swap", "gone"])
def test_damage_is_told_with_the_file(tmp_path: Path, damage: str) -> None:
    store = LocalStore(tmp_path, durable=False)
    grow(store, 4)
    path, other = tmp_path / history.change_name(2), tmp_path / history.change_name(1)
    data = path.read_bytes()
    match damage:
        case "flip":
            path.write_bytes(data.replace(b'"hash":"h"', b'"hash":"i"'))
        case "cut":
            path.write_bytes(data[:-10])
        case "empty":
            path.write_bytes(b"")
        case "swap":
            path.write_bytes(other.read_bytes())
        case "gone":
            path.unlink()
    with pytest.raises(StateError, match=path.name) as said:
        history.latest(store)
    assert said.value.hint == "restore it from a copy, or start anew in another directory"


def test_what_is_written_grows_with_what_changed(tmp_path: Path) -> None:
    """A thousand files that stay cost nothing."""
    store = LocalStore(tmp_path, durable=False)
    large = Manifest(
        files=tuple(file(f"old-{i}") for i in range(1000)), queries={f"q{i}": Counts(i) for i in range(500)}
    )
    after = replace(
        large, batch=0, files=(*large.files[1:], file("new")), queries={**large.queries, "q7": Counts(8)}
    )
    _, size = history.append(store, large, after)
    assert size < 1000 < len(dumps(large)) // 100
