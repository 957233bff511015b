"""What follows from a frozen value alone is found once, and kept with the value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

V = TypeVar("V")
R = TypeVar("R")


def once(find: Callable[[V], R]) -> Callable[[V], R]:
    """A function of a frozen value that is asked once of each: what it said goes with the value, and is no part of it.

    >>> from thalweg.model.windows import Window
    >>> asked = []
    >>> length = once(lambda window: asked.append(window) or window.range)
    >>> window = Window(20, 10)
    >>> length(window), length(window), len(asked), window == Window(20, 10)
    (20, 20, 1, True)
    """
    name = f"{find.__module__}.{find.__qualname__}"

    @wraps(find)
    def found(value: V) -> R:
        known: dict[str, Any] = vars(value)
        if name not in known:
            known[name] = find(value)
        kept: R = known[name]
        return kept

    return found
