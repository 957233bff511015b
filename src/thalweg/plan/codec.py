"""Frozen values to JSON and back, for the logs of plans and of what is declared."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from thalweg.expr.data import from_data, to_data
from thalweg.expr.nodes import Expr
from thalweg.expr.python import Function
from thalweg.model.aggregates import PartColumn
from thalweg.model.query import (
    Aggregate,
    Attached,
    Chosen,
    ColumnRef,
    Equality,
    Output,
    Query,
    QueryAggregate,
    QueryInput,
    Term,
)
from thalweg.model.recorded import Failure, Recorded, RecordedChange
from thalweg.model.running import Frame, Running, RunningCall
from thalweg.model.stream import Column, Relation, Stream, View
from thalweg.model.target import TARGETS
from thalweg.model.windows import NamedWindow, Window
from thalweg.plan.change import PlanChange
from thalweg.plan.grid import Split
from thalweg.plan.join_order import Meeting
from thalweg.plan.nodes import Derived, Emission, Fragment, Join, Plan
from thalweg.plan.pieces import Pieces
from thalweg.plan.rooms import Resting, Room
from thalweg.plan.sub_joins import Equated, SubJoin

_MODEL = (
    Aggregate,
    Attached,
    Chosen,
    ColumnRef,
    Column,
    Equality,
    NamedWindow,
    Output,
    PartColumn,
    Query,
    QueryAggregate,
    QueryInput,
    Relation,
)
_MORE = (
    Failure,
    Frame,
    Function,
    Recorded,
    RecordedChange,
    Running,
    RunningCall,
    Stream,
    Term,
    View,
    Window,
    *TARGETS,
)
_NODES = (
    Derived,
    Emission,
    Fragment,
    Join,
    Meeting,
    Pieces,
    Plan,
    PlanChange,
    Resting,
    Room,
    Split,
    SubJoin,
    Equated,
)
CLASSES: dict[str, Any] = {c.__name__: c for c in (*_MODEL, *_MORE, *_NODES)}


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
    if isinstance(value, Expr):
        return {"$": "Expr", "tree": to_data(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"$": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [_encode(v) for v in value]
    if isinstance(value, Mapping):
        return {"$": "by name", "values": [[k, _encode(v)] for k, v in value.items()]}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        if value["$"] == "Expr":
            return from_data(value["tree"])
        if value["$"] == "by name":
            return {name: _decode(v) for name, v in value["values"]}
        made = CLASSES[value["$"]]
        return made(**{k: _decode(v) for k, v in value.items() if k != "$"})
    if isinstance(value, list):
        return tuple(_decode(v) for v in value)
    return value
