"""The course of a session: how far each batch went in each stream, and where its frontiers stood. By it earlier batches can be replayed.

What a batch changed of the manifest says it; before such changes are forgotten, what is needed of them is written down here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from thalweg.state import history
from thalweg.state.change import Change
from thalweg.state.checks import damaged, missing, opened, sealed
from thalweg.state.manifest import Consumed, Counts, Manifest
from thalweg.state.records import dumps, loads
from thalweg.state.store import Missing, Store, Taken

SEGMENT = ".course"


@dataclass(frozen=True)
class Mark:
    """Where a stream stood after a batch: the last number of Spark's log of its files, the highest event time, the frontier, and the
    late rows so far."""

    offset: int = -1
    top: int | None = None
    frontier: int | None = None
    late: int = 0


Marks = dict[str, Mark]


@dataclass(frozen=True)
class Turn:
    """A batch, with the marks of the streams that it moved. With `first` nothing is known of the batches up to it."""

    batch: int
    marks: Marks = field(default_factory=dict)
    first: bool = False


@dataclass(frozen=True)
class Segment:
    """Turns that follow one another, and where all streams stood before the first of them."""

    before: Marks
    turns: tuple[Turn, ...]

    @property
    def after(self) -> Marks:
        """Where all streams stood after the last."""
        return marks_after(self.before, self.turns)

    @property
    def batches(self) -> int:
        """How many there are."""
        return self.turns[-1].batch - self.turns[0].batch + 1


def marks_after(marks: Mapping[str, Mark], turns: Iterable[Turn]) -> Marks:
    """Where the streams stood after some turns.

    >>> marks_after({"s": Mark(0, 5)}, [Turn(3, {"s": Mark(1, 9)}), Turn(4)])
    {'s': Mark(offset=1, top=9, frontier=None, late=0)}
    """
    found = dict(marks)
    for turn in turns:
        found.update(turn.marks)
    return found


def marks_of(manifest: Manifest) -> Marks:
    """Where the streams stand after a batch."""
    return {s: _mark(manifest, s) for s in {*manifest.tops, *manifest.consumed, *manifest.streams}}


def _mark(known: Manifest | Change, stream: str) -> Mark:
    taken, counts = known.consumed.get(stream, Consumed()), known.streams.get(stream, Counts())
    return Mark(taken.offset, known.tops.get(stream), known.frontiers.get(stream), counts.late)


def _turn(change: Change, before: Mapping[str, Mark]) -> Turn:
    """What a batch did: a change has only what is another than before."""
    moved = {}
    for stream in {*change.tops, *change.frontiers, *change.consumed, *change.streams}:
        old, new = before.get(stream, Mark()), _mark(change, stream)
        moved[stream] = Mark(
            new.offset if stream in change.consumed else old.offset,
            new.top if stream in change.tops else old.top,
            new.frontier if stream in change.frontiers else old.frontier,
            new.late if stream in change.streams else old.late,
        )
    return Turn(change.batch, {s: m for s, m in moved.items() if m != before.get(s)})


class Course:
    """The turns of a session directory: `store` has those that were written down, `manifests` what the last batches changed."""

    def __init__(self, store: Store, manifests: Store, root: str) -> None:
        self._store, self._manifests, self._root = store, manifests, root

    def keep(self, last: Manifest) -> None:
        """Write down the turns up to the last batch, before what says them is forgotten. Doing it twice is doing it once."""
        written = self._segments()
        if last.batch <= (written[-1][1] if written else -1):
            return
        earlier = self._read(written[-1][2]) if written else None
        following = self._turns_after(earlier, last)
        if following[0].first:
            earlier, written = None, []
        made = Segment(earlier.after if earlier else {}, following)
        gone = self._superfluous(written)
        while written and written[-1][1] - written[-1][0] < made.batches:
            name = written.pop()[2]
            older = self._read(name)
            made = Segment(
                older.before, (*(t for t in older.turns if t.batch < made.turns[0].batch), *made.turns)
            )
            gone.append(name)
        self._put(made)
        for name in gone:
            self._store.delete(name)

    def turns(self, last: Manifest, since: int = -1) -> tuple[Turn, ...]:
        """What is known of the batches after `since` up to the last, oldest first."""
        written = self._segments()
        read = [self._read(name) for _, end, name in written if end > since or name == written[-1][2]]
        following = self._turns_after(read[-1] if read else None, last)
        if following and following[0].first:
            read = []
        found = {t.batch: t for segment in read for t in segment.turns}
        found.update({t.batch: t for t in following})
        return tuple(t for t in found.values() if since < t.batch <= last.batch)

    def _turns_after(self, earlier: Segment | None, last: Manifest) -> tuple[Turn, ...]:
        """The turns that are not written down yet, from what the last batches changed. Where that is not there for all of them, as in
        a directory that was restored from a base, nothing is known of what was before."""
        batches = range(earlier.turns[-1].batch + 1 if earlier else 0, last.batch + 1)
        if not {history.change_name(batch) for batch in batches} <= set(self._manifests.list()):
            return (Turn(last.batch, marks_of(last), first=True),)
        marks, found = earlier.after if earlier else {}, list[Turn]()
        for batch in batches:
            found.append(_turn(history.read_change(self._manifests, batch, self._root)[0], marks))
            marks.update(found[-1].marks)
        return tuple(found)

    def _put(self, made: Segment) -> None:
        name = f"{made.turns[0].batch:012d}-{made.turns[-1].batch:012d}{SEGMENT}"
        try:
            self._store.put(name, sealed(dumps(made)))
        except Taken:
            self._read(name)

    def _segments(self) -> list[tuple[int, int, str]]:
        """First and last batch and name of what was written, in order; what a longer one has as well is left out."""
        kept: list[tuple[int, int, str]] = []
        for first, last, name in sorted(map(_named, self._names()), key=lambda f: (f[0], -f[1])):
            if not kept or last > kept[-1][1]:
                kept.append((first, last, name))
        return kept

    def _superfluous(self, used: list[tuple[int, int, str]]) -> list[str]:
        return sorted(set(self._names()) - {name for _, _, name in used})

    def _names(self) -> list[str]:
        return [n for n in self._store.list() if n.endswith(SEGMENT)]

    def _read(self, name: str) -> Segment:
        where = f"{self._root}/{name}"
        try:
            text = opened(where, self._store.get(name).to_pybytes())[1]
        except Missing:
            raise missing(where, "the course of the batches") from None
        try:
            return loads(Segment, text)
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise damaged(where, str(e)) from e


def _named(name: str) -> tuple[int, int, str]:
    first, last = name.removesuffix(SEGMENT).split("-")
    return int(first), int(last), name
