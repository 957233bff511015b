"""In which order the inputs of a join meet, and whether at every instant or once for several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True)
class Meeting:
    """The inputs of a join in the order in which they meet, where `fresh` is the one whose new rows meet what the others have; None where
    all bring what they have."""

    fresh: int | None
    inputs: tuple[int, ...]


Order = tuple[Meeting, ...]
"""A meeting for each that a join has in a batch; nothing where its inputs meet as they are written."""


def inputs_met(order: Order, fresh: int | None, count: int) -> tuple[int, ...]:
    """So many inputs in the order in which they meet where one has new rows; of what an order does not know, the first that it says.

    >>> order = (Meeting(0, (0, 2, 1)), Meeting(1, (1, 2, 0)))
    >>> inputs_met(order, 1, 3), inputs_met(order, None, 3), inputs_met((), 0, 3)
    ((1, 2, 0), (0, 2, 1), (0, 1, 2))
    """
    found = {meeting.fresh: meeting.inputs for meeting in reversed(order)}
    return found.get(fresh) or (order[0].inputs if order else tuple(range(count)))


def meet_once(windows: Sequence[float], ahead: float, instants: float) -> bool:
    """Whether rows make fewer pairs if they meet once for some instants than if windows meet at each; `ahead` is how far the windows move.

    >>> meet_once([1000, 1000], 100, 100), meet_once([10, 10], 100, 10)
    (True, False)
    """
    return prod((w + ahead) / w for w in windows) < instants
