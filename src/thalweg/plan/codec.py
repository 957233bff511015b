"""Frozen values to JSON and back, for the plan log."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from thalweg.logical.aggregates import PartColumn
from thalweg.logical.join import ColumnRef, Equality, JoinAggregate, JoinInput, JoinQuery, Term
from thalweg.logical.query import Aggregate, Expr, Output, Query
from thalweg.logical.stream import Column, Relation, Stream
from thalweg.logical.windows import NamedWindow, Window
from thalweg.plan.nodes import Emission, Fragment, Join, Plan, Side

_LOGICAL = (PartColumn, Aggregate, Expr, Output, Query, Column, Relation, Stream, NamedWindow, Window)
_JOINED = (ColumnRef, Equality, JoinAggregate, JoinInput, JoinQuery, Term, Side, Join)
CLASSES: dict[str, Any] = {c.__name__: c for c in (*_LOGICAL, *_JOINED, Emission, Fragment, Plan)}


def dumps(value: Any) -> str:
    """A value of the model as JSON text.

    >>> loads(dumps(Window(10, 5))) == Window(10, 5)
    True
    """
    return json.dumps(_encode(value))


def loads(text: str) -> Any:
    """The value that `dumps` wrote."""
    return _decode(json.loads(text))


def _encode(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"$": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [_encode(v) for v in value]
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        made = CLASSES[value["$"]]
        return made(**{k: _decode(v) for k, v in value.items() if k != "$"})
    if isinstance(value, list):
        return tuple(_decode(v) for v in value)
    return value
