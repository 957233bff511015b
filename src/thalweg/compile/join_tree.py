"""The FROM clause of a join: inputs meet in the order of the plan, and one of two is kept in a hash table.

DuckDB would choose both by its own estimates; so what a plan says is what runs. Of two inputs the right one is kept (built), the left one
streams past it (probes); which one is found in each batch, by the rows that they have.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """An input as a statement, with about how many rows it gives."""

    sql: str
    rows: float


@dataclass(frozen=True)
class Clause:
    """A condition on the inputs that it reads.

    same: the name of an equality that holds for all inputs of a join, of which one condition per input says enough.
    """

    sql: str
    inputs: frozenset[int]
    same: str | None = None


def from_sql(
    views: Sequence[View], clauses: Sequence[Clause], order: Sequence[int], met: Collection[int] = ()
) -> str:
    """FROM with all inputs in an order, and every condition where the last input that it reads comes in. The first may be several that
    have `met` before.

    >>> views = [View("SELECT 1 AS a", 9), View("SELECT 1 AS b", 5)]
    >>> from_sql(views, [Clause("a = b", frozenset({0, 1}))], (1, 0))
    'FROM ((SELECT 1 AS a) JOIN (SELECT 1 AS b) ON a = b)'
    """
    first, *others = order
    tree, seen, left = View(f"({views[first].sql})", views[first].rows), {first, *met}, list(clauses)
    for n in others:
        seen.add(n)
        here = [c for c in left if c.inputs <= seen]
        left = [c for c in left if c not in here]
        tree = _met(tree, View(f"({views[n].sql})", views[n].rows), _needed(here))
    where = f" WHERE {' AND '.join(c.sql for c in left)}" if left else ""
    return f"FROM {tree.sql}{where}"


def attached(tree: str, word: str, view: View, clauses: Sequence[Clause]) -> str:
    """What has met with an input that need not have partners: LEFT, FULL, SEMI or ANTI.

    >>> attached("x", "LEFT", View("SELECT 1 AS b", 5), [Clause("a = b", frozenset({0, 1}))])
    '(x LEFT JOIN (SELECT 1 AS b) ON a = b)'
    """
    return f"({tree} {word} JOIN ({view.sql}) ON {' AND '.join(_needed(clauses)) or 'TRUE'})"


def _met(tree: View, other: View, on: Sequence[str]) -> View:
    """Two inputs as one; that rows have about one partner is all that can be said of how many there are."""
    large, small = (tree, other) if tree.rows > other.rows else (other, tree)
    joined = f"JOIN {small.sql} ON {' AND '.join(on)}" if on else f"CROSS JOIN {small.sql}"
    return View(f"({large.sql} {joined})", large.rows)


def _needed(clauses: Sequence[Clause]) -> list[str]:
    """The conditions but for those that another of the same name implies."""
    one_each = {c.same or c.sql: c.sql for c in clauses}
    return list(one_each.values())
