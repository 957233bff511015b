"""Drawn nested queries: what they become gives what DuckDB gives for them as they are written, and what the engine gives."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as hs

from thalweg.model.settings import Config
from thalweg.optimizer.planner import planner_for
from thalweg.testing.bound import bind_statements
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import write_batches
from thalweg.testing.local import LocalEngine
from thalweg.testing.reference_joins import reference_join

STREAM = "CREATE STREAM s (k BIGINT, v BIGINT, w BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{}', time = 'at');"
EXPRESSIONS = (
    "{a}",
    "{a}",
    "{a} + {b}",
    "{a} * 2",
    "{a} - {b}",
    "COALESCE({a}, {b})",
    "CASE WHEN {a} > {b} THEN {a} ELSE 7 END",
    "ABS({a})",
)
CONDITIONS = (
    "{a} > 2",
    "{a} < {b}",
    "{a} IS NOT NULL",
    "{a} = 3 OR {b} > 4",
    "{a} IN (1, 2, 3)",
    "NOT {a} = {b}",
)
NAMES = ("k", "v", "w", "x", "y")  # some are those of the stream, so that they come to mean something else


@hs.composite
def nested(draw: Any, depth: int) -> tuple[str, tuple[str, ...]]:
    """A SELECT over others, and its columns."""
    if depth == 0:
        return "s", ("k", "v", "w", "at")
    table, columns = draw(nested(depth - 1))
    name = draw(hs.sampled_from(["s", "t", "u"]))
    text = table if table == "s" else f"({table}) AS {name}" if draw(hs.booleans()) else f"({table})"
    prefix = f"{name}." if text.endswith(f" AS {name}") and draw(hs.booleans()) else ""
    own = [f"{prefix}{c}" for c in columns if c != "at"]

    def filled(forms: tuple[str, ...]) -> str:
        return str(draw(hs.sampled_from(forms))).format(
            a=draw(hs.sampled_from(own)), b=draw(hs.sampled_from(own))
        )

    made = draw(hs.lists(hs.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    items = ", ".join(f"{filled(EXPRESSIONS)} AS {n}" for n in made)
    if draw(hs.integers(0, 3)) == 3:
        items, made = f"{prefix}*", list(columns)
    where = f" WHERE {filled(CONDITIONS)}" if draw(hs.booleans()) else ""
    if table != "s" and not prefix and text.startswith("(") and draw(hs.booleans()):
        return f"WITH {name} AS ({table}) SELECT {items} FROM {name}{where}", tuple(made)
    return f"SELECT {items} FROM {text}{where}", tuple(made)


def rows(count: int) -> pa.Table:
    numbers = range(count)
    return pa.table(
        {
            "k": pa.array([None if i % 7 == 3 else i % 4 for i in numbers], pa.int64()),
            "v": pa.array([i * 5 % 11 - 3 for i in numbers], pa.int64()),
            "w": pa.array([None if i % 5 == 1 else i * 3 % 8 for i in numbers], pa.int64()),
            "at": pa.array([i * 1_000_000 for i in numbers], pa.timestamp("us")),
        }
    )


def by_duckdb(text: str, table: pa.Table) -> pa.Table:
    """A nested query as DuckDB reads it."""
    with duckdb.connect() as db:
        db.register("s", table)
        return db.sql(text).to_arrow_table()


@given(drawn=hs.integers(1, 4).flatmap(nested))
def test_nested_queries_are_what_is_written(drawn: tuple[str, tuple[str, ...]]) -> None:
    text, table = drawn[0], rows(40)
    with tempfile.TemporaryDirectory() as root:
        bound = bind_statements(f"{STREAM.format(root + '/in')} CREATE QUERY q AS {text}")
        query = bound.queries["q"]
        found, expected = reference_join(query, bound.streams, [{"s": table}]), by_duckdb(text, table)
        assert found.column_names == expected.column_names
        compare(found, expected)
        engine = LocalEngine(
            Path(root) / "run", tuple(bound.streams.values()), (query,), planner_for(Config()), 2
        )
        for batch in (table.slice(0, 15), table.slice(15)):
            engine.batch([("s", str(write_batches(Path(root) / "in", bound.streams["s"], [batch])[0]))])
        compare(engine.results(query), found)
