"""GROUPING SETS, ROLLUP and CUBE: a SELECT for each set of keys, and their UNION ALL. A key that a set has not is NULL there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import prod

from sqlglot import exp

from thalweg.sql.aggregates import is_aggregate
from thalweg.sql.builder import unwrapped
from thalweg.sql.nodes import Misparse
from thalweg.sql.source import placed, span_of

Keys = tuple[exp.Expr, ...]
KINDS = (exp.GroupingSets, exp.Rollup, exp.Cube)
MOST = 64
"""Sets of keys of one SELECT."""
_CALLS = {"GROUPING", "GROUPING_ID"}


def each_set(select: exp.Select) -> exp.Query:
    """A SELECT as the union of one for each set of keys; as it is, where there is but one."""
    group = select.args.get("group")
    items = [unwrapped(i) for i in group.expressions] if group is not None else []
    if group is None or not any(isinstance(i, KINDS) for i in items):
        return select
    plain = [i for i in items if not isinstance(i, KINDS)]
    if (count := prod(_count(i) for i in items if isinstance(i, KINDS))) > MOST:
        message = f"these are {count:,} sets of keys, and {MOST} are the most"
        raise Misparse(message, span_of(group) or (0, 1), "write the sets that are needed as GROUPING SETS")
    sets = [sum(some, ()) for some in product(*(_sets(i) for i in items if isinstance(i, KINDS)))]
    keys = tuple(dict.fromkeys(key for some in sets for key in some if key not in plain))
    parts = [_of_set(select.copy(), plain, keys, some) for some in sets]
    whole: exp.Query = parts[0]
    for part in parts[1:]:
        whole = exp.Union(this=whole, expression=part, distinct=False)
        placed(whole, select)
    return whole


def _count(item: exp.Expr) -> int:
    """How many sets one item of GROUP BY has."""
    if isinstance(item, exp.Rollup):
        return len(item.expressions) + 1
    if isinstance(item, exp.Cube):
        return 1 << len(item.expressions)
    return sum(_count(e) if isinstance(e, KINDS) else 1 for e in item.expressions)


def _sets(item: exp.Expr) -> list[Keys]:
    """The sets of keys of one item of GROUP BY."""
    parts = [_keys(e) for e in item.expressions]
    if isinstance(item, exp.Rollup):
        return [sum(parts[:n], ()) for n in range(len(parts), -1, -1)]
    if isinstance(item, exp.Cube):
        sizes = range(len(parts), -1, -1)
        return [sum(some, ()) for n in sizes for some in combinations(parts, n)]
    return [keys for e in item.expressions for keys in (_sets(e) if isinstance(e, KINDS) else [_keys(e)])]


def _keys(node: exp.Expr) -> Keys:
    node = unwrapped(node)
    return tuple(map(unwrapped, node.expressions)) if isinstance(node, exp.Tuple) else (node,)


def _of_set(select: exp.Select, plain: Sequence[exp.Expr], keys: Keys, some: Keys) -> exp.Select:
    """The SELECT of one set of keys."""
    absent = tuple(k for k in keys if k not in some)
    group = select.args["group"]
    group.set("expressions", [k.copy() for k in dict.fromkeys((*plain, *some))])
    named = {k.name.lower() for k in absent if isinstance(k, exp.Column) and not k.table}
    places = {int(k.name) for k in absent if isinstance(k, exp.Literal) and k.name.isdecimal()}
    items = [
        _item(item, absent, keys, named, n in places) for n, item in enumerate(select.expressions, start=1)
    ]
    select.set("expressions", items)
    if (having := select.args.get("having")) is not None:
        having.set("this", _without(having.this, absent, keys))
    return select


def _item(item: exp.Expr, absent: Keys, keys: Keys, named: set[str], is_absent: bool) -> exp.Expr:
    """What SELECT shows of a set that has not some keys, under the name that it has where it has them."""
    value = item.this if isinstance(item, exp.Alias) else item
    by_alias = isinstance(item, exp.Alias) and item.alias.lower() in named and not _reads(value, item.alias)
    made = _null(value) if is_absent or by_alias else _without(value, absent, keys)
    if isinstance(item, exp.Alias):
        item.set("this", made)
        return item
    name = item.name if isinstance(item, exp.Column) else ""
    return placed(exp.alias_(made, name, quoted=True), item) if made is not value and name else made


def _reads(value: exp.Expr, column: str) -> bool:
    return any(c.name.lower() == column.lower() for c in value.find_all(exp.Column))


def _without(node: exp.Expr, absent: Keys, keys: Keys) -> exp.Expr:
    """An expression in which keys that a set has not are NULL, but within aggregates; and what GROUPING says of them."""
    if isinstance(node, exp.Anonymous) and node.name.upper() in _CALLS:
        return placed(exp.Literal.number(_told(node, absent, keys)), node)
    if is_aggregate(node):
        return node
    if node in absent:
        return _null(node)
    for child in list(node.iter_expressions()):
        if (made := _without(child, absent, keys)) is not child:
            child.replace(made)
    return node


def _told(call: exp.Anonymous, absent: Keys, keys: Keys) -> int:
    """For each key a bit, the last one's the lowest: whether the set has it not."""
    asked = tuple(map(unwrapped, call.expressions)) or keys
    for key in asked:
        if key not in keys:
            raise Misparse(
                f"{call.name.upper()} is of what is in GROUPING SETS, ROLLUP or CUBE",
                span_of(key) or (0, 1),
                "name one of these keys",
            )
    return sum((key in absent) << n for n, key in enumerate(reversed(asked)))


def _null(origin: exp.Expr) -> exp.Expr:
    return placed(exp.Null(), origin)
