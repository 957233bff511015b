"""OVER in a SELECT: where it stands, what it asks for, and which conditions are asked of what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from thalweg.model.first_rows import DENSE_RANK, MOST, RANK, ROW_NUMBER
from thalweg.sql.builder import unwrapped
from thalweg.sql.source import Source

RANKS = (ROW_NUMBER, RANK, DENSE_RANK)
_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
}


def over_calls(*trees: exp.Expr | None) -> Iterator[exp.Window]:
    """The calls with OVER in some trees, but for those of SELECTs within."""
    for tree in trees:
        if tree is not None:
            yield from (n for n in tree.walk(prune=_is_query) if isinstance(n, exp.Window))


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def has_over(select: exp.Expr) -> bool:
    """Whether rows of a SELECT are ranked, or chosen by what they are ranked by."""
    if not isinstance(select, exp.Select):
        return False
    return select.args.get("qualify") is not None or next(over_calls(*select.expressions), None) is not None


def conditions_of(clause: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions of WHERE or QUALIFY that must all hold."""
    pending = [] if clause is None else [clause.this]
    while pending:
        node = unwrapped(pending.pop())
        if isinstance(node, exp.And):
            pending += [node.expression, node.this]
        else:
            yield node


def bound_of(source: Source, condition: exp.Expr, is_rank: Callable[[exp.Expr], bool]) -> int | None:
    """The greatest rank that a condition lets through, where it says one: `rank <= 3`, `3 >= rank`, `rank = 1`, `rank BETWEEN 1 AND 3`."""
    if isinstance(condition, exp.Between) and is_rank(unwrapped(condition.this)):
        return _number(source, condition.args["high"])
    if type(condition) not in _FLIPPED:
        return None
    kind, left, right = type(condition), unwrapped(condition.this), unwrapped(condition.expression)
    if is_rank(right):
        kind, left, right = _FLIPPED[kind], right, left
    if not is_rank(left) or kind not in (exp.LT, exp.LTE, exp.EQ):
        return None
    number = _number(source, right)
    return None if number is None else number - (kind is exp.LT)


def says_more(condition: exp.Expr, bound: int) -> bool:
    """Whether a condition that bounds ranks leaves out some of the ranks up to its bound."""
    return isinstance(condition, exp.Between) or (isinstance(condition, exp.EQ) and bound > 1)


def _number(source: Source, node: exp.Expr) -> int | None:
    node = unwrapped(node)
    if not isinstance(node, exp.Literal) or node.is_string or not node.name.isdecimal():
        return None
    number = int(node.name)
    if number > MOST:
        raise source.at(node, f"the greatest rank is {MOST:,}", "write a smaller number")
    return number
