"""Groups that never lose a row: what enters at instants is added to the totals that are kept, and where that changes what is shown, it is
told.

`partial` is what enters, by keys and instant "i"; `last` are kept totals, each as of the last instant at which something entered, of which
the newest of a group counts. With a ttl a group into which nothing enters for so long is forgotten: what enters later begins anew.
"""

from __future__ import annotations

from thalweg.compile.results import fields_of, final_sql, lowered_parts, rows_read, shown
from thalweg.compile.told import INSTANCE, with_window
from thalweg.model.query import Query
from thalweg.plan.core import core
from thalweg.plan.sides import join_parts


def ttl_instants(query: Query) -> int | None:
    """How many instants a group is remembered after the last at which something entered.

    >>> ttl_instants(Query("q", "", (), (), every=10, ttl=25))
    3
    """
    return None if query.forgets is None or query.every is None else -(-query.forgets // query.every)


def totals_sql(query: Query, has_last: bool) -> str:
    """The totals of each group that something enters, at each instant at which it does ("new") and before them; "life" tells apart what a
    group is before and after it was forgotten."""
    keys, parts = _keys(query), join_parts(core(query))
    by = ", ".join(keys) or "TRUE"
    entering = [f'{p.part.combine(_quoted(p.name))} AS "{p.name}"' for p in parts]
    fresh = f'SELECT {", ".join([*keys, _I, *entering])} FROM "partial" GROUP BY {", ".join([*keys, _I])}'
    same = " AND ".join(f"l.{k} IS NOT DISTINCT FROM f.{k}" for k in keys) or "TRUE"
    met = 'SELECT *, TRUE AS "new" FROM "fresh"'
    if has_last:
        newest = f'row_number() OVER (PARTITION BY {by} ORDER BY "i" DESC) = 1'
        met += f' UNION ALL BY NAME SELECT l.*, FALSE AS "new" FROM "last" AS l SEMI JOIN "fresh" AS f ON {same} QUALIFY {newest}'
    over = f'(PARTITION BY {by} ORDER BY "i")'
    gap = (
        "0"
        if (ttl := ttl_instants(query)) is None
        else f'CASE WHEN "i" - lag("i") OVER {over} > {ttl} THEN 1 ELSE 0 END'
    )
    lived = f'SELECT * EXCLUDE ("gap"), sum("gap") OVER {over} AS "life" FROM (SELECT *, {gap} AS "gap" FROM ({met}))'
    running = [f'{p.part.combine(_quoted(p.name), " OVER running")} AS "{p.name}"' for p in parts]
    window = f'WINDOW running AS (PARTITION BY {by}, "life" ORDER BY "i" ROWS UNBOUNDED PRECEDING)'
    return f'WITH "fresh" AS ({fresh})\nSELECT {", ".join([*keys, _I, _NEW, _LIFE, *running])}\nFROM ({lived}) {window}'


def told_sql(query: Query) -> str:
    """What of `totals` is told."""
    return final_sql(query, f"({_told_rows(query) if query.unnested else _told_groups(query)})")


def _told_rows(query: Query) -> str:
    """The rows that a group lists and did not list before, and a mark for those that it lists no more: of equal ones as many as there are
    more, or less."""
    keys, read = _keys(query), [_quoted(name) for name in sorted(rows_read(query))]
    over = f'OVER (PARTITION BY {", ".join([*keys, _LIFE])} ORDER BY "i")'
    lowered = ", ".join([*keys, _I, _NEW, _LIFE, *lowered_parts(query)])
    entries = f'SELECT {lowered}, row_number() {over} AS "n", lead("i") {over} AS "next" FROM "totals"'
    same = ", ".join([*keys, _LIFE, *read])
    numbered = f'SELECT *, row_number() OVER (PARTITION BY {same}, "n") AS "copy" FROM {shown(query, f"({entries})")}'
    along = f'OVER (PARTITION BY {same}, "copy" ORDER BY "n")'
    seen = f'SELECT *, lag("n") {along} AS "before", lead("n") {along} AS "after" FROM ({numbered})'
    fresh = '"new" AND ("before" IS NULL OR "before" <> "n" - 1)'
    gone = '"next" IS NOT NULL AND ("after" IS NULL OR "after" <> "n" + 1)'
    return (
        f'WITH seen AS ({seen}) SELECT *, FALSE AS "deleted" FROM seen WHERE {fresh} '
        f'UNION ALL BY NAME SELECT * REPLACE ("next" AS "i"), TRUE AS "deleted" FROM seen WHERE {gone}'
    )


def _told_groups(query: Query) -> str:
    """Groups that are new or show something else than before, and a mark for those that HAVING shows no more."""
    keys, values = _keys(query), [f'"a{i}"' for i in range(len(query.aggregates))]
    over = f'OVER (PARTITION BY {", ".join([*keys, _LIFE])} ORDER BY "i")'
    lowered = ", ".join([*keys, _I, _NEW, _LIFE, *lowered_parts(query)])
    chosen = f"coalesce(({query.having}), FALSE)" if query.having else "TRUE"
    groups = with_window(query, f'(SELECT {lowered} FROM "totals")')
    told = f'SELECT *, {chosen} AS "shown", {{{fields_of(query)}}} AS "o" FROM {groups}'
    before = "".join(f", lag({v}) {over} AS {_before(v)}" for v in values) if query.takes_back else ""
    seen = f'SELECT *, lag("shown") {over} AS "stood", lag("o") {over} AS "was"{before} FROM ({told})'
    if query.takes_back:
        return _taken_back(query, seen)
    changed = '"shown" AND ("stood" IS NOT TRUE OR "o" IS DISTINCT FROM "was") OR NOT "shown" AND "stood"'
    left = [f'CASE WHEN "shown" THEN {v} END AS {v}' for v in values]
    columns = ", ".join([*keys, *left, _I, 'NOT "shown" AS "deleted"'])
    return f'SELECT {columns} FROM ({seen}) WHERE "new" AND ({changed})'


def _taken_back(query: Query, seen: str) -> str:
    """Changes as other queries read them: a group as it is shown, and as it was and holds no more."""
    keys, values = _keys(query), [f'"a{i}"' for i in range(len(query.aggregates))]
    differs = '("stood" IS NOT TRUE OR "shown" IS NOT TRUE OR "o" IS DISTINCT FROM "was")'
    now = ", ".join([*keys, *values, _I, 'FALSE AS "deleted"'])
    was = ", ".join([*keys, *(f"{_before(v)} AS {v}" for v in values), _I, 'TRUE AS "deleted"'])
    return (
        f'WITH seen AS ({seen}) SELECT {now} FROM seen WHERE "new" AND "shown" AND {differs} '
        f'UNION ALL BY NAME SELECT {was} FROM seen WHERE "new" AND "stood" AND {differs}'
    )


def _before(value: str) -> str:
    return f'"before_{value[1:]}'


def newest_sql(query: Query, source: str) -> str:
    """Of several totals of a group, by "slot", the newest."""
    by = ", ".join(_keys(query)) or "TRUE"
    return f'SELECT * FROM {source} QUALIFY row_number() OVER (PARTITION BY {by} ORDER BY "slot" DESC) = 1'


def kept_sql(query: Query) -> str:
    """What of `totals` is to be kept."""
    parts = [_quoted(p.name) for p in join_parts(core(query))]
    columns = ", ".join([*_keys(query), '"i" AS "slot"', *parts])
    return newest_sql(query, f'(SELECT {columns} FROM "totals" WHERE "new")')


_I, _NEW, _LIFE = '"i"', '"new"', '"life"'


def _keys(query: Query) -> list[str]:
    """What groups are told apart by."""
    return [*(f'"k{i}"' for i in range(len(query.keys))), *(INSTANCE if query.told else ())]


def _quoted(name: str) -> str:
    return f'"{name}"'
