"""How much clients may ask for."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace

from thalweg.connectors.pushed import WAITING
from thalweg.errors import UsageError

CLIENTS = 10_000
"""Clients whose pace is remembered; of more, those that were silent longest are forgotten."""


@dataclass(frozen=True)
class Limits:
    """Bytes of a request, rows of an answer, live queries, requests a second of one client (twice as many at once), clients that follow
    at a time, seconds in which a request must have come whole, bytes of rows that are pushed by one, and bytes of them that may wait."""

    bytes: int = 1_000_000
    rows: int = 100_000
    queries: int = 1_000
    requests: int = 100
    followers: int = 100
    seconds: int = 10
    pushed: int = 16_000_000
    waiting: int = WAITING


def limits_of(pairs: Iterable[str]) -> Limits:
    """What `--limit key=number` options ask for.

    >>> limits_of(["queries=5"]).queries
    5
    """
    limits, names = Limits(), [f.name for f in fields(Limits)]
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key.strip() not in names or not value.strip().isdecimal() or not int(value):
            raise UsageError(
                f"--limit {pair}: not a limit", f"write KEY=NUMBER with one of {', '.join(names)}"
            )
        limits = replace(limits, **{key.strip(): int(value)})
    return limits


class Pace:
    """Requests of each client: `rate` a second, and twice that at once."""

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def takes(self, client: str) -> bool:
        """Whether one more request of a client is taken now.

        >>> pace = Pace(1, clock=lambda: 0.0)
        >>> [pace.takes("a"), pace.takes("a"), pace.takes("a"), pace.takes("b")]
        [True, True, False, True]
        """
        now, most = self._clock(), 2.0 * self._rate
        left, at = self._left.pop(client, (most, now))
        left = min(most, left + (now - at) * self._rate)
        self._left[client] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > CLIENTS:
            self._left.popitem(last=False)
        return left >= 1
