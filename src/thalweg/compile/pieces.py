"""Pieces of what a fragment keeps to one: partial aggregates of the same instance, and of the same session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from thalweg.expr.quoting import identifier
from thalweg.model.aggregates import PartColumn
from thalweg.plan.nodes import BEGUN, COUNTED, Derived, Fragment

SLOT = '"slot"'
BEGIN = identifier(BEGUN.name)


def merge_sql(node: Fragment | Derived, source: str, bounded: bool = True) -> str:
    """Pieces to one row per keys and instance; bounded: of the instances from $low up to $high alone. Sessions have no instances: all of
    their pieces are looked at."""
    if isinstance(node, Fragment) and node.window.session:
        return together_sql(node, source)
    keys = [*node.keys, SLOT]
    where = ' WHERE "slot" >= $low AND "slot" < $high' if bounded else ""
    return f"SELECT {', '.join([*keys, *combined(node.parts)])} FROM {source}{where} GROUP BY {places(len(keys))}"


def together_sql(fragment: Fragment, source: str) -> str:
    """Pieces of sessions that are less than the gap apart as one. Keys whose pieces are all less than that apart from each other have one
    session, and are aggregated by hash; those of other keys are put in order."""
    if not fragment.keys:
        return _ordered_sql(fragment, source)
    keys, more = fragment.keys, [f"max({SLOT}) AS {SLOT}", *combined(fragment.parts)]
    one = f'max({BEGIN}) < min({SLOT}) + {fragment.window.range} AS "__one"'
    by_key = f"SELECT {', '.join([*keys, *more, one])}\nFROM pieces GROUP BY {places(len(keys))}"
    same = " AND ".join(f"p.{k} IS NOT DISTINCT FROM o.{k}" for k in keys)
    several = (
        f'(SELECT p.* FROM pieces AS p SEMI JOIN (SELECT * FROM whole WHERE NOT "__one") AS o ON {same})'
    )
    return (
        f"WITH pieces AS MATERIALIZED (SELECT * FROM {source}),\nwhole AS MATERIALIZED ({by_key})\n"
        f'SELECT * EXCLUDE ("__one") FROM whole WHERE "__one"\nUNION ALL BY NAME {_ordered_sql(fragment, several)}'
    )


def _ordered_sql(fragment: Fragment, source: str) -> str:
    """Pieces of sessions as one, in one pass over each key's pieces in order."""
    gap, keys = fragment.window.range, fragment.keys
    ordered = f"ORDER BY {BEGIN}, {SLOT}"
    before = f"({_over(keys, ordered)} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    since = f"({_over(keys, ordered)} ROWS UNBOUNDED PRECEDING)"
    marked = f'SELECT *, {BEGIN} >= max({SLOT}) OVER {before} + {gap} AS "__apart"\nFROM {source}'
    numbered = f'SELECT *, count(*) FILTER (WHERE "__apart") OVER {since} AS "__session"\nFROM ({marked})'
    picked = [*keys, '"__session"', f"max({SLOT}) AS {SLOT}", *combined(fragment.parts)]
    whole = f"SELECT {', '.join(picked)}\nFROM ({numbered})\nGROUP BY {places(len(keys) + 1)}"
    return f'SELECT * EXCLUDE ("__session") FROM ({whole})'


def _over(keys: Sequence[str], ordered: str) -> str:
    return f"PARTITION BY {', '.join(keys)} {ordered}" if keys else ordered


def combined(parts: Iterable[PartColumn]) -> list[str]:
    """The parts of several pieces as one; a number of rows stays a BIGINT."""
    return [f'{p.combine}{"::BIGINT" if p.name == COUNTED.name else ""} AS "{p.name}"' for p in parts]


def present(node: Fragment, columns: Iterable[str]) -> Fragment:
    """A fragment with the parts that a table has: older files lack the parts of newer queries."""
    found = set(columns)
    return replace(node, parts=tuple(p for p in node.parts if p.name in found))


def places(count: int) -> str:
    """The first columns of a statement by their number."""
    return ", ".join(str(i + 1) for i in range(count))
