"""What follows from a frozen value alone is found once, and kept with the value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, Self, TypeVar, overload

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


class cached_property(Generic[R]):
    """A property that is found once. Where threads ask at the same time each finds it, and all are given the first that was found.

    That of `functools` has one lock for all values of a class in Python 3.11: one thread that writes an expression, and in it an operand,
    and another that writes an operand, and in it an expression, wait for each other for ever.
    """

    def __init__(self, find: Callable[[Any], R]) -> None:
        self._find, self._name, self.__doc__ = find, find.__name__, find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, value: None, owner: type) -> Self: ...

    @overload
    def __get__(self, value: object, owner: type) -> R: ...

    def __get__(self, value: object | None, owner: type) -> Self | R:
        if value is None:
            return self
        found: R = vars(value).setdefault(self._name, self._find(value))
        return found
