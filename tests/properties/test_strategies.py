"""Random workloads: they vary as meant, and their scripts say the same as their tables."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from thalweg.model.stream import Column, Stream
from thalweg.model.windows import SECOND
from thalweg.testing.bound import bind_text
from thalweg.testing.comparison import compare
from thalweg.testing.feeds import stream_tables
from thalweg.testing.fields import ARROW_TYPES, FIELDS, fields
from thalweg.testing.query_texts import Source, query_texts
from thalweg.testing.reference import late_rows, reference
from thalweg.testing.script import parse_stream_script
from thalweg.testing.strategies import WorkloadCase, workloads

T = TypeVar("T")
FEW = settings(max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@FEW
@given(workloads(max_streams=2))
def test_cases_are_small_and_complete(case: WorkloadCase) -> None:
    assert 1 <= len(case.streams) == len(case.batches) <= 2 and 1 <= len(case.queries) <= 4
    for stream, batches in zip(case.streams, case.batches, strict=True):
        assert sum(b.num_rows for b in batches) <= 80
        assert all(b.column_names == [c.name for c in stream.columns] for b in batches)


@FEW
@given(workloads(max_streams=2))
def test_scripts_hold_the_same_rows(case: WorkloadCase) -> None:
    script = parse_stream_script(case.script())
    for stream, batches in zip(case.streams, case.batches, strict=True):
        again = stream_tables(script, stream)
        assert len(again) == len(batches)
        for actual, expected in zip(again, batches, strict=True):
            compare(actual, expected)


@FEW
@given(workloads(max_streams=2))
def test_queries_are_valid_and_can_be_answered(case: WorkloadCase) -> None:
    bound = bind_text(parse_stream_script(case.script()).sql)
    for query in bound.queries.values():
        index = [s.name for s in case.streams].index(query.stream)
        stream = bound.streams[query.stream]
        assert (stream.columns, stream.time, stream.delay) == (
            case.streams[index].columns,
            case.streams[index].time,
            case.streams[index].delay,
        )
        result = reference(query, stream, case.batches[index])
        assert result.column_names == [o.name for o in query.outputs]


def test_cases_vary() -> None:
    cases = sample(workloads(), 30)
    assert any(late_rows(c.streams[0], c.batches[0]) for c in cases)
    assert any(b.num_rows == 0 for c in cases for b in c.batches[0][1:])
    assert any(b.column(c.streams[0].time).null_count for c in cases for b in c.batches[0])
    assert {f.column.type for drawn in sample(fields(), 100) for f in drawn} == set(ARROW_TYPES)


def test_queries_vary() -> None:
    stream = Stream("s", (*(f.column for f in FIELDS), Column("at", "TIMESTAMP")), "at")
    queries = " ".join(sample(query_texts(Source(stream, FIELDS, SECOND, "1970-01-01 00:00:10")), 500))
    assert [text for text in CLAUSES + FUNCTIONS if text not in queries] == []


def sample(strategy: SearchStrategy[T], count: int) -> list[T]:
    """As many values, always the same ones."""
    values: list[T] = []

    @settings(FEW, max_examples=count, derandomize=True, phases=[Phase.generate])
    @given(strategy)
    def collect(value: T) -> None:
        values.append(value)

    collect()
    return values


CLAUSES = [
    "TUMBLE",
    "HOP",
    "OFFSET",
    "WHERE",
    "HAVING",
    "FILTER",
    "GROUP BY WINDOWS",
    "AS 'id",
    "window(",
    "TumblingWindow",
    "INTERVAL",
]
FUNCTIONS = [
    "COUNT(*)",
    "COUNT(DISTINCT",
    "SUM(",
    "MIN(",
    "MAX(",
    "AVG(",
    "VAR_POP",
    "VAR_SAMP",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "BOOL_AND",
    "BOOL_OR",
]
FUNCTIONS += ["MIN_BY", "MAX_BY", "FIRST", "LAST", "MEDIAN", "PERCENTILE"]
