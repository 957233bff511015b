"""Strategies for joins: queries over drawn streams and a table as SQL text, and whole cases of them."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from thalweg.model.stream import Column, Relation, Stream
from thalweg.model.windows import duration_text
from thalweg.testing.join_sources import JoinCase, JoinSources, feeds, join_sources, relation_rows
from thalweg.testing.join_terms import Input, aggregations, conditions, row_items
from thalweg.testing.strategies import instant

_FORMS = ("{}", "{}", "'{}'", "INTERVAL {}")
_LENGTHS = (1, 2, 3, 4, 5, 6, 8, 12)
_ROWS = {
    2: 25,
    3: 16,
    4: 10,
}  # rows a stream by the inputs of a query: no more than some thousand combinations


@st.composite
def joins(draw: DrawFn, max_queries: int = 3, aggregate: bool | None = None, only: str = "") -> JoinCase:
    """Streams and joins of them, small enough to run in a moment."""
    sources = draw(join_sources())
    inputs = draw(st.sampled_from([2, 2, 2, 3, 3, 4]))
    texts = join_query_texts(sources, aggregate, inputs, only)
    queries = draw(st.lists(texts, min_size=1, max_size=max_queries))
    return JoinCase(
        sources, draw(relation_rows(sources)), draw(feeds(sources, _ROWS[inputs])), tuple(queries)
    )


@dataclass(frozen=True)
class _Windows:
    """The windows of the inputs, in order, and the EVERY clause that suits them."""

    texts: tuple[str, ...]
    every: str


@st.composite
def join_query_texts(
    draw: DrawFn,
    sources: JoinSources,
    aggregate: bool | None = None,
    max_inputs: int = 4,
    only: str = "",
) -> str:
    """A SELECT of aggregates over a join, or of its rows; with None, either. Rows of one stream need no window."""
    rows = draw(st.booleans()) if aggregate is None else not aggregate
    inputs = draw(_inputs(sources, 1, max_inputs))
    windows = draw(_windows(inputs, sources.unit, rows))
    if rows and sum(i.timed for i in inputs) == 1 and (len(inputs) == 1 or draw(st.booleans())):
        windows = _Windows(("",) * len(inputs), "")
    body = draw(_bodies(inputs, windows))
    if rows:
        return f"SELECT {draw(row_items(inputs))} {body}"
    moment = str(instant(sources.begin, 10 * sources.unit, 0))
    return draw(aggregations(inputs, body, windows.every, moment, only))


@st.composite
def _inputs(draw: DrawFn, sources: JoinSources, least: int, most: int) -> tuple[Input, ...]:
    """At least one stream, now and then the same one again, and perhaps the table."""
    size = draw(st.sampled_from([n for n in (1, 2, 2, 2, 3, 3, 4) if least <= n <= most]))
    drawn: list[Stream | Relation] = [draw(st.sampled_from(sources.streams)) for _ in range(size)]
    if sources.relation and size > 1 and draw(st.booleans()):
        drawn[draw(st.integers(0, size - 1))] = sources.relation
    aliases = draw(st.sampled_from(["abcd", "dbca", "xsbk"]))
    double = Column("d", "DOUBLE")
    return tuple(
        Input(a, s.name, isinstance(s, Stream), double not in s.columns)
        for a, s in zip(aliases, drawn, strict=False)
    )


@st.composite
def _windows(draw: DrawFn, inputs: tuple[Input, ...], unit: int, rows: bool) -> _Windows:
    """RANGE of a length each, some UNBOUNDED, or all TUMBLE, or some TUMBLE beside others; one to six instants in the longest window."""
    form, lengths = (
        draw(st.sampled_from(_FORMS)),
        _LENGTHS if len(inputs) < 3 else _LENGTHS[4:],
    )  # where many meet, they need time
    if draw(st.integers(0, 3)) == 3:
        length, mixed = form.format(duration_text(draw(st.sampled_from(lengths)) * unit)), draw(st.booleans())
        tumbling = f" [TUMBLE {length}]"
        beside = draw(_beside(tumbling, form, lengths, unit, rows)) if mixed else st.just(tumbling)
        first = next(n for n, i in enumerate(inputs) if i.timed)
        texts = tuple(
            "" if not i.timed else tumbling if n == first else draw(beside) for n, i in enumerate(inputs)
        )
        return _Windows(texts, draw(st.sampled_from(["", f" EVERY {length}"])))
    drawn = [draw(st.sampled_from([*lengths, None, None])) if i.timed else 0 for i in inputs]
    longest = max((n for n in drawn if n), default=5)
    every = draw(st.sampled_from([n for n in range(1, 13) if longest <= 6 * n and n <= longest]))
    texts = tuple(draw(_window_texts(form, n, unit)) if n != 0 else "" for n in drawn)
    return _Windows(texts, f" EVERY {form.format(duration_text(every * unit))}")


@st.composite
def _beside(
    draw: DrawFn, tumbling: str, form: str, lengths: tuple[int, ...], unit: int, rows: bool
) -> SearchStrategy[str]:
    """What windows beside a tumbling one may be; of joined rows also tumbling ones of another length."""
    other = form.format(duration_text(draw(st.sampled_from(lengths)) * unit))
    ranges = [_window_texts(form, n, unit) for n in (*lengths[:4], None)]
    return st.one_of(st.just(f" [TUMBLE {other}]" if rows else tumbling), *ranges)


def _window_texts(form: str, length: int | None, unit: int) -> SearchStrategy[str]:
    if length is None:
        return st.sampled_from([" [UNBOUNDED]", " [UNBOUNDED]", " [WINDOW UNTIL NOW]"])
    return st.sampled_from(["RANGE", "RANGE", "WINDOW"]).map(
        lambda word: f" [{word} {form.format(duration_text(length * unit))}]"
    )


@st.composite
def _bodies(draw: DrawFn, inputs: tuple[Input, ...], windows: _Windows) -> str:
    """FROM and WHERE: each input is linked to the one before or to the first, by a comma or by JOIN."""
    tables = [f"{i.source} AS {i.alias}{w}" for i, w in zip(inputs, windows.texts, strict=True)]
    chained, template = draw(st.booleans()), draw(st.sampled_from(_EQUALITIES))
    links = [
        draw(_links(inputs[n - 1] if chained else inputs[0], inputs[n], template))
        for n in range(1, len(inputs))
    ]
    filters = [draw(conditions(i)) for i in inputs if draw(st.integers(0, 4)) == 4]
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
def _links(draw: DrawFn, left: Input, right: Input, usual: str) -> list[str]:
    """Mostly an equality, perhaps with other conditions on both; seldom none at all."""
    equality = draw(st.sampled_from([[usual]] * 6 + [[t] for t in _EQUALITIES[4:]] + [[]]))
    timed = ["{l}.at <= {r}.at", "{l}.at < {r}.at"] if left.timed and right.timed else []
    residue = [draw(st.sampled_from(_RESIDUES + timed))] if draw(st.integers(0, 3)) == 3 else []
    return [t.format(l=left.alias, r=right.alias) for t in equality + residue]
