"""Strategies for queries as SQL text: conditions, keys, windows, aggregates, HAVING."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from thalweg.model.stream import Stream
from thalweg.testing.fields import Field, name_sql
from thalweg.testing.window_texts import window_texts


@dataclass(frozen=True)
class Source:
    """A stream as the queries see it: its columns but for the event time.

    Its times are multiples of `unit` microseconds; `instant` is one of them, as text.
    """

    stream: Stream
    fields: tuple[Field, ...]
    unit: int
    instant: str


@st.composite
def query_texts(draw: DrawFn, source: Source) -> str:
    """A SELECT over the windows of one stream."""
    keys = draw(st.lists(_keys(source), max_size=3, unique=True))
    calls = draw(st.lists(_results(source), min_size=1, max_size=8))
    named = [f"{k} AS key{i}" for i, k in enumerate(keys)] + ["window_id", "window_start", "window_end"]
    shown = draw(st.sampled_from([named, named, named, named[:-1], []]))
    select = ", ".join([*shown, *(f"{c} AS r{i}" for i, c in enumerate(calls))])
    where = draw(_seldom(_conditions(source)))
    having = draw(_seldom(_having(source, keys)))
    windowing = draw(window_texts(source.stream.name, source.stream.time, source.unit))
    grouping = ", ".join([*keys, windowing.grouping])
    text = f"SELECT {select} FROM {windowing.table}" + (f" WHERE {where}" if where else "")
    return f"{text} GROUP BY {grouping}" + (f" HAVING {having}" if having else "")


def _columns(source: Source, *types: str) -> list[str]:
    return [name_sql(f.column.name) for f in source.fields if not types or f.column.type in types]


def _numbers(source: Source) -> list[str]:
    return [name_sql(f.column.name) for f in source.fields if f.numeric]


def _integers(source: Source) -> list[str]:
    return [
        name_sql(f.column.name) for f in source.fields if f.numeric and f.column.type in ("BIGINT", "INTEGER")
    ]


def _huge(source: Source) -> list[str]:
    return [name_sql(f.column.name) for f in source.fields if f.huge]


def _filled(*templates: tuple[list[str], list[str]]) -> SearchStrategy[str]:
    """Any template with any of its columns; those that have none fall away."""
    return st.sampled_from([t.format(x=x) for columns, texts in templates for x in columns for t in texts])


def _keys(source: Source) -> SearchStrategy[str]:
    time = name_sql(source.stream.time)
    return _filled(
        (_columns(source), ["{x}", "{x}", "{x} IS NULL"]),
        (
            _integers(source),
            ["{x} % 3", "{x} + 1", "CASE WHEN {x} > 0 THEN 'up' ELSE 'down' END", "COALESCE({x}, 0)"],
        ),
        (_columns(source, "VARCHAR"), ["UPPER({x})", "LENGTH({x})"]),
        ([time], ["CAST({x} AS DATE)", f"{{x}} < TIMESTAMP '{source.instant}'"]),
    )


def _conditions(source: Source) -> SearchStrategy[str]:
    """A condition on rows, now and then of two parts."""
    single = _filled(
        (_columns(source), ["{x} IS NOT NULL", "NOT {x} IS NULL"]),
        (_numbers(source), ["{x} > 0", "{x} <= 1.5", "{x} BETWEEN -2 AND 50", "{x} <> 1"]),
        (_integers(source), ["{x} IN (0, 1, 2)", "{x} % 2 = 0"]),
        (_columns(source, "VARCHAR"), [r"{x} IN ('a', 'it\'s')", "{x} LIKE 'a%'", "{x} >= 'b'"]),
        (_columns(source, "BOOLEAN"), ["{x}", "NOT {x}"]),
        (_columns(source, "DATE"), ["{x} < DATE '2000-01-01'"]),
        ([name_sql(source.stream.time)], [f"{{x}} >= TIMESTAMP '{source.instant}'"]),
    )
    return single | st.builds("({} {} {})".format, single, st.sampled_from(["AND", "OR"]), single)


def _results(source: Source) -> SearchStrategy[str]:
    """An aggregate, perhaps filtered, or an expression over aggregates."""
    plain = _aggregates(source)
    filtered = st.builds("{} FILTER (WHERE {})".format, plain, _conditions(source))
    return _any_of([plain, plain, plain, filtered, _compound(source)])


def _any_of(families: list[SearchStrategy[str]]) -> SearchStrategy[str]:
    """Each with the same chance, however many branches it has."""
    return st.sampled_from(families).flatmap(lambda family: family)


def _seldom(texts: SearchStrategy[str]) -> SearchStrategy[str | None]:
    """Mostly nothing."""
    return st.integers(0, 2).flatmap(lambda n: texts if n == 2 else st.none())


def _compound(source: Source) -> SearchStrategy[str]:
    return _filled(
        (_columns(source), ["COUNT(*) - COUNT({x})", "CASE WHEN COUNT({x}) > 1 THEN 'many' ELSE 'few' END"]),
        (_integers(source), ["MAX({x}) - MIN({x})", "COALESCE(SUM({x}), 0) + 1", "SUM({x}) / COUNT(*)"]),
    )


def _aggregates(source: Source) -> SearchStrategy[str]:
    """Any aggregate over any column or expression that it takes."""
    numbers = [
        t.format(x=x)
        for x in _numbers(source)
        for t in ("{x}", "{x}", "{x} * 2", "ABS({x})", "CASE WHEN {x} > 0 THEN {x} END")
    ]
    columns = _columns(source)
    families = [
        st.just("COUNT(*)"),
        st.builds(
            "{}({}, {})".format,
            st.sampled_from(["MIN_BY", "MAX_BY"]),
            st.sampled_from(columns),
            st.sampled_from(columns),
        ),
        st.builds("{}({})".format, st.sampled_from(["BOOL_AND", "BOOL_OR"]), _conditions(source)),
    ]
    families += [st.builds(str.format, st.sampled_from(_OF_ANY), st.sampled_from(columns))] * 3
    families.append(
        st.builds("COUNT(DISTINCT {}, {})".format, st.sampled_from(columns), st.sampled_from(columns))
    )
    families += (
        [st.builds(str.format, st.sampled_from(_OF_NUMBERS), st.sampled_from(numbers))] * 4 if numbers else []
    )
    if numbers:
        families.append(st.builds(str.format, st.sampled_from(_OF_TWO), *[st.sampled_from(numbers)] * 2))
    if whole := _integers(source):
        families.append(st.builds(str.format, st.sampled_from(_OF_WHOLE), st.sampled_from(whole)))
    families += [st.sampled_from([f"SUM({x})", f"AVG({x})"]) for x in _huge(source)]
    return _any_of(families)


_OF_ANY = [
    "COUNT({})",
    "COUNT(DISTINCT {})",
    "MIN({})",
    "MAX({})",
    "FIRST({})",
    "LAST({})",
    "MODE({})",
    "ANY_VALUE({})",
]
_OF_ANY += [
    "APPROX_COUNT_DISTINCT({})",
    "APPROX_COUNT_DISTINCT({}, 0.39)",
    "COLLECT_LIST({})",
    "COLLECT_SET({})",
]
_OF_TWO = ["COVAR_POP({}, {})", "COVAR_SAMP({}, {})"]
_OF_WHOLE = ["BIT_AND({})", "BIT_OR({})", "BIT_XOR({})"]
_OF_NUMBERS = ["SUM({})", "AVG({})", "MEDIAN({})", "PERCENTILE({}, 0.25)", "PERCENTILE({}, 1)"]
_OF_NUMBERS += ["APPROX_PERCENTILE({}, 0.5)", "PERCENTILE_APPROX({}, 0.9, 16)"]
_OF_NUMBERS += ["VAR_POP({})", "VAR_SAMP({})", "STDDEV_POP({})", "STDDEV_SAMP({})"]


def _having(source: Source, keys: list[str]) -> SearchStrategy[str]:
    """A condition on groups, over exact values only: rounding could tip the others."""
    return _filled(
        (
            ["COUNT(*)"],
            ["{x} > 1", "{x} BETWEEN 1 AND 2", f"{{x}} > 1 OR window_start >= TIMESTAMP '{source.instant}'"],
        ),
        (_columns(source), ["COUNT({x}) > 0", "COUNT(DISTINCT {x}) < 3", "MAX({x}) IS NOT NULL"]),
        (_integers(source), ["SUM({x}) >= 0", "MIN({x}) < MAX({x})"]),
        (keys, ["({x}) IS NOT NULL"]),
    )
