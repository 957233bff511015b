"""What is found once of frozen values, by several threads."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Barrier, Thread

from thalweg.once import cached_property

BOTH = Barrier(2, timeout=20)


@dataclass(frozen=True)
class Piece:
    """A text that is written from another one: as a whole from its operand, as an operand from the whole."""

    inner: Piece | None = None

    @cached_property
    def whole(self) -> str:
        if self.inner is None:
            return "x"
        BOTH.wait()
        return f"whole({self.inner.operand})"

    @cached_property
    def operand(self) -> str:
        if self.inner is None:
            return "y"
        BOTH.wait()
        return f"operand({self.inner.whole})"


def test_two_threads_that_go_different_ways_do_not_wait_for_each_other() -> None:
    one, other, found = Piece(Piece()), Piece(Piece()), dict[str, str]()
    threads = [
        Thread(target=lambda: found.update(whole=one.whole), daemon=True),
        Thread(target=lambda: found.update(operand=other.operand), daemon=True),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == {"whole": "whole(y)", "operand": "operand(x)"}


@dataclass(frozen=True)
class Count:
    """What is made anew each time it is found."""

    @cached_property
    def made(self) -> list[int]:
        BOTH.wait()
        return []


def test_threads_that_find_at_the_same_time_are_given_the_same() -> None:
    count, found = Count(), list[list[int]]()
    threads = [Thread(target=lambda: found.append(count.made)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(found) == 2 and found[0] is found[1] is count.made
