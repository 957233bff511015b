"""All that a session was told, as its directory keeps it, and the difference of two of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from thalweg.expr.python import Function
from thalweg.model.query import Query
from thalweg.model.stream import Relation, Stream, View


@dataclass(frozen=True)
class Failure:
    """A query that was stopped, by an error of its own: the first batch without it, when that was (UTC), the rows it had found, where they
    are, and the class of the error with what it says."""

    query: Query
    directory: str
    batch: int
    at: str
    rows: int
    kind: str
    message: str
    hint: str | None = None


@dataclass(frozen=True)
class Recorded:
    """What is declared, by name. `places` are where the results of queries go; `lasting` says what was declared while batches ran (as
    `query q`, `stream s`, `setting k`): that stays until it is dropped, whatever a script says."""

    streams: Mapping[str, Stream] = field(default_factory=dict)
    relations: Mapping[str, Relation] = field(default_factory=dict)
    queries: Mapping[str, Query] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    lasting: Mapping[str, bool] = field(default_factory=dict)
    failed: Mapping[str, Failure] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordedChange:
    """What became of the record whose digest is `prior`: `made` has what is new or another, `gone` the names that are no more, by part."""

    prior: str = ""
    made: Recorded = field(default_factory=Recorded)
    gone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


PARTS = tuple(f.name for f in fields(Recorded))


def change_of(prior: str, old: Recorded, new: Recorded) -> RecordedChange:
    """What is to be written down of a record that follows another.

    >>> change = change_of("", Recorded(settings={"a": "1", "b": "2"}), Recorded(settings={"a": "3"}))
    >>> change.made.settings, change.gone
    ({'a': '3'}, {'settings': ('b',)})
    """
    made: dict[str, Any] = {}
    gone = {}
    for part in PARTS:
        before, after = getattr(old, part), getattr(new, part)
        made[part] = {
            n: v for n, v in after.items() if n not in before or (before[n] is not v and before[n] != v)
        }
        if missing := tuple(n for n in before if n not in after):
            gone[part] = missing
    return RecordedChange(prior, Recorded(**made), gone)


def applied(old: Recorded, change: RecordedChange) -> Recorded:
    """The record that a change makes of another."""
    parts = {}
    for part in PARTS:
        gone = set(change.gone.get(part, ()))
        parts[part] = {
            **{n: v for n, v in getattr(old, part).items() if n not in gone},
            **getattr(change.made, part),
        }
    return replace(old, **parts)
