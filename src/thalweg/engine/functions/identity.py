"""What a callable does, as a digest that is the same whenever a script makes the callable again.

Its pickle is not: that has line numbers, sets in the order of the day, and new ids for classes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_OWN = (
    "__module__",
    "__dict__",
    "__weakref__",
    "__doc__",
    "__firstlineno__",
    "__static_attributes__",
    "__qualname__",
)
"""What a class has beside what its author wrote."""


def identity_of(function: Callable[..., Any]) -> str:
    """The digest of what a callable is made of: code, constants, defaults, what it closes over, and the globals that it reads.

    >>> one, other = lambda x: x in {"a", "b"}, lambda x: x in {"b", "a"}
    >>> identity_of(one) == identity_of(other), identity_of(one) == identity_of(lambda x: x in {"a", "c"})
    (True, False)
    """
    return _Walk().digest(function)


class _Walk:
    """A walk over values; one that it is in the middle of is told by where it stands."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}

    def digest(self, value: object) -> str:
        """The digest of a value."""
        if id(value) in self._open:
            return f"again {self._open[id(value)]}"
        self._open[id(value)] = len(self._open)
        try:
            return _hashed((type(value).__qualname__, *self._parts(value)))
        finally:
            del self._open[id(value)]

    def _parts(self, value: object) -> Iterable[str]:
        """What tells a value from others of its type."""
        match value:
            case None | bool() | int() | float() | complex() | str() | bytes():
                return (repr(value),)
            case tuple() | list():
                return map(self.digest, value)
            case set() | frozenset():
                return sorted(map(self.digest, value))
            case dict():
                return sorted(self.digest(k) + self.digest(v) for k, v in value.items())
            case CodeType():
                return self._code(value)
            case ModuleType():
                return (value.__name__,)
            case MethodType():
                return self.digest(value.__func__), self.digest(value.__self__)
            case partial():
                return self.digest(value.func), self.digest(value.args), self.digest(value.keywords)
            case FunctionType() | BuiltinFunctionType() | type() if _is_imported(value):
                return (f"{value.__module__}.{value.__qualname__}",)
            case FunctionType():
                return self._function(value)
            case type():
                return self._class(value)
        return self._other(value)

    def _code(self, code: CodeType) -> Iterator[str]:
        yield code.co_code.hex()
        named = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount)
        yield repr((named, counts))
        yield from map(self.digest, code.co_consts)

    def _function(self, function: FunctionType) -> Iterator[str]:
        yield self.digest(function.__code__)
        yield self.digest(function.__defaults__)
        yield self.digest(function.__kwdefaults__)
        yield from (self.digest(c.cell_contents) for c in function.__closure__ or ())
        for name in sorted(_names(function.__code__) & function.__globals__.keys()):
            yield name + self.digest(function.__globals__[name])

    def _class(self, found: type) -> Iterator[str]:
        yield found.__qualname__
        yield from map(self.digest, found.__bases__)
        for name in sorted(found.__dict__.keys() - set(_OWN)):
            yield name + self.digest(found.__dict__[name])

    def _other(self, value: object) -> Iterator[str]:
        """Any other object: its class, and what it is restored from."""
        made = value.__reduce_ex__(4)
        if isinstance(made, str):
            yield made
            return
        for part in made[:3]:
            yield self.digest(part)
        for rest in made[3:5]:
            yield from () if rest is None else map(self.digest, rest)


def _names(code: CodeType) -> set[str]:
    """The names that code, and code within it, may look up."""
    inner = (_names(c) for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*inner)


def _is_imported(value: Any) -> bool:
    """Whether what is kept of a function or class is where it is imported from."""
    from pyspark import cloudpickle

    return bool(cloudpickle.cloudpickle._should_pickle_by_reference(value))


def _hashed(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
