"""From the partial results of a join's instants to the rows that a user sees."""

from __future__ import annotations

from thalweg.compile.told import with_window
from thalweg.compile.windows import each_sql, outputs_sql
from thalweg.expr.quoting import identifier
from thalweg.model.aggregates import AGGREGATES
from thalweg.model.query import DELETED, Query
from thalweg.plan.core import core
from thalweg.plan.pool import SET
from thalweg.plan.sides import JoinPart, aggregate_parts, join_parts


def groups_sql(query: Query, source: str, having: bool = True, more: tuple[str, ...] = ()) -> str:
    """Partial results of several partitions as one row per keys and instant "i", aggregates lowered, HAVING applied unless not wanted.

    `more` are columns that results are told apart by besides.
    """
    keys = [*(f'"k{i}"' for i in range(len(query.keys))), *more, '"i"']
    places = ", ".join(str(i + 1) for i in range(len(keys)))
    joined = core(query)  # its parts are named as the join has them, whatever the query calls its inputs
    parts = [f'{p.part.combine(_name(p))} AS "{p.name}"' for p in join_parts(joined)]
    whole = f"SELECT {', '.join([*keys, *parts])}\nFROM {source}\nGROUP BY {places}"
    lowered = lowered_parts(query)
    groups = f'SELECT {", ".join([*keys, *lowered])}, make_timestamp("i" * {query.every}) AS "window_end"\nFROM ({whole})'
    chosen = f"\nWHERE {query.having}" if query.having and having and not query.unnested else ""
    return f'SELECT * EXCLUDE ("window_end")\nFROM ({groups}){chosen}'


def lowered_parts(query: Query) -> list[str]:
    """The aggregates of a query from their parts."""
    joined = core(query)
    return [f'{_lowered(joined, n)} AS "a{n}"' for n in range(len(query.aggregates))]


def _name(part: JoinPart) -> str:
    return f'"{part.name}"'


def _lowered(query: Query, number: int) -> str:
    aggregate = query.aggregates[number]
    names = tuple(f'"{p.name}"' for p in aggregate_parts(aggregate))
    function = AGGREGATES[aggregate.call.function]
    return function.lower(names, tuple(a.type for a in aggregate.call.args), aggregate.call.params)


def results_sql(query: Query, source: str, more: tuple[str, ...] = ()) -> str:
    """Partial results of several partitions to result columns."""
    return final_sql(query, shown(query, f"({groups_sql(query, source, more=more)})"), more)


def shown(query: Query, groups: str) -> str:
    """A source of groups as one of what is shown of them: each by itself, or those of the rows that they list that are asked for."""
    if not query.unnested:
        return groups
    timed = f'SELECT *, make_timestamp("i" * {query.every}) AS "window_end"\nFROM {groups}'
    chosen = f"\nWHERE {query.having}" if query.having else ""
    return f'(SELECT * EXCLUDE ("window_end")\nFROM ({each_sql(query, timed)}){chosen})'


def final_sql(query: Query, source: str, more: tuple[str, ...] = ()) -> str:
    """Groups at instants to result columns; `more` are shown besides."""
    timed = f'SELECT *, make_timestamp("i" * {query.every}) AS "{query.instant}" FROM {with_window(query, source)}'
    return f"SELECT {', '.join([outputs_sql(query), *more])}\nFROM ({timed})"


def members_sql(query: Query, partial: str, members: str, nth: int = 1) -> str:
    """Results of several members of a pool that ask the same of its groups, told apart by a bit in `__set`.

    `members` has for each query-set that there is the members in it: "set", their "bit", and their instants from "low" to "high" that each is
    given, which are every `nth` of the pool. The query-set of a partial result is its last key.
    """
    number, whole = len(query.keys), identifier(SET)
    columns = f'p.* EXCLUDE ("k{number}"), m."bit" AS {whole}'
    source = (
        partial
        if nth == 1
        else f'(SELECT * REPLACE ("i" // {nth} AS "i") FROM {partial} WHERE "i" % {nth} = 0)'
    )
    rows = f'SELECT {columns} FROM {source} AS p JOIN {members} AS m ON p."k{number}" = m."set" AND p."i" >= m."low" AND p."i" < m."high"'
    return results_sql(query, f"({rows})", (whole,))


def changes_sql(query: Query, sources: list[str], following: int) -> str:
    """What of `now` differs from the instant before, and a mark for what is gone.

    `last` are the groups of the last instant of the batch before; `following` is the first instant that is not final.
    """
    changed = _changed_rows if query.unnested else _changed_groups
    return final_sql(query, f"({changed(query, sources, following)})")


def _changed_rows(query: Query, sources: list[str], following: int) -> str:
    """The rows of groups that were not there at the instant before, and those that are gone: of equal ones as many as there are more, or
    less."""
    same = [
        *(f'"k{i}"' for i in range(len(query.keys))),
        *(identifier(name) for name in sorted(rows_read(query))),
    ]
    names = ", ".join([*_kept_columns(query), '"i"'])
    rows = " UNION ALL BY NAME ".join(
        f'SELECT *, {str(s == "now").upper()} AS "live" FROM {shown(query, f"(SELECT {names} FROM {identifier(s)})")}'
        for s in sources
    )
    numbered = f'SELECT *, row_number() OVER (PARTITION BY {", ".join([*same, _AT])}) AS "n" FROM ({rows})'
    over = f'OVER (PARTITION BY {", ".join([*same, _N])} ORDER BY "i")'
    seen = f'SELECT *, lag("i") {over} AS "before", lead("i") {over} AS "after" FROM ({numbered})'
    fresh = '"live" AND ("before" IS NULL OR "before" <> "i" - 1)'
    gone = f'("after" IS NULL OR "after" <> "i" + 1) AND "i" + 1 < {following}'
    return (
        f'WITH seen AS ({seen}) SELECT *, FALSE AS "deleted" FROM seen WHERE {fresh} '
        f'UNION ALL BY NAME SELECT * REPLACE ("i" + 1 AS "i"), TRUE AS "deleted" FROM seen WHERE {gone}'
    )


def rows_read(query: Query) -> frozenset[str]:
    """What SELECT reads of the rows that groups list."""
    return frozenset[str]().union(*(o.expr.columns for o in query.outputs)) - {"window_end", DELETED}


_AT, _N = '"i"', '"n"'


def _changed_groups(query: Query, sources: list[str], following: int) -> str:
    keys = [f'"k{i}"' for i in range(len(query.keys))]
    values = [f'"a{i}"' for i in range(len(query.aggregates))]
    by = ", ".join(keys) or "1"
    fields = fields_of(query)
    rows = " UNION ALL BY NAME ".join(
        f'SELECT {", ".join([*keys, *values])}, "i", {str(s == "now").upper()} AS "live", {{{fields}}} AS "o" FROM "{s}"'
        for s in sources
    )
    over = f'OVER (PARTITION BY {by} ORDER BY "i")'
    seen = f'SELECT *, lag("i") {over} AS "before", lag("o") {over} AS "was", lead("i") {over} AS "after" FROM ({rows})'
    changed = '"live" AND ("before" IS NULL OR "before" <> "i" - 1 OR "o" IS DISTINCT FROM "was")'
    gone = f'("after" IS NULL OR "after" <> "i" + 1) AND "i" + 1 < {following}'
    nothing = [f"NULL AS {v}" for v in values]
    one = f'SELECT {", ".join([*keys, *values])}, "i", FALSE AS "deleted" FROM seen WHERE {changed}'
    two = f'SELECT {", ".join([*keys, *nothing])}, "i" + 1 AS "i", TRUE AS "deleted" FROM seen WHERE {gone}'
    return f"WITH seen AS ({seen}) {one} UNION ALL BY NAME {two}"


def fields_of(query: Query) -> str:
    """What of a result is compared with what it was."""
    compared = [o for o in query.outputs if not o.expr.columns & {query.instant, DELETED}]
    return ", ".join(f"'o{i}': {o.sql}" for i, o in enumerate(compared)) or "'o': 0"


def last_groups_sql(query: Query, sources: list[str], last: int) -> str:
    """The groups as they stand at the last final instant, to be compared with the next."""
    columns = ", ".join([*_kept_columns(query), '"i" AS "slot"'])
    return " UNION ALL BY NAME ".join(f'SELECT {columns} FROM "{s}" WHERE "i" = {last}' for s in sources)


def _kept_columns(query: Query) -> list[str]:
    """The columns of a group."""
    return [*(f'"k{i}"' for i in range(len(query.keys))), *(f'"a{i}"' for i in range(len(query.aggregates)))]
