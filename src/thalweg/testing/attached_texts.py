"""Strategies for outer, semi and anti joins over drawn streams and a table, as SQL text, and whole cases of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from thalweg.model.windows import duration_text
from thalweg.testing.join_sources import JoinCase, JoinSources, feeds, join_sources, relation_rows
from thalweg.testing.join_terms import Input, aggregations, conditions, row_items
from thalweg.testing.strategies import instant

Windowed = Callable[[Input, int], str]
Body = tuple[list[Input], str]
_OUTER = ("LEFT", "LEFT", "LEFT OUTER", "RIGHT", "FULL", "FULL OUTER")
_EQUALITIES = ("{l}.k = {r}.k",) * 4 + (
    "{l}.k = {r}.j",
    "{l}.k + 1 = {r}.j",
    "UPPER({r}.s) = UPPER({l}.s)",
    "{l}.k = {r}.k AND {l}.b = {r}.b",
    "COALESCE({l}.k, 0) = {r}.k",
)
_OTHERS = ("{l}.x < {r}.x", "{l}.s <> {r}.s", "({l}.k = {r}.k OR {l}.b)", "{l}.d <= {r}.d", "TRUE")
_AFTER = ("{r}.k IS NULL", "{r}.x IS NOT NULL", "COALESCE({r}.x, 1) > 0", "({l}.x > 0 OR {r}.s IS NULL)")
_LENGTHS = (1, 2, 3, 4, 5, 6, 8)


@st.composite
def attached_joins(draw: DrawFn, max_queries: int = 3) -> JoinCase:
    """Streams and outer, semi and anti joins of them, small enough to run in a moment."""
    sources = draw(join_sources())
    queries = draw(st.lists(attached_query_texts(sources), min_size=1, max_size=max_queries))
    return JoinCase(sources, draw(relation_rows(sources)), draw(feeds(sources, 20)), tuple(queries))


@st.composite
def attached_query_texts(draw: DrawFn, sources: JoinSources, rows: bool | None = None) -> str:
    """A SELECT of the rows of such a join, or of aggregates over it."""
    rows = draw(st.booleans()) if rows is None else rows
    shape = draw(st.sampled_from(["outer", "outer", "semi", "semi", "table"]))
    if shape == "table" and sources.relation is None:
        shape = "outer"
    tumbling = draw(st.integers(0, 3)) == 3
    length = draw(st.sampled_from(_LENGTHS)) * sources.unit

    mixed = tumbling and draw(st.booleans())

    def windowed(input_: Input, least: int) -> str:
        if tumbling and not (mixed and input_.alias != "x" and draw(st.booleans())):
            return f" [TUMBLE {duration_text(length)}]"
        found = draw(st.sampled_from([*_LENGTHS, *([] if least else [None])]))
        return " [UNBOUNDED]" if found is None else f" [RANGE {duration_text(found * sources.unit)}]"

    x, y, z = (
        Input(alias, draw(st.sampled_from(sources.streams)).name, True, False) for alias in ("x", "y", "z")
    )
    every = "" if tumbling else f" EVERY {duration_text(draw(st.sampled_from([1, 2, 3])) * sources.unit)}"
    if shape == "outer":
        seen, body = draw(_outer(sources, x, y, z, windowed))
    elif shape == "table":
        table = Input("t", "r", False, False)
        window = "" if rows else windowed(x, 0)
        kind = draw(st.sampled_from(["LEFT", "LEFT SEMI", "LEFT ANTI"]))
        on = " AND ".join(draw(_on(x, table)))
        seen, body = [x, table], f"FROM s0 AS x{window} {kind} JOIN r AS t ON {on}"
        body = body.replace("s0", x.source)
        seen = seen if kind == "LEFT" else [x]
        body += draw(_where(seen, kind == "LEFT"))
    else:
        seen, body = draw(_semi(x, y, windowed))
    if rows:
        return f"SELECT {draw(row_items(seen))} {body}"
    return draw(aggregations(seen, body, every, str(instant(sources.begin, 10 * sources.unit, 0))))


@st.composite
def _outer(draw: DrawFn, sources: JoinSources, x: Input, y: Input, z: Input, windowed: Windowed) -> Body:
    """FROM and WHERE of a LEFT, RIGHT or FULL JOIN, now and then after an inner one, or before one of a table."""
    kind, window = draw(st.sampled_from(_OUTER)), windowed
    seen, text = [x], f"FROM {x.source} AS x{window(x, 1)}"
    if draw(st.integers(0, 4)) == 4 and kind.startswith("LEFT"):
        text += f" JOIN {z.source} AS z{window(z, 1)} ON x.k = z.k"
        seen.append(z)
    on = draw(_on(x, y, must_equal=kind.startswith("FULL")))
    text += f" {kind} JOIN {y.source} AS y{window(y, 1)} ON {' AND '.join(on)}"
    seen.append(y)
    if sources.relation is not None and not kind.startswith("FULL") and draw(st.booleans()):
        table = Input("t", "r", False, False)
        other = draw(st.sampled_from([x, y]))
        text += f" LEFT JOIN r AS t ON {other.alias}.k = t.k"
        seen.append(table)
    return seen, text + draw(_where(seen, True))


@st.composite
def _semi(draw: DrawFn, x: Input, y: Input, windowed: Windowed) -> Body:
    """FROM and WHERE of a semi or an anti join, in each of the ways in which it is written."""
    window, anti = windowed, draw(st.booleans())
    mine, on = window(x, 1), " AND ".join(draw(_on(x, y)))
    theirs = f"{y.source} AS y{window(y, 1)}"
    form = draw(st.sampled_from(["join", "exists", "in"]))
    if form == "join":
        word = draw(st.sampled_from(["LEFT ANTI", "ANTI"] if anti else ["LEFT SEMI", "SEMI"]))
        return [x], f"FROM {x.source} AS x{mine} {word} JOIN {theirs} ON {on}" + draw(_where([x], False))
    if form == "in" and not anti:
        found = f"x.k IN (SELECT y.k FROM {theirs} WHERE {on})"
    else:
        found = f"{'NOT ' if anti else ''}EXISTS (SELECT 1 FROM {theirs} WHERE {on})"
    own = draw(_where([x], False))
    return [x], f"FROM {x.source} AS x{mine} WHERE {found}" + own.replace(" WHERE ", " AND ")


@st.composite
def _on(draw: DrawFn, left: Input, right: Input, must_equal: bool = False) -> list[str]:
    """Mostly an equality, perhaps conditions on both, or on one of them alone."""
    bare = not must_equal and draw(st.integers(0, 6)) == 6
    found = [draw(st.sampled_from(_OTHERS if bare else _EQUALITIES)).format(l=left.alias, r=right.alias)]
    if draw(st.integers(0, 3)) == 3:
        found.append(draw(st.sampled_from(_OTHERS)).format(l=left.alias, r=right.alias))
    if left.timed and right.timed and draw(st.integers(0, 4)) == 4:
        found.append(f"{left.alias}.at <= {right.alias}.at")
    found += [draw(conditions(i)) for i in (left, right) if draw(st.integers(0, 4)) == 4]
    return found


@st.composite
def _where(draw: DrawFn, inputs: Sequence[Input], after: bool) -> str:
    """Conditions on what comes out."""
    found = [draw(conditions(i)) for i in inputs if draw(st.integers(0, 5)) == 5]
    if after and len(inputs) > 1 and draw(st.integers(0, 3)) == 3:
        found.append(draw(st.sampled_from(_AFTER)).format(l=inputs[0].alias, r=inputs[-1].alias))
    return f" WHERE {' AND '.join(found)}" if found else ""
