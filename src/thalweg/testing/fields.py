"""Strategies for the columns of a stream: names, types and the values that occur in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from thalweg.model.stream import Column

ARROW_TYPES: dict[str, pa.DataType] = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "DECIMAL(10,2)": pa.decimal128(10, 2),
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
}
NUMBERS = frozenset({"BIGINT", "INTEGER", "DOUBLE", "FLOAT", "DECIMAL(10,2)"})
_PLAIN = re.compile(r"[a-z][a-z_]*")
_WORDS = frozenset({"select", "order", "window", "time", "timestamp"})
_AWKWARD_NAMES = ("select", "My Column", "k0", "a0", "seen", "m", "window", "x'y")
_TIME_NAMES = ("at", "ts", "time", "order", "Event Time", "timestamp")


@dataclass(frozen=True)
class Field:
    """A column and the values it takes; in a `huge` one, arithmetic may overflow and doubles lose digits."""

    column: Column
    values: SearchStrategy[Any]
    huge: bool = False

    @property
    def numeric(self) -> bool:
        """Whether sums and expressions over the column are safe."""
        return self.column.type in NUMBERS and not self.huge


@st.composite
def fields(draw: DrawFn) -> tuple[Field, ...]:
    """The columns of a stream but for its event time; NULL occurs in each."""
    drawn = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=7, unique_by=lambda f: f.column))
    if draw(st.integers(0, 3)) == 3:
        name = draw(st.sampled_from(_AWKWARD_NAMES))
        drawn[0] = replace(drawn[0], column=Column(name, drawn[0].column.type))
    return tuple(replace(f, values=with_nulls(f.values)) for f in drawn)


def name_sql(name: str) -> str:
    """A column's name, quoted where it must be.

    >>> name_sql("price"), name_sql("order")
    ('price', '`order`')
    """
    return name if _PLAIN.fullmatch(name) and name not in _WORDS else f"`{name}`"


time_names = st.sampled_from(_TIME_NAMES)


def with_nulls(values: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """The same values, or now and then NULL."""
    return st.integers(0, 9).flatmap(lambda n: st.none() if n == 9 else values)


# Halves and quarters are exact in binary; tenths round, as do their sums.
_DOUBLES = st.one_of(
    st.integers(-4000, 4000).map(lambda n: n / 4),
    st.integers(-1000, 1000).map(lambda n: n / 10),
    st.sampled_from([0.0, -0.0, float("nan")]),
)
_TEXTS = st.sampled_from(["a", "b", "B", "", "ab", "é", "it's", "NULL", " x"])
_DAYS = st.sampled_from([date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29)])
FIELDS = (
    Field(Column("k", "BIGINT"), st.integers(0, 2)),
    Field(Column("single", "BIGINT"), st.just(7)),
    Field(Column("many", "BIGINT"), st.integers(0, 1000)),
    Field(Column("i", "INTEGER"), st.integers(-100, 100)),
    Field(Column("d", "DOUBLE"), _DOUBLES),
    Field(
        Column("f", "FLOAT"),
        st.integers(-400, 400).map(lambda n: n / 4) | st.integers(-100, 100).map(lambda n: n / 10),
    ),
    Field(Column("price", "DECIMAL(10,2)"), st.integers(-10_000, 10_000).map(lambda n: Decimal(n) / 100)),
    Field(Column("name", "VARCHAR"), _TEXTS),
    Field(Column("flag", "BOOLEAN"), st.booleans()),
    Field(Column("day", "DATE"), _DAYS),
    Field(Column("seen_at", "TIMESTAMP"), st.datetimes(datetime(1969, 12, 31), datetime(1970, 1, 2))),
    Field(Column("huge", "BIGINT"), st.sampled_from([0, 1, 2**62, -(2**62), 2**63 - 1]), huge=True),
)
