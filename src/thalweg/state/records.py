"""Frozen records to JSON and back, by the types that they declare: the one way for manifests and for messages to tasks."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Decode = Callable[[Any], Any]


def dumps(value: Any) -> str:
    """A record as one line of JSON."""
    return json.dumps(value, default=_fields, separators=(",", ":"))


def loads(kind: type[T], text: str | bytes) -> T:
    """The record that `dumps` wrote; ValueError, KeyError or TypeError where the text is not one."""
    found: T = decoder(kind)(json.loads(text))
    return found


def _fields(value: Any) -> Any:
    if not dataclasses.is_dataclass(value):
        raise TypeError(f"{type(value).__name__} has no JSON form")
    kind: Any = type(value)
    return {name: getattr(value, name) for name in _names(kind)}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(kind))


def decoder(hint: Any) -> Decode:
    """How a value of a type is made of what JSON gives.

    >>> decoder(dict[str, tuple[int, ...]])({"a": [1, 2]})
    {'a': (1, 2)}
    """
    if dataclasses.is_dataclass(hint):
        key: Any = hint
        return _record(key)
    if hint is datetime:
        return datetime.fromisoformat
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _optional(inner)
    if origin is dict:
        return _mapping(decoder(inner[1]))
    if origin is tuple and inner[-1] is Ellipsis:
        return _sequence(decoder(inner[0]))
    if origin is tuple:
        return _pair(tuple(map(decoder, inner)))
    return _same


@cache
def _record(kind: Any) -> Decode:
    hints = get_type_hints(kind)
    parts = {n: d for n in _names(kind) if (d := decoder(hints[n])) is not _same}
    if not parts:
        return lambda found: kind(**found)

    def decode(found: Any) -> Any:
        return kind(**{n: parts[n](v) if n in parts else v for n, v in found.items()})

    return decode


def _optional(inner: tuple[Any, ...]) -> Decode:
    kinds = [decoder(i) for i in inner if i is not types.NoneType]
    made = [k for k in kinds if k is not _same]
    if not made:
        return _same
    (only,) = made
    return lambda found: None if found is None else only(found)


def _mapping(value: Decode) -> Decode:
    return dict if value is _same else lambda found: {k: value(v) for k, v in found.items()}


def _sequence(value: Decode) -> Decode:
    return tuple if value is _same else lambda found: tuple(value(v) for v in found)


def _pair(values: tuple[Decode, ...]) -> Decode:
    return lambda found: tuple(d(v) for d, v in zip(values, found, strict=True))


def _same(found: Any) -> Any:
    return found
