"""Binding many queries: constants make no new questions to the engine."""

from __future__ import annotations

from collections.abc import Mapping
from time import process_time

import pytest

from thalweg.api.declaring import query_of
from thalweg.engine.kernel.inference import infer_type
from thalweg.model.catalog import Catalog
from thalweg.model.stream import Column, Stream
from thalweg.sql.binder import bind
from thalweg.sql.statements import parse_select

TYPES = {
    "k": "BIGINT",
    "v": "BIGINT",
    "w": "DOUBLE",
    "c": "VARCHAR",
    "cost": "DECIMAL(10,2)",
    "at": "TIMESTAMP",
}
STREAMS = {
    f"s{n}": Stream(f"s{n}", tuple(Column(c, t) for c, t in TYPES.items()), time="at") for n in range(4)
}


def windowed(i: int) -> str:
    return (
        f"SELECT k, COUNT(*) AS n, SUM(v + {i}) AS total, AVG(w * {i}.5) AS m, MAX(coalesce(c, 'x{i}')) AS t FROM s{i % 4} "
        f"WHERE v > {i} AND c IN ('x{i}', 'y') AND w < {i}.5 GROUP BY k, TUMBLE '1 minute' HAVING COUNT(*) > {i % 7}"
    )


def join(i: int) -> str:
    return (
        f"SELECT a.k, COUNT(*) AS n, SUM(a.v * b.v + {i}) AS total "
        f"FROM s{i % 4} AS a [RANGE 1 MINUTE], s{(i + 1) % 4} AS b [RANGE 1 MINUTE] "
        f"WHERE a.k = b.k AND a.v > {i} AND b.c LIKE 'y{i}%' AND b.cost < {i}.25 GROUP BY a.k EVERY 10 SECONDS"
    )


@pytest.mark.parametrize("text", [windowed, join])
def test_many_queries_are_bound_soon(text: object) -> None:
    assert callable(text)
    catalog = Catalog(STREAMS)
    started = process_time()
    for i in range(500):
        query_of(catalog, parse_select(text(i)), f"q{i}")
    assert process_time() - started < 3


@pytest.mark.parametrize("text", [windowed, join])
def test_another_constant_asks_nothing(text: object) -> None:
    assert callable(text)
    asked = []

    def infer(sql: str, columns: Mapping[str, str]) -> str:
        asked.append(sql)
        return infer_type(sql, columns)

    for i in range(30, 32):
        bind(parse_select(text(i)), name="q", into=None, streams=STREAMS, infer=infer)
    before = len(asked)
    bind(parse_select(text(33)), name="q", into=None, streams=STREAMS, infer=infer)
    assert len(asked) == before
