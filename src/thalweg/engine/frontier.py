"""Frontiers: the event time below which a stream's data is final."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping


def advance(
    frontiers: Mapping[str, int | None],
    tops: Mapping[str, int | None],
    delays: Mapping[str, int],
    idle: Collection[str] = (),
) -> dict[str, int | None]:
    """The frontier of each stream after a batch: its highest event time less its delay, and never back.

    An idle stream doesn't hold others back: its frontier follows the least of the streams that are not idle.

    >>> advance({"a": None, "b": 5}, {"a": 20, "b": 7}, {"a": 5, "b": 0})
    {'a': 15, 'b': 7}
    >>> advance({"a": 15, "b": 7}, {"a": 20, "b": 7}, {"a": 5, "b": 0}, idle={"b"})
    {'a': 15, 'b': 15}
    """
    moved = {
        s: _later([frontiers.get(s), None if top is None else top - delays[s]]) for s, top in tops.items()
    }
    active = [moved[s] for s in moved if s not in idle]
    known = [f for f in active if f is not None]
    if known and len(known) == len(active):
        for stream in idle:
            if stream in moved:
                moved[stream] = _later([moved[stream], min(known)])
    return moved


def raised(tops: Mapping[str, int | None], seen: Iterable[tuple[str, int | None]]) -> dict[str, int | None]:
    """The highest event time of each stream after a batch that saw these."""
    result = dict(tops)
    for stream, top in seen:
        result[stream] = _later([result.get(stream), top])
    return result


def _later(instants: Iterable[int | None]) -> int | None:
    return max((i for i in instants if i is not None), default=None)
