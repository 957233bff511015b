"""Streams that are equated by different columns meet in a grid of partitions, whatever its size is and becomes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from test_joins import EVALUATIONS, Forced, check_case

from thalweg.engine.kernel.buckets import Sender
from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.model.stream import Column, Stream
from thalweg.plan.nodes import Fragment
from thalweg.plan.sides import sides_of
from thalweg.testing.bound import bind_statements
from thalweg.testing.join_sources import JoinCase, JoinSources

COLUMNS = (Column("k", "BIGINT"), Column("j", "BIGINT"), Column("v", "BIGINT"), Column("at", "TIMESTAMP"))
CHAIN = "a.k = b.k AND b.j = c.j"
FOUR = "a.k = b.k AND b.j = c.j AND c.v = d.v"
WINDOWS = {n: f"s{i} AS {n} [RANGE {i + 2} SECONDS]" for i, n in enumerate("abcd")}


def case(
    names: str, condition: str, select: str, tail: str = "", batches: int = 5, rows: int = 12
) -> JoinCase:
    """Random rows of small keys in several batches, and one query over them."""
    random = Random(f"{names} {condition}")
    streams = tuple(Stream(f"s{i}", COLUMNS, "at", delay=1_000_000) for i in range(len(names)))
    made = tuple({s.name: _rows(random, b, rows) for s in streams} for b in range(batches))
    text = f"SELECT {select} FROM {', '.join(WINDOWS[n] for n in names)} WHERE {condition}{tail}"
    return JoinCase(JoinSources(streams, None, 1_000_000, 0), {}, made, (text,))


def _rows(random: Random, batch: int, rows: int) -> pa.Table:
    times = [batch * 2_000_000 + random.randrange(2_500_000) for _ in range(rows)]
    return pa.table(
        {
            **{c: [random.randrange(4) for _ in range(rows)] for c in "kjv"},
            "at": pa.array(times, pa.timestamp("us")),
        }
    )


@pytest.mark.parametrize("partitions", [[4, 6, 7, 1], [6, 2, 9], [16]])
def test_joined_rows(partitions: list[int]) -> None:
    chosen = case("abc", CHAIN, "a.v AS x, b.v AS y, c.v AS z")
    for invalidate in ("slot", "probe", "probe-and-insert"):
        check_case(chosen, Forced(Config(), invalidate=invalidate), {1, 2, 3, 4}, partitions, {})


@pytest.mark.parametrize("evaluate", EVALUATIONS)
def test_aggregates_of_a_chain(evaluate: str) -> None:
    chosen = case("abc", CHAIN, "b.v, COUNT(*) AS n, SUM(a.v) AS s", " GROUP BY b.v EVERY 1 SECOND")
    for bits in (0, 2, 5, 7):
        check_case(chosen, Forced(Config(), bits=bits, evaluate=evaluate), {1, 2, 3, 4}, [4, 6, 7, 1], {})


@pytest.mark.parametrize("evaluate", ["snapshot", "expiry"])
def test_aggregates_of_four_streams(evaluate: str) -> None:
    chosen = case("abcd", FOUR, "a.j, COUNT(*) AS n, MAX(d.j) AS m", " GROUP BY a.j EVERY 2 SECONDS", rows=7)
    check_case(chosen, Forced(Config(), bits=9, evaluate=evaluate), {2, 4}, [8, 12], {})


def test_what_each_partition_gets(tmp_path: Path) -> None:
    """Sixteen partitions as 4 x 4: a and c are copied four times instead of sixteen, b not at all."""
    assert [len(side.cut.copies(16)) for side in sides(CHAIN, tmp_path)] == [4, 1, 4]


def test_a_star_needs_one_axis(tmp_path: Path) -> None:
    found = sides("a.k = b.k AND a.k = c.k", tmp_path)
    assert [len(side.route) for side in found] == [1, 1, 1] and [side.cut.copies(16) for side in found] == [
        (0,)
    ] * 3


def sides(condition: str, path: Path) -> tuple[Fragment, ...]:
    """The sides of a count over three streams."""
    (query,) = bind_statements(
        case("abc", condition, "COUNT(*) AS n", " EVERY 1 SECOND").sql(path)
    ).queries.values()
    assert isinstance(query, Query)
    return sides_of(query, (True, True, True))


def test_copies_are_packed_once() -> None:
    sender = Sender(4)
    sender.table("f", pa.table({"x": [1, 2], "p": [0, 1]}), copies=(0, 2))
    assert [p for p, _, _ in sender.rows] == [0, 2, 1, 3] and sender.rows[0][2] is sender.rows[1][2]
