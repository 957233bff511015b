"""The course of a session: whole after changes were forgotten, after a crash, and in directories that had none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from thalweg.errors import StateError
from thalweg.state import history
from thalweg.state.course import Course, Mark, Turn, marks_after, marks_of
from thalweg.state.local import LocalStore
from thalweg.state.manifest import Consumed, Counts, Manifest


class Session:
    """Batches that move one stream each time and another now and then; every ten of them all is written and changes are forgotten."""

    def __init__(self, root: Path, keeps: bool = True) -> None:
        (root / "manifests").mkdir(parents=True)
        (root / "course").mkdir()
        self.store, self.manifests = (
            LocalStore(root / "course", durable=False),
            LocalStore(root / "manifests", durable=False),
        )
        self.course, self.keeps = Course(self.store, self.manifests, str(root / "course")), keeps
        self.last, self.known = Manifest(), list[dict[str, Mark]]()

    def run(self, batches: int) -> None:
        for batch in range(self.last.batch + 1, self.last.batch + 1 + batches):
            made = _after(self.last, batch)
            digest, _ = history.append(self.manifests, self.last, made)
            self.last = replace(made, digest=digest)
            self.known.append(marks_of(self.last))
            if batch % 10 == 9:
                self.forget()

    def forget(self) -> None:
        if self.keeps:
            self.course.keep(self.last)
        history.write_base(self.manifests, self.last)
        history.forget(self.manifests, self.last.batch)

    def check(self, turns: tuple[Turn, ...], first: int = 0) -> None:
        assert [t.batch for t in turns] == list(range(first, self.last.batch + 1))
        for end in range(len(turns)):
            assert marks_after({}, turns[: end + 1]) == self.known[first + end]


def _after(before: Manifest, batch: int) -> Manifest:
    moved = {"s": batch} if batch % 3 else {"s": batch, "r": batch // 3}
    return replace(
        before,
        batch=batch,
        tops={**before.tops, **{s: n * 10 for s, n in moved.items()}},
        frontiers={**before.frontiers, **{s: n * 10 - 5 for s, n in moved.items()}},
        consumed={**before.consumed, **{s: Consumed(n, n + 1, f"{n:032x}") for s, n in moved.items()}},
        streams={**before.streams, **{s: Counts(rows=n, late=n // 4) for s, n in moved.items()}},
    )


def test_nothing_is_lost_when_changes_are_forgotten(tmp_path: Path) -> None:
    session = Session(tmp_path)
    for _ in range(9):
        session.run(13)
        session.check(session.course.turns(session.last))
    assert len(session.store.list()) < 5, "what is written is merged by size"
    assert [t.batch for t in session.course.turns(session.last, since=100)] == list(range(101, 117))


def test_written_twice_and_half_merged_it_is_the_same(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.run(10)
    first = {name: session.store.get(name).to_pybytes() for name in session.store.list()}
    session.run(10)
    session.course.keep(session.last)
    assert not first.keys() & set(session.store.list())
    for name, data in first.items():
        session.store.put(name, data)
    session.check(session.course.turns(session.last))
    session.run(10)
    assert not first.keys() & set(session.store.list())
    session.check(session.course.turns(session.last))


def test_a_directory_that_had_none_begins_with_its_last_batch(tmp_path: Path) -> None:
    session = Session(tmp_path, keeps=False)
    session.run(24)
    (only,) = session.course.turns(session.last)
    assert only.first and only.batch == 23 and only.marks == session.known[23]
    session.keeps = True
    session.forget()
    session.run(12)
    turns = session.course.turns(session.last)
    assert turns[0].first
    session.check(turns, 23)


def test_damage_is_told(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.run(10)
    (name,) = session.store.list()
    path = tmp_path / "course" / name
    path.write_bytes(path.read_bytes().replace(b"true", b"fals").replace(b'"s"', b'"t"'))
    with pytest.raises(StateError, match=r"\.course: damaged"):
        session.course.turns(session.last)


def test_of_a_directory_that_has_a_base_alone_nothing_is_known_before_it(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.run(14)
    for name in session.manifests.list():
        session.manifests.delete(name)
    history.write_base(session.manifests, session.last)
    assert session.course.turns(session.last) == (Turn(13, marks_of(session.last), first=True),)
    session.forget()
    session.run(3)
    turns = session.course.turns(session.last)
    assert turns[0].first
    session.check(turns, first=13)
