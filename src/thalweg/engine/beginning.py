"""Where a query with a history begins: as early as the files that were read allow, and no earlier than is asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from thalweg.connectors.source_log import Entry, all_entries
from thalweg.model.query import ALL
from thalweg.model.stream import Stream
from thalweg.state.course import Mark, Marks, Turn, marks_after
from thalweg.state.manifest import Manifest


@dataclass(frozen=True)
class Beginning:
    """A replay begins after batch `after`, which left the streams at `marks`. `begins` says per stream from which event time on its rows
    count, None where they do from the first. `why` it is no earlier, where more was asked than can be given."""

    after: int
    begins: dict[str, int | None] = field(default_factory=dict)
    marks: Marks = field(default_factory=dict)
    why: str | None = None

    @property
    def manifest(self) -> Manifest:
        """What a replay starts from: as if it had run until then and kept nothing."""
        tops = {s: None if b is None else b - 1 for s, b in self.begins.items()}
        return Manifest(
            tops=tops, frontiers={s: m.frontier for s, m in self.marks.items()}, replayed=self.after
        )


def beginning(
    turns: Sequence[Turn], streams: Collection[str], history: int, gone: Mapping[str, Sequence[Entry]]
) -> Beginning:
    """Where a query over some streams begins, by the course of the batches; `gone` are the files that can't be read again.

    >>> course = [Turn(0, {"s": Mark(0, 10, 8)}), Turn(1, {"s": Mark(1, 20, 18)}), Turn(2, {"s": Mark(2, 30, 28)})]
    >>> beginning(course, ["s"], ALL, {}).begins, beginning(course, ["s"], 5, {}).begins, beginning(course, ["s"], 5, {}).after
    ({'s': None}, {'s': 25}, 1)
    >>> beginning(course, ["s"], ALL, {"s": [Entry("file:///in/0.csv", 0)]})
    Beginning(after=0, begins={'s': 11}, marks={'s': Mark(offset=0, top=10, frontier=8, late=0)}, why='/in/0.csv, read in batch 0, is gone')
    """
    least, why = _least(turns, gone)
    reached = _within(streams, marks_after({}, (t for t in turns if t.batch <= least)))
    begins: dict[str, int | None] = {s: None if m.top is None else m.top + 1 for s, m in reached.items()}
    if history != ALL:
        now = marks_after({}, turns)
        begins = {s: _later(b, now.get(s, Mark()).top, history) for s, b in begins.items()}
    marks = reached
    for turn in (t for t in turns if t.batch > least):
        following = _within(streams, marks_after(marks, [turn]))
        if any(_counts(begins[s], mark.top) for s, mark in following.items()):
            break
        least, marks = turn.batch, following
    return Beginning(least, begins, marks, why)


def _within(streams: Iterable[str], marks: Mapping[str, Mark]) -> Marks:
    return {s: marks.get(s, Mark()) for s in streams}


def _counts(begin: int | None, top: int | None) -> bool:
    """Whether a row of the highest event time counts."""
    return top is not None and (begin is None or top >= begin)


def _later(begin: int | None, top: int | None, history: int) -> int | None:
    """The later of two beginnings: the earliest that is possible, and the earliest that is asked."""
    asked = [] if top is None else [top - history]
    return max([*([] if begin is None else [begin]), *asked], default=None)


def _least(turns: Sequence[Turn], gone: Mapping[str, Sequence[Entry]]) -> tuple[int, str | None]:
    """The last batch that can't be replayed, and why."""
    least, why = -1, None
    if turns and turns[0].first:
        least, why = turns[0].batch, f"what batches up to {turns[0].batch:,} have read was not kept"
    for stream, entries in gone.items():
        for entry in entries:
            batch = next((t.batch for t in turns if t.marks.get(stream, Mark()).offset >= entry.number), -1)
            if batch > least:
                least, why = batch, f"{entry.file}, read in batch {batch:,}, is gone"
    return least, why


def gone_of(
    stream: Stream, entries: Iterable[Entry], exists: Callable[[str], bool] = lambda p: Path(p).is_file()
) -> list[Entry]:
    """The files that a stream has taken and can't be read again: removed, or of a stream that had its name before."""
    root = Path(stream.path or "").resolve()
    return [e for e in entries if not Path(e.file).is_relative_to(root) or not exists(e.file)]


def logged(checkpoint: Path, stream: str, first: int, last: int) -> list[Entry]:
    """The files that a stream has taken under some numbers, in order."""
    found = [
        e for e in all_entries(checkpoint / "sources" / stream, last, first) if first <= e.number <= last
    ]
    return sorted(found, key=lambda e: e.number)
