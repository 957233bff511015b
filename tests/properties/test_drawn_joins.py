"""Random joins vary, bind and have an answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis.strategies import SearchStrategy
from test_strategies import sample

from thalweg.model.query import Query
from thalweg.testing.bound import bind_statements
from thalweg.testing.join_sources import JoinCase, join_sources
from thalweg.testing.join_texts import join_query_texts, joins
from thalweg.testing.reference import late_rows
from thalweg.testing.reference_joins import late_rows_of_join, reference_join

CLAUSES = [
    "[RANGE ",
    "[TUMBLE ",
    "[UNBOUNDED]",
    "[WINDOW UNTIL NOW]",
    "JOIN",
    "ON ",
    ", s1 AS ",
    "r AS ",
    "WHERE",
    "GROUP BY",
    "HAVING",
]
CLAUSES += [
    "EVERY",
    "EMIT CHANGES",
    "window_end",
    "USING",
    ".*",
    "FILTER",
    "BETWEEN",
    "k + 1 =",
    ".at <",
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
    "STDDEV_SAMP",
    "BOOL_AND",
    "MIN_BY",
    "MEDIAN",
]


@given(joins())
def test_drawn_joins_can_be_answered(case: JoinCase) -> None:
    bound = bind_statements(case.sql())
    assert {n: (s.columns, s.delay) for n, s in bound.streams.items()} == {
        s.name: (s.columns, s.delay) for s in case.sources.streams
    }
    for query in bound.queries.values():
        assert isinstance(query, Query)
        found = reference_join(query, bound.streams, case.batches, case.relations)
        assert found.column_names == [o.name for o in query.outputs] and found.num_rows < 50_000
        assert late_rows_of_join(query, bound.streams, case.batches) >= 0


def test_drawn_feeds_vary_and_are_small() -> None:
    cases = sample(joins(max_queries=1), 40)
    assert all(
        sum(b[s.name].num_rows for b in c.batches if s.name in b) <= 25
        for c in cases
        for s in c.sources.streams
    )
    assert any(s.name not in b for c in cases for s in c.sources.streams for b in c.batches)
    assert any(t.num_rows == 0 for c in cases for b in c.batches for t in b.values())
    assert any(t.column("at").null_count for c in cases for b in c.batches for t in b.values())
    assert any(c.relations for c in cases) and not all(c.relations for c in cases)
    assert any(
        late_rows(s, [b[s.name] for b in c.batches if s.name in b]) for c in cases for s in c.sources.streams
    )


def test_drawn_joins_vary() -> None:
    queries = " ".join(text for aggregate in (True, False) for text in sample(_texts(aggregate), 200))
    assert [text for text in CLAUSES + FUNCTIONS if text not in queries] == []


def _texts(aggregate: bool) -> SearchStrategy[str]:
    return join_sources().flatmap(lambda sources: join_query_texts(sources, aggregate))
