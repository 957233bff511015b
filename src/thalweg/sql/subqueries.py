"""EXISTS and IN over a SELECT, as conditions of WHERE: each becomes the semi join, or with NOT EXISTS the anti join, that says the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sqlglot import exp

from thalweg.sql.builder import is_star, unwrapped
from thalweg.sql.inputs import Known
from thalweg.sql.refusals import refuse_clauses
from thalweg.sql.source import Source, placed

_INSIDE = frozenset({"expressions", "from_", "where", "distinct"})
OUTSIDE = "outside"
"""Says of a column that it is none of what conditions alone know."""
_PLACE = "write it as a condition of its own in WHERE, beside others with AND"


def has_subqueries(select: exp.Select) -> bool:
    """Whether there is EXISTS, or IN over a SELECT, in WHERE."""
    where = select.args.get("where")
    return where is not None and next(_asking(where), None) is not None


def with_semi_joins(
    source: Source, select: exp.Select, known: Known, named: Mapping[str, object]
) -> exp.Select:
    """A SELECT whose conditions on other SELECTs are joins; the tree that is given is changed."""
    where = select.args.get("where")
    if where is None or not has_subqueries(select):
        return select
    rest: list[exp.Expr] = []
    for condition in _conjuncts(where.this):
        found = _semi_join(source, select, condition, known, named)
        if found is not None:
            select.append("joins", found)
            continue
        for node in _asking(condition):
            what = "EXISTS" if isinstance(node, exp.Exists) else "IN over a SELECT"
            raise source.at(node, f"{what} within another condition is not supported", _PLACE)
        rest.append(condition)
    whole = next(iter(rest), None)
    for condition in rest[1:]:
        whole = exp.And(this=whole, expression=condition)
    select.set("where", None if whole is None else exp.Where(this=whole))
    return select


def _asking(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions on other SELECTs in a tree, but for those within these."""
    for node in tree.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query")):
            yield node


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    tree = unwrapped(tree)
    if isinstance(tree, exp.And):
        yield from _conjuncts(tree.this)
        yield from _conjuncts(tree.expression)
    else:
        yield tree


def _semi_join(
    source: Source, select: exp.Select, condition: exp.Expr, known: Known, named: Mapping[str, object]
) -> exp.Join | None:
    """The join that a condition is; None where it is another one."""
    negated = isinstance(condition, exp.Not)
    node = unwrapped(condition.this) if negated else condition
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        if negated:
            hint = "write NOT EXISTS (SELECT 1 FROM ... WHERE ...): with a NULL in what is read NOT IN is never true"
            raise source.at(node, "NOT IN over a SELECT is not supported", hint)
        inner = _inner(source, select, unwrapped(node.args["query"]), known, named)
        (item,) = inner.items(source, 1)
        equal = placed(exp.EQ(this=node.this.copy(), expression=item), node)
        return _join("SEMI", inner, [equal, *inner.conditions], node)
    if isinstance(node, exp.Exists):
        inner = _inner(source, select, unwrapped(node.this), known, named)
        return _join("ANTI" if negated else "SEMI", inner, inner.conditions, node)
    return None


class _Inner:
    """A SELECT within a condition, its columns qualified by the name of what it reads."""

    def __init__(self, node: exp.Select, table: exp.Expr) -> None:
        self.node, self.table = node, table

    @property
    def conditions(self) -> list[exp.Expr]:
        """Its WHERE."""
        where = self.node.args.get("where")
        return [] if where is None else [where.this]

    def items(self, source: Source, count: int) -> list[exp.Expr]:
        """What it selects: so many expressions."""
        found = [e.this if isinstance(e, exp.Alias) else e for e in self.node.expressions]
        if len(found) != count or any(is_star(e) for e in found):
            raise source.at(
                self.node, "IN takes a SELECT of one expression", "name the column to compare with"
            )
        return found


def _inner(
    source: Source, select: exp.Select, query: exp.Expr, known: Known, named: Mapping[str, object]
) -> _Inner:
    """A plain SELECT of one stream or table, under a name that the outer SELECT has not."""
    if isinstance(query, exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        raise source.at(query, f"{query.key.upper()} in a condition is not supported", "write a plain SELECT")
    query = query.copy()
    if query.args.get("joins"):
        hint = "read one stream or table there, or a subquery: FROM (SELECT ...) AS y [RANGE 1 HOUR]"
        raise source.at(query.args["joins"][0], "a join in EXISTS or IN is not supported", hint)
    refuse_clauses(source, query, _INSIDE)
    from_ = query.args.get("from_")
    if from_ is None:
        raise source.at(query, "the SELECT has no FROM", "name the stream after FROM")
    table = from_.this
    own, columns = table.alias_or_name or "subquery", _columns(source, table, known, named)
    name = _free(own, (t.alias_or_name for t in _read(select)))
    for column in [c for tree in _trees(query) for c in tree.find_all(exp.Column)]:
        qualifier = column.table.lower()
        if qualifier == own.lower() or (
            not qualifier and (columns is None or column.name.lower() in columns)
        ):
            column.set("table", exp.to_identifier(name, quoted=True))
    if name != table.alias_or_name:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
    return _Inner(query, table)


def _trees(query: exp.Select) -> Iterator[exp.Expr]:
    yield from query.expressions
    if query.args.get("where") is not None:
        yield query.args["where"]


def _columns(
    source: Source, table: exp.Expr, known: Known, named: Mapping[str, object]
) -> frozenset[str] | None:
    """The columns of what is read; None where all without a qualifier are taken to be its own."""
    if not isinstance(table, exp.Table) or table.name.lower() in named or table.args.get("windowing"):
        return None
    return frozenset(c.name.lower() for c in known.either(source, table).columns)


def _read(select: exp.Select) -> Iterator[exp.Expr]:
    yield select.args["from_"].this
    yield from (j.this for j in select.args.get("joins") or ())


def _free(name: str, taken: Iterable[str]) -> str:
    """The name, or one like it that is not taken."""
    names, number, found = {t.lower() for t in taken}, 1, name
    while found.lower() in names:
        number += 1
        found = f"{name}_{number}"
    return found


def _join(kind: str, inner: _Inner, conditions: list[exp.Expr], origin: exp.Expr) -> exp.Join:
    """A join on conditions, whose columns without a qualifier are those of the outer SELECT."""
    for column in (c for condition in conditions for c in condition.find_all(exp.Column)):
        column.meta[OUTSIDE] = not column.table
    whole: exp.Expr = conditions[0] if conditions else placed(exp.true(), origin)
    for condition in conditions[1:]:
        whole = exp.And(this=whole, expression=condition)
    return placed(exp.Join(this=inner.table, side="LEFT", kind=kind, on=whole), origin)  # type: ignore[return-value]
