"""Which instances of one window make up an instance of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Pieces:
    """Every `stride`-th instance from the first on, `count` of them, and where these don't reach the end the `last` one too.

    >>> list(Pieces(3)), list(Pieces(2, 2, 3))
    ([0, 1, 2], [0, 2, 3])
    """

    count: int
    stride: int = 1
    last: int | None = None

    def __len__(self) -> int:
        return self.count + (self.last is not None)

    def __iter__(self) -> Iterator[int]:
        yield from range(0, self.count * self.stride, self.stride)
        if self.last is not None:
            yield self.last

    @property
    def highest(self) -> int:
        """The last of all."""
        return (self.count - 1) * self.stride if self.last is None else self.last

    @property
    def contiguous(self) -> bool:
        """Whether no instance between the first and the last is left out."""
        return self.last is None and (self.stride == 1 or self.count == 1)


def covering(count: int, stride: int) -> Pieces:
    """As few as cover so many instances: one at every stride, and the last.

    >>> covering(4, 2), covering(5, 2), covering(1, 3)
    (Pieces(count=2, stride=2, last=3), Pieces(count=3, stride=2, last=None), Pieces(count=1, stride=3, last=None))
    """
    regular = -(-(count - 1) // stride)
    return (
        Pieces(regular + 1, stride) if regular * stride == count - 1 else Pieces(regular, stride, count - 1)
    )
