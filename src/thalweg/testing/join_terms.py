"""Strategies for what stands in a drawn join: conditions, expressions over joined rows, groupings and aggregates of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy


@dataclass(frozen=True)
class Input:
    """A source under its alias; `exact` says whether sums of `d` do not round."""

    alias: str
    source: str
    timed: bool
    exact: bool

    def of(self, *names: str) -> list[str]:
        """Columns of this input."""
        return [f"{self.alias}.{n}" for n in names]


def conditions(source: Input) -> SearchStrategy[str]:
    """A condition on rows of one input."""
    numbers = ["{x} > 0", "{x} <= 1", "{x} BETWEEN -5 AND 5", "{x} % 2 = 0", "{x} IS NOT NULL"]
    others = [
        "{a}.b",
        "NOT {a}.b",
        "{a}.s IN ('a', 'b')",
        "{a}.s >= 'b'",
        "({a}.k = 1 OR {a}.x > 0)",
        "{a}.k < {a}.j",
    ]
    return st.sampled_from(
        [t.format(x=x) for x in source.of("k", "j", "x") for t in numbers]
        + [t.format(a=source.alias) for t in others]
    )


@st.composite
def _pairs(draw: DrawFn, inputs: Sequence[Input], templates: Sequence[str]) -> str:
    """A template over two inputs, or twice the only one."""
    left = draw(st.sampled_from(inputs))
    right = draw(st.sampled_from([i for i in inputs if i != left] or inputs))
    return draw(st.sampled_from(templates)).format(l=left.alias, r=right.alias)


def row_items(inputs: Sequence[Input]) -> SearchStrategy[str]:
    """What is shown of a joined row: expressions, and perhaps all of one input."""
    stars = st.sampled_from(["", "", "", *(f"{i.alias}.*, " for i in inputs)])
    return st.builds(
        lambda star, items: star + _named(items, "c"),
        stars,
        st.lists(_scalars(inputs), min_size=1, max_size=5),
    )


def _scalars(inputs: Sequence[Input]) -> SearchStrategy[str]:
    """An expression over a joined row."""
    columns = st.sampled_from(
        [c for i in inputs for c in i.of("k", "j", "x", "d", "s", "b", *(["at"] if i.timed else []))]
    )
    return _any_of([columns, columns, _pairs(inputs, _SCALARS)])


_SCALARS = [
    "{l}.x + {r}.x",
    "{l}.x * {r}.j",
    "COALESCE({l}.k, {r}.k)",
    "{l}.k = {r}.k",
    "UPPER({l}.s)",
    "{l}.x / {r}.j",
    "{l}.s IS NULL",
]
_SCALARS += [
    "CASE WHEN {l}.x > {r}.x THEN 'up' ELSE {r}.s END",
    "{l}.d * {r}.x",
    "LENGTH({l}.s) - LENGTH({r}.s)",
]


@st.composite
def aggregations(
    draw: DrawFn, inputs: Sequence[Input], body: str, every: str, moment: str, only: str = ""
) -> str:
    """The same over groups: keys of any inputs or none, aggregates (perhaps `only` those that are invertible, or ordered), HAVING, changes."""
    changes = draw(st.integers(0, 2)) == 2
    keys = draw(st.lists(_keys(inputs), max_size=3, unique=True))
    results = (
        {"invertible": _invertible, "ordered": _ordered}[only](inputs) if only else _results(inputs, changes)
    )
    calls = draw(st.lists(results, min_size=1, max_size=6))
    instants = draw(st.sampled_from([["window_end"], ["window_end"], ["window_end AS t"], []]))
    select = ", ".join([*(f"{k} AS key{i}" for i, k in enumerate(keys)), *instants, _named(calls, "r")])
    having = draw(_having(inputs, moment)) if not only and draw(st.integers(0, 3)) == 3 else None
    text = (
        f"SELECT {select} {body}"
        + (f" GROUP BY {', '.join(keys)}" if keys else "")
        + (f" HAVING {having}" if having else "")
    )
    return text + every + (" EMIT CHANGES" if changes else "")


def _keys(inputs: Sequence[Input]) -> SearchStrategy[str]:
    columns = st.sampled_from([c for i in inputs for c in i.of("k", "k", "s", "b", "j")])
    return _any_of([columns, columns, _pairs(inputs, _KEYS)])


_KEYS = [
    "{l}.k % 2",
    "COALESCE({l}.j, 0)",
    "{l}.x > 0",
    "UPPER({l}.s)",
    "{l}.k + {r}.k",
    "{l}.x > {r}.x",
    "COALESCE({l}.s, {r}.s)",
]


def _results(inputs: Sequence[Input], exact: bool) -> SearchStrategy[str]:
    """An aggregate, perhaps filtered, or an expression over aggregates; with `exact`, only of values that do not round."""
    plain = _aggregates(inputs, exact)
    filters = _any_of(
        [st.sampled_from(inputs).flatmap(conditions), _pairs(inputs, ["{l}.x < {r}.x", "{l}.k = {r}.j"])]
    )
    filtered = st.builds("{} FILTER (WHERE {})".format, plain, filters)
    return _any_of([plain, plain, plain, filtered, _pairs(inputs, _COMPOUND)])


_COMPOUND = [
    "COUNT(*) - COUNT({l}.x)",
    "COALESCE(SUM({l}.x), 0) + COUNT({r}.k)",
    "MAX({l}.x) - MIN({r}.x)",
    "SUM({l}.x) > SUM({r}.x)",
]


def _invertible(inputs: Sequence[Input]) -> SearchStrategy[str]:
    """An aggregate of numbers that do not round, which rows can be taken out of."""
    numbers = st.sampled_from([c for i in inputs for c in i.of("j", "x", "x", *(["d"] if i.exact else []))])
    columns = st.sampled_from([c for i in inputs for c in i.of("k", "j", "x", "s", "b")])
    plain = _any_of(
        [
            st.just("COUNT(*)"),
            st.builds("COUNT({})".format, columns),
            st.builds(str.format, st.sampled_from(["SUM({})", "SUM({})", "AVG({})"]), numbers),
            _pairs(inputs, ["SUM({l}.x + {r}.j)", "COUNT({l}.x * {r}.x)"]),
        ]
    )
    filtered = st.builds("{} FILTER (WHERE {})".format, plain, st.sampled_from(inputs).flatmap(conditions))
    return _any_of([plain, plain, filtered])


def _ordered(inputs: Sequence[Input]) -> SearchStrategy[str]:
    """An aggregate that is one of the values, in some order."""
    columns = st.sampled_from([c for i in inputs for c in i.of("k", "j", "x", "d", "s", "b")])
    plain = _any_of(
        [
            st.builds(str.format, st.sampled_from(["MIN({})", "MAX({})"]), columns),
            st.builds(
                str.format,
                st.sampled_from(["BOOL_AND({} > 0)", "BOOL_OR({} > 0)"]),
                st.sampled_from([c for i in inputs for c in i.of("x")]),
            ),
            st.builds(
                "{}({}, {})".format,
                st.sampled_from(["MIN_BY", "MAX_BY"]),
                *[st.sampled_from(list(inputs[0].of("x", "j", "k")))] * 2,
            ),
            _pairs(inputs, ["MAX({l}.x + {r}.j)", "MIN({l}.x * {r}.x)"]),
        ]
    )
    filtered = st.builds("{} FILTER (WHERE {})".format, plain, st.sampled_from(inputs).flatmap(conditions))
    return _any_of([plain, plain, filtered])


def _aggregates(inputs: Sequence[Input], exact: bool) -> SearchStrategy[str]:
    """Any aggregate over columns of one input, or over an expression that spans two."""
    columns = [c for i in inputs for c in i.of("k", "j", "x", "d", "s", "b")]
    numbers = [c for i in inputs for c in i.of("j", "x", "x", *(["d"] if i.exact else []))]
    rounding = [c for i in inputs for c in i.of("j", "x", "d", "d")]
    families = [
        st.just("COUNT(*)"),
        st.builds(
            str.format,
            st.sampled_from(["COUNT({})", "COUNT(DISTINCT {})", "MIN({})", "MAX({})", *_SETS]),
            st.sampled_from(columns),
        ),
        st.sampled_from([f"SUM({n})" for n in numbers]),
        st.sampled_from([f"MEDIAN({c})" for i in inputs for c in i.of("j", "x")]),
        st.builds(
            "{}({}, {})".format,
            st.sampled_from(["MIN_BY", "MAX_BY"]),
            st.sampled_from(columns),
            st.sampled_from(columns),
        ),
        _pairs(inputs, _SPANNING),
        _pairs(inputs, _SPANNING),
        _pairs(inputs, _BOUNDED),
    ]
    families += (
        [] if exact else [st.builds(str.format, st.sampled_from(_ROUNDING), st.sampled_from(rounding))] * 3
    )
    families += (
        []
        if exact
        else [
            _pairs(
                inputs,
                [
                    "SUM({l}.d * {r}.x)",
                    "AVG({l}.x * {r}.x)",
                    "VAR_POP({l}.x - {r}.d)",
                    "COVAR_POP({l}.x, {r}.j)",
                    "COVAR_SAMP({l}.x, {l}.j)",
                ],
            )
        ]
    )
    return _any_of(families)


_SETS = ["APPROX_COUNT_DISTINCT({}, 0.39)", "COLLECT_SET({})", "MODE({})"]
_ROUNDING = [
    "AVG({})",
    "SUM({})",
    "AVG({})",
    "VAR_POP({})",
    "VAR_SAMP({})",
    "STDDEV_SAMP({})",
    "STDDEV_POP({})",
    "PERCENTILE({}, 0.25)",
]
_BOUNDED = [
    "APPROX_PERCENTILE({l}.x + {r}.x, 0.5, 16)",
    "APPROX_PERCENTILE({l}.x, 0.9)",
    "BIT_XOR({l}.x)",
    "BIT_OR({r}.x)",
]
_SPANNING = [
    "SUM({l}.x * {r}.x)",
    "MAX({l}.x - {r}.x)",
    "COUNT(DISTINCT {l}.k + {r}.j)",
    "SUM(CASE WHEN {l}.b THEN {r}.x END)",
]
_SPANNING += [
    "BOOL_AND({l}.x > 0)",
    "BOOL_OR({l}.x < {r}.x)",
    "MIN(COALESCE({l}.s, {r}.s))",
    "MEDIAN({l}.x + {r}.x)",
]
_SPANNING += ["COUNT({l}.k + {r}.k)"]


def _having(inputs: Sequence[Input], moment: str) -> SearchStrategy[str]:
    """A condition on groups, over exact values only: rounding could tip the others."""
    instants = f"COUNT(*) > 2 OR window_end >= TIMESTAMP '{moment}'"
    return _pairs(inputs, ["COUNT(*) > 1", "COUNT(*) BETWEEN 1 AND 4", instants, *_HAVING])


_HAVING = [
    "SUM({l}.x) >= 0",
    "MIN({l}.x) < MAX({r}.x)",
    "COUNT(DISTINCT {l}.s) < 3",
    "MAX({l}.d) IS NOT NULL",
    "SUM({l}.x * {r}.j) > 3",
]


def _named(items: Sequence[str], prefix: str) -> str:
    return ", ".join(f"{text} AS {prefix}{i}" for i, text in enumerate(items))


def _any_of(families: Sequence[SearchStrategy[str]]) -> SearchStrategy[str]:
    """Each with the same chance, however many branches it has."""
    return st.sampled_from(families).flatmap(lambda family: family)
