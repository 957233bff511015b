"""Strategies for joins: streams and a table, queries over them as SQL text, and micro-batches for all streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from thalweg.model.stream import Column, Relation, Stream
from thalweg.model.windows import SECOND, duration_text
from thalweg.testing.feeds import placed_sql, stream_sql, table_lines, text_sql
from thalweg.testing.fields import with_nulls
from thalweg.testing.strategies import BEGINNINGS, NUDGES, UNITS, instant, rows_table

_FORMS = ("{}", "{}", "'{}'", "INTERVAL {}")
_LENGTHS = (1, 2, 3, 4, 5, 6, 8, 12)
_ROWS = {
    2: 25,
    3: 16,
    4: 10,
}  # rows a stream by the inputs of a query: no more than some thousand combinations


@dataclass(frozen=True)
class JoinSources:
    """Two to four streams and perhaps a table, all with the same columns (but for the time).

    Times are multiples of `unit` microseconds, from around `begin` on.
    """

    streams: tuple[Stream, ...]
    relation: Relation | None
    unit: int
    begin: int

    def sql(self, directory: Path) -> str:
        """The statements that declare them, each with its place in a directory: `s0/` and so on, `r.parquet`."""
        texts = [placed_sql(stream_sql(s), directory) for s in self.streams]
        if self.relation:
            columns = (
                stream_sql(Stream("r", self.relation.columns, ""))
                .partition(" WITH ")[0]
                .removeprefix("CREATE STREAM ")
            )
            texts.append(
                f"CREATE TABLE {columns} WITH (format = 'parquet', path = {text_sql(str(directory / 'r.parquet'))})"
            )
        return "".join(f"{t};\n" for t in texts)


@dataclass(frozen=True, repr=False)
class JoinCase:
    """Sources with the rows of the table and the micro-batches of the streams, and queries over them (each a SELECT)."""

    sources: JoinSources
    relations: Mapping[str, pa.Table]
    batches: tuple[Mapping[str, pa.Table], ...]
    queries: tuple[str, ...]

    def sql(self, directory: Path = Path("in")) -> str:
        """The statements that declare the sources and the queries q0, q1, ..."""
        return self.sources.sql(directory) + "".join(
            f"CREATE QUERY q{i} AS {q};\n" for i, q in enumerate(self.queries)
        )

    def __repr__(self) -> str:
        lines = [self.sql()]
        for title, tables in [
            ("table", self.relations),
            *((f"batch {i}", b) for i, b in enumerate(self.batches)),
        ]:
            lines += [
                line
                for name, table in tables.items()
                for line in (f"--- {title} {name}", *table_lines(table))
            ]
        return "JoinCase:\n" + "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How Hypothesis shows it."""
        printer.text(repr(self))


@st.composite
def joins(draw: DrawFn, max_queries: int = 3, aggregate: bool | None = None) -> JoinCase:
    """Streams and joins of them, small enough to run in a moment."""
    sources = draw(join_sources())
    inputs = draw(st.sampled_from([2, 2, 2, 3, 3, 4]))
    queries = draw(st.lists(join_query_texts(sources, aggregate, inputs), min_size=1, max_size=max_queries))
    return JoinCase(
        sources, draw(relation_rows(sources)), draw(feeds(sources, _ROWS[inputs])), tuple(queries)
    )


@st.composite
def join_sources(draw: DrawFn) -> JoinSources:
    """Declarations; each stream has a delay of its own, and exact or inexact numbers `d`."""
    unit = draw(st.sampled_from(UNITS))
    streams = [draw(_streams(f"s{i}", unit)) for i in range(draw(st.integers(2, 4)))]
    relation = draw(st.none() | st.just(Relation("r", streams[0].columns[:-1], "parquet", "r.parquet")))
    return JoinSources(tuple(streams), relation, unit, draw(st.sampled_from(BEGINNINGS)) * SECOND)


@st.composite
def _streams(draw: DrawFn, name: str, unit: int) -> Stream:
    number = draw(st.sampled_from(["DOUBLE", "DECIMAL(10,2)"]))
    types = {
        "k": "BIGINT",
        "j": "INTEGER",
        "x": "BIGINT",
        "d": number,
        "s": "VARCHAR",
        "b": "BOOLEAN",
        "at": "TIMESTAMP",
    }
    return Stream(
        name, tuple(Column(n, t) for n, t in types.items()), "at", draw(st.sampled_from([0, 1, 2, 5])) * unit
    )


_TENTHS = [n / 10 for n in (-25, -1, 1, 3, 7, 33)]
_QUARTERS = [n / 4 for n in range(-12, 13)]
_VALUES: dict[str, list[Any]] = {
    "k": [1, 1, 1, 1, 0, 0, 2, None],
    "j": [1, 1, 2, 2, 2, 0, 3, None],
    "x": [*range(-9, 10), None],
    "DOUBLE": [*_QUARTERS, *_TENTHS, float("nan"), None],
    "DECIMAL(10,2)": [*(Decimal(n) / 100 for n in range(-300, 300, 35)), None],
    "s": ["a", "a", "a", "a", "b", "b", "B", "", "é", None],
    "b": [True, True, False, None],
}


def _values(columns: Sequence[Column]) -> SearchStrategy[tuple[Any, ...]]:
    """A row but for its time."""
    return st.tuples(
        *(st.sampled_from(_VALUES[c.type if c.name == "d" else c.name]) for c in columns if c.name != "at")
    )


@st.composite
def relation_rows(draw: DrawFn, sources: JoinSources) -> dict[str, pa.Table]:
    """The rows of the table, where there is one."""
    if sources.relation is None:
        return {}
    columns, least = sources.relation.columns, draw(st.sampled_from([0, 3, 3]))
    rows = draw(st.lists(_values(columns), min_size=least, max_size=6))
    return {sources.relation.name: rows_table(columns, rows)}


@st.composite
def feeds(draw: DrawFn, sources: JoinSources, rows: int = 25) -> tuple[dict[str, pa.Table], ...]:
    """Micro-batches with up to so many rows a stream in all: out of order, late, doubled, empty, or no table at all.

    Some streams are ahead of the others. Mostly time goes on far enough in the end that all windows close.
    """
    unit, now, leads = (
        sources.unit,
        sources.begin,
        [draw(st.sampled_from([0, 0, 0, 0, 3, 12])) for _ in sources.streams],
    )
    batches: list[dict[str, pa.Table]] = []
    left = dict.fromkeys((s.name for s in sources.streams), rows - 1)
    for _ in range(draw(st.integers(2, 5))):
        now += draw(st.sampled_from([0, 1, 2, 3, 3, 4, 6, 10])) * unit
        batches.append({})
        for stream, lead in zip(sources.streams, leads, strict=True):
            size = draw(st.sampled_from([None, 0, 1, 3, 4, 5, 7]))
            if size is not None:
                table = draw(_tables(stream, now + lead * unit, unit, min(size, left[stream.name])))
                left[stream.name] -= table.num_rows
                batches[-1][stream.name] = table
    if draw(st.integers(0, 5)):
        batches.append(
            {
                s.name: rows_table(s.columns, [(*[None] * 6, instant(now, 30 * unit, 0))])
                for s in sources.streams
            }
        )
    return tuple(batches)


@st.composite
def _tables(draw: DrawFn, stream: Stream, now: int, unit: int, size: int) -> pa.Table:
    """Up to so many rows around a time, the last of them perhaps doubled."""
    times = with_nulls(st.builds(instant, st.just(now), st.integers(-5, 3).map(lambda n: n * unit), NUDGES))
    rows = [(*draw(_values(stream.columns)), draw(times)) for _ in range(size)]
    if size > 1 and draw(st.integers(0, 3)) == 3:
        rows[-1] = rows[0]
    return rows_table(stream.columns, rows)


@dataclass(frozen=True)
class _Input:
    """A source under its alias; `exact` says whether sums of `d` do not round."""

    alias: str
    source: str
    timed: bool
    exact: bool

    def of(self, *names: str) -> list[str]:
        """Columns of this input."""
        return [f"{self.alias}.{n}" for n in names]


@dataclass(frozen=True)
class _Windows:
    """The windows of the inputs, in order, and the EVERY clause that suits them."""

    texts: tuple[str, ...]
    every: str


@st.composite
def join_query_texts(
    draw: DrawFn, sources: JoinSources, aggregate: bool | None = None, max_inputs: int = 4
) -> str:
    """A SELECT of aggregates over a join, or of its rows; with None, either. Rows of one stream need no window."""
    rows = draw(st.booleans()) if aggregate is None else not aggregate
    inputs = draw(_inputs(sources, 1, max_inputs))
    windows = draw(_windows(inputs, sources.unit))
    if rows and sum(i.timed for i in inputs) == 1 and (len(inputs) == 1 or draw(st.booleans())):
        windows = _Windows(("",) * len(inputs), "")
    body = draw(_bodies(inputs, windows))
    if rows:
        return f"SELECT {draw(_row_items(inputs))} {body}"
    return draw(_aggregations(inputs, body, windows.every, str(instant(sources.begin, 10 * sources.unit, 0))))


@st.composite
def _inputs(draw: DrawFn, sources: JoinSources, least: int, most: int) -> tuple[_Input, ...]:
    """At least one stream, now and then the same one again, and perhaps the table."""
    size = draw(st.sampled_from([n for n in (1, 2, 2, 2, 3, 3, 4) if least <= n <= most]))
    drawn: list[Stream | Relation] = [draw(st.sampled_from(sources.streams)) for _ in range(size)]
    if sources.relation and size > 1 and draw(st.booleans()):
        drawn[draw(st.integers(0, size - 1))] = sources.relation
    aliases = draw(st.sampled_from(["abcd", "dbca", "xsbk"]))
    double = Column("d", "DOUBLE")
    return tuple(
        _Input(a, s.name, isinstance(s, Stream), double not in s.columns)
        for a, s in zip(aliases, drawn, strict=False)
    )


@st.composite
def _windows(draw: DrawFn, inputs: tuple[_Input, ...], unit: int) -> _Windows:
    """RANGE of a length each, some UNBOUNDED, or all TUMBLE; one to six instants in the longest window."""
    form, lengths = (
        draw(st.sampled_from(_FORMS)),
        _LENGTHS if len(inputs) < 3 else _LENGTHS[4:],
    )  # where many meet, they need time
    if draw(st.integers(0, 3)) == 3:
        length = form.format(duration_text(draw(st.sampled_from(lengths)) * unit))
        return _Windows(
            tuple(f" [TUMBLE {length}]" if i.timed else "" for i in inputs),
            draw(st.sampled_from(["", f" EVERY {length}"])),
        )
    drawn = [draw(st.sampled_from([*lengths, None, None])) if i.timed else 0 for i in inputs]
    longest = max((n for n in drawn if n), default=5)
    every = draw(st.sampled_from([n for n in range(1, 13) if longest <= 6 * n and n <= longest]))
    texts = tuple(draw(_window_texts(form, n, unit)) if n != 0 else "" for n in drawn)
    return _Windows(texts, f" EVERY {form.format(duration_text(every * unit))}")


def _window_texts(form: str, length: int | None, unit: int) -> SearchStrategy[str]:
    if length is None:
        return st.sampled_from([" [UNBOUNDED]", " [UNBOUNDED]", " [WINDOW UNTIL NOW]"])
    return st.sampled_from(["RANGE", "RANGE", "WINDOW"]).map(
        lambda word: f" [{word} {form.format(duration_text(length * unit))}]"
    )


@st.composite
def _bodies(draw: DrawFn, inputs: tuple[_Input, ...], windows: _Windows) -> str:
    """FROM and WHERE: each input is linked to the one before or to the first, by a comma or by JOIN."""
    tables = [f"{i.source} AS {i.alias}{w}" for i, w in zip(inputs, windows.texts, strict=True)]
    chained, template = draw(st.booleans()), draw(st.sampled_from(_EQUALITIES))
    links = [
        draw(_links(inputs[n - 1] if chained else inputs[0], inputs[n], template))
        for n in range(1, len(inputs))
    ]
    filters = [draw(_conditions(i)) for i in inputs if draw(st.integers(0, 4)) == 4]
    if links == [[f"{inputs[0].alias}.k = {inputs[-1].alias}.k"]] and draw(st.booleans()):
        text = f"{' JOIN '.join(tables)} USING (k)"
    elif all(links) and draw(st.booleans()):
        text = tables[0] + "".join(
            f" JOIN {t} ON {' AND '.join(c)}" for t, c in zip(tables[1:], links, strict=True)
        )
    else:
        text, filters = ", ".join(tables), [c for link in links for c in link] + filters
    return f"FROM {text}" + (f" WHERE {' AND '.join(filters)}" if filters else "")


_EQUALITIES = ["{l}.k = {r}.k"] * 4 + [
    "{l}.k = {r}.j",
    "{l}.k + 1 = {r}.j",
    "{r}.s = {l}.s",
    "{l}.k = {r}.k AND {l}.b = {r}.b",
]
_EQUALITIES += [
    "{l}.x % 3 = {r}.k",
    "UPPER({l}.s) = UPPER({r}.s)",
    "COALESCE({l}.k, 0) = {r}.k",
    "{l}.k + {l}.j = {r}.k + {r}.j",
]
_RESIDUES = [
    "{l}.x < {r}.x",
    "{l}.s <> {r}.s",
    "{l}.x BETWEEN {r}.x - 4 AND {r}.x + 4",
    "ABS({l}.x - {r}.x) <= 5",
    "{l}.d <= {r}.d",
]
_RESIDUES += [
    "({l}.k = {r}.k OR {l}.b)",
    "{l}.x + {r}.j > 0",
    "{l}.s <=> {r}.s",
    "({l}.k IS NULL OR {r}.k IS NOT NULL)",
]


@st.composite
def _links(draw: DrawFn, left: _Input, right: _Input, usual: str) -> list[str]:
    """Mostly an equality, perhaps with other conditions on both; seldom none at all."""
    equality = draw(st.sampled_from([[usual]] * 6 + [[t] for t in _EQUALITIES[4:]] + [[]]))
    timed = ["{l}.at <= {r}.at", "{l}.at < {r}.at"] if left.timed and right.timed else []
    residue = [draw(st.sampled_from(_RESIDUES + timed))] if draw(st.integers(0, 3)) == 3 else []
    return [t.format(l=left.alias, r=right.alias) for t in equality + residue]


def _conditions(source: _Input) -> SearchStrategy[str]:
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
def _pairs(draw: DrawFn, inputs: Sequence[_Input], templates: Sequence[str]) -> str:
    """A template over two inputs, or twice the only one."""
    left = draw(st.sampled_from(inputs))
    right = draw(st.sampled_from([i for i in inputs if i != left] or inputs))
    return draw(st.sampled_from(templates)).format(l=left.alias, r=right.alias)


def _row_items(inputs: Sequence[_Input]) -> SearchStrategy[str]:
    """What is shown of a joined row: expressions, and perhaps all of one input."""
    stars = st.sampled_from(["", "", "", *(f"{i.alias}.*, " for i in inputs)])
    return st.builds(
        lambda star, items: star + _named(items, "c"),
        stars,
        st.lists(_scalars(inputs), min_size=1, max_size=5),
    )


def _scalars(inputs: Sequence[_Input]) -> SearchStrategy[str]:
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
def _aggregations(draw: DrawFn, inputs: Sequence[_Input], body: str, every: str, moment: str) -> str:
    """The same over groups: keys of any inputs or none, aggregates, HAVING, changes only."""
    changes = draw(st.integers(0, 2)) == 2
    keys = draw(st.lists(_keys(inputs), max_size=3, unique=True))
    calls = draw(st.lists(_results(inputs, changes), min_size=1, max_size=6))
    instants = draw(st.sampled_from([["window_end"], ["window_end"], ["window_end AS t"], []]))
    select = ", ".join([*(f"{k} AS key{i}" for i, k in enumerate(keys)), *instants, _named(calls, "r")])
    having = draw(_having(inputs, moment)) if draw(st.integers(0, 3)) == 3 else None
    text = (
        f"SELECT {select} {body}"
        + (f" GROUP BY {', '.join(keys)}" if keys else "")
        + (f" HAVING {having}" if having else "")
    )
    return text + every + (" EMIT CHANGES" if changes else "")


def _keys(inputs: Sequence[_Input]) -> SearchStrategy[str]:
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


def _results(inputs: Sequence[_Input], exact: bool) -> SearchStrategy[str]:
    """An aggregate, perhaps filtered, or an expression over aggregates; with `exact`, only of values that do not round."""
    plain = _aggregates(inputs, exact)
    filters = _any_of(
        [st.sampled_from(inputs).flatmap(_conditions), _pairs(inputs, ["{l}.x < {r}.x", "{l}.k = {r}.j"])]
    )
    filtered = st.builds("{} FILTER (WHERE {})".format, plain, filters)
    return _any_of([plain, plain, plain, filtered, _pairs(inputs, _COMPOUND)])


_COMPOUND = [
    "COUNT(*) - COUNT({l}.x)",
    "COALESCE(SUM({l}.x), 0) + COUNT({r}.k)",
    "MAX({l}.x) - MIN({r}.x)",
    "SUM({l}.x) > SUM({r}.x)",
]


def _aggregates(inputs: Sequence[_Input], exact: bool) -> SearchStrategy[str]:
    """Any aggregate over columns of one input, or over an expression that spans two."""
    columns = [c for i in inputs for c in i.of("k", "j", "x", "d", "s", "b")]
    numbers = [c for i in inputs for c in i.of("j", "x", "x", *(["d"] if i.exact else []))]
    rounding = [c for i in inputs for c in i.of("j", "x", "d", "d")]
    families = [
        st.just("COUNT(*)"),
        st.builds(
            str.format,
            st.sampled_from(["COUNT({})", "COUNT(DISTINCT {})", "MIN({})", "MAX({})"]),
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
    ]
    families += (
        [] if exact else [st.builds(str.format, st.sampled_from(_ROUNDING), st.sampled_from(rounding))] * 3
    )
    families += (
        []
        if exact
        else [_pairs(inputs, ["SUM({l}.d * {r}.x)", "AVG({l}.x * {r}.x)", "VAR_POP({l}.x - {r}.d)"])]
    )
    return _any_of(families)


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


def _having(inputs: Sequence[_Input], moment: str) -> SearchStrategy[str]:
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
