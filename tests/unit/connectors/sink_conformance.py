"""What every sink must do: a class of tests to be subclassed with fixtures `sink`, `other` (the same opened again) and `shown`."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from thalweg.connectors.base import Sink
from thalweg.state.local import flush
from thalweg.state.manifest import Staged
from thalweg.state.records import dumps, loads

Shown = Callable[[], list[int]]


def table(*values: int) -> pa.Table:
    return pa.table({"v": pa.array(values, pa.int64())})


class SinkConformance:
    """Subclass it as `TestX`: `sink` and `other` lead to one empty place, `shown()` gives the values that a reader sees, in order."""

    def staged(self, sink: Sink, batch: int, *values: int, number: int = 0) -> Staged:
        token = sink.stage(table(*values), batch, number)
        named = sink.named(token, batch, number)
        flush([*sink.staged_files(token), *sink.staged_folders()])
        return loads(Staged, dumps(named))

    def test_what_is_staged_is_not_seen(self, sink: Sink, shown: Shown) -> None:
        self.staged(sink, 0, 1, 2)
        assert shown() == []

    def test_what_is_committed_is_seen(self, sink: Sink, other: Sink, shown: Shown) -> None:
        files = [self.staged(sink, 0, 1, 2, number=0), self.staged(sink, 0, 3, number=1)]
        other.commit(files)
        assert shown() == [1, 2, 3]

    def test_equal_rows_of_two_tasks_are_both_seen(self, sink: Sink, shown: Shown) -> None:
        sink.commit([self.staged(sink, 0, 7, number=n) for n in range(3)])
        assert shown() == [7, 7, 7]

    def test_committing_again_changes_nothing(self, sink: Sink, other: Sink, shown: Shown) -> None:
        first = [self.staged(sink, 0, 1), self.staged(sink, 0, 2, number=1)]
        sink.commit(first[:1])
        sink.commit(first)
        other.recover(first)
        assert shown() == [1, 2]

    def test_recovery_shows_what_a_crash_left(self, sink: Sink, other: Sink, shown: Shown) -> None:
        files = [self.staged(sink, 0, 1), self.staged(sink, 0, 2, number=1)]
        sink.commit(files[:1])
        other.recover(files)
        assert shown() == [1, 2]

    def test_what_was_never_committed_is_swept(self, sink: Sink, other: Sink, shown: Shown) -> None:
        kept = [self.staged(sink, 0, 1)]
        sink.commit(kept)
        self.staged(sink, 1, 9)
        other.sweep()
        again = [self.staged(sink, 1, 2)]
        sink.commit(again)
        assert shown() == [1, 2]

    def test_a_batch_that_is_run_again_is_seen_once(self, sink: Sink, other: Sink, shown: Shown) -> None:
        self.staged(sink, 0, 1, 2)
        second = [self.staged(other, 0, 1, 2)]
        other.commit(second)
        other.sweep()
        assert shown() == [1, 2]

    def test_sweeping_an_unused_place(self, sink: Sink, shown: Shown) -> None:
        sink.sweep()
        sink.commit([])
        assert shown() == []
