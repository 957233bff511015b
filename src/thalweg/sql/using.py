"""JOIN ... USING: columns that are equated, and are one column from there on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from thalweg.model.query import ColumnRef
from thalweg.sql.inputs import Input
from thalweg.sql.source import Source, placed, span_of, suggestion


@dataclass(frozen=True)
class Using:
    """What the USING clauses of a query say.

    `same` gives the column that stands for one that was merged into it; `star` are the columns of `SELECT *`, as Spark
    orders them: those of USING first, each once.
    """

    conditions: tuple[tuple[exp.Join, exp.Expr], ...] = ()
    same: Mapping[ColumnRef, ColumnRef] = field(default_factory=dict)
    star: tuple[ColumnRef, ...] = ()


def bind_using(
    source: Source, select: exp.Select, inputs: tuple[Input, ...], hidden: frozenset[int] = frozenset()
) -> Using:
    """The columns that USING merges; of `hidden` inputs nothing is shown."""
    conditions: list[tuple[exp.Join, exp.Expr]] = []
    same: dict[ColumnRef, ColumnRef] = {}
    star: list[ColumnRef] = []
    visible = _columns(inputs, 0)
    for index, join in enumerate(select.args.get("joins") or [], 1):
        own = _columns(inputs, index)
        if _is_comma(source, join):
            star, visible = star + visible, []
        names = join.args.get("using") or []
        pairs = [(_left(source, inputs, visible, n), _right(source, inputs[index], own, n)) for n in names]
        conditions += [(join, _equation(inputs, *pair, n)) for pair, n in zip(pairs, names, strict=True)]
        same |= {right: left for left, right in pairs}
        merged = list(dict.fromkeys(left for left, _ in pairs))
        own = [] if index in hidden else own
        visible = merged + [c for c in visible + own if c not in merged and c not in same]
    return Using(tuple(conditions), same, tuple(star + visible))


def _columns(inputs: tuple[Input, ...], index: int) -> list[ColumnRef]:
    return [ColumnRef(index, c.name, c.type) for c in inputs[index].origin.columns]


def _is_comma(source: Source, join: exp.Expr) -> bool:
    """Whether an input follows a comma, so that USING doesn't see what stands before it."""
    span = span_of(join)
    return span is not None and source.text[span[0]] == ","


def _left(source: Source, inputs: tuple[Input, ...], visible: list[ColumnRef], name: exp.Expr) -> ColumnRef:
    found = [c for c in visible if c.name.lower() == name.name.lower()]
    if not found:
        known = suggestion(name.name, dict.fromkeys(c.name for c in visible), "columns there are")
        raise source.at(name, f"column {name.name} of USING is not on the left of the join", known)
    if len(found) > 1:
        raise source.at(
            name,
            f"column {name.name} is in {_listed(inputs, found)}",
            "write ON with the column that you mean",
        )
    return found[0]


def _right(source: Source, joined: Input, own: list[ColumnRef], name: exp.Expr) -> ColumnRef:
    found = next((c for c in own if c.name.lower() == name.name.lower()), None)
    if found is None:
        hint = suggestion(name.name, [c.name for c in own], f"columns of {joined.alias} are")
        raise source.at(name, f"column {name.name} of USING is not in {joined.alias}", hint)
    return found


def _listed(inputs: tuple[Input, ...], columns: list[ColumnRef]) -> str:
    return " and ".join(inputs[c.input].alias for c in columns)


def _equation(inputs: tuple[Input, ...], left: ColumnRef, right: ColumnRef, origin: exp.Expr) -> exp.Expr:
    sides = (
        placed(exp.column(c.name, table=inputs[c.input].alias, quoted=True), origin) for c in (left, right)
    )
    return placed(exp.EQ(this=next(sides), expression=next(sides)), origin)
