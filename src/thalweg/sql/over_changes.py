"""Groups of what other groups show as it changes: a row that holds no more is taken back from the aggregates that it was counted in.

The inner query gives each change as the row that holds no more, with TAKEN_BACK true, and the one that holds now. Aggregates from which
a value can be taken back exactly become sums over both; a group is there while it has more rows than were taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from thalweg.expr.nodes import Call, Case, Cast, Column, Expr, Literal
from thalweg.expr.normal import all_of
from thalweg.expr.types import is_integer
from thalweg.expr.typing import Typing
from thalweg.model.aggregates import AGGREGATES, ALL_ROWS
from thalweg.model.query import TAKEN_BACK, Aggregate, ColumnRef, Query, QueryAggregate
from thalweg.sql.aggregates import aggregate_type, groups_rows
from thalweg.sql.inner_windows import has_window
from thalweg.sql.nested_scope import Part
from thalweg.sql.over import has_over
from thalweg.sql.source import Source

_TAKEN, _ZERO = Column(TAKEN_BACK, "BOOLEAN"), Literal("0", "INTEGER")
_KEPT = Call("NOT", (_TAKEN,), "BOOLEAN")


def may_change(query: Query) -> bool:
    """Whether changes of a query can be read by another: those of groups, or first rows, that are remembered for ever."""
    return query.accumulates and query.forgets is None


def check_reading(source: Source, select: exp.Select, parts: Sequence[Part]) -> None:
    """Refuse to read changes but for groups of one inner query without a window."""
    for part in parts:
        if part.inner is None or not part.inner.query.takes_back:
            continue
        alone = len(parts) == 1 and part.node.args.get("window") is None
        if not (alone and groups_rows(select)) or has_window(select) or has_over(select):
            hint = "give what is read a window, without EMIT CHANGES, or group it without one"
            raise source.at(
                part.node, "a query over changes is not supported but for groups of them alone", hint
            )


def check_call(source: Source, node: exp.Expr, call: Aggregate) -> None:
    """Refuse an aggregate from which a value can't be taken back exactly."""
    function = AGGREGATES[call.function]
    if function.counts:
        return
    if function.total is None:
        hint = "use COUNT, SUM or AVG, or give what is read a window, without EMIT CHANGES"
        raise source.at(node, f"{source.written(node)} of results that change is not supported", hint)
    if call.args[0].type in ("FLOAT", "DOUBLE"):
        hint = "CAST the argument to a DECIMAL, from which values can be taken back exactly"
        raise source.at(node, f"{source.written(node)} of results that change would not be exact", hint)


def over_changes(query: Query, typing: Typing) -> Query:
    """A query whose input is changes, over the rows that hold and those that hold no more."""
    made = _Sums(typing)
    given = {f"a{n}": made.of(a.call) for n, a in enumerate(query.aggregates)}
    there = Call(">", (made.count(ALL_ROWS), _ZERO), "BOOLEAN")
    having = there if query.having is None else all_of((there, query.having.substituted(given)))
    return replace(
        query,
        aggregates=tuple(made.aggregates),
        outputs=tuple(replace(o, expr=o.expr.substituted(given)) for o in query.outputs),
        having=having,
    )


@dataclass
class _Sums:
    """The aggregates that stand for others, each once."""

    typing: Typing
    aggregates: list[QueryAggregate] = field(default_factory=list)

    def of(self, call: Aggregate) -> Expr:
        """What an aggregate of the rows that hold is."""
        function = AGGREGATES[call.function]
        if function.total is None:
            return self.count(call)
        value = call.args[0]
        whole = is_integer(value.type)
        value = Cast(value, "DECIMAL(19,0)") if whole else value
        back = Call("NEGATE", (value,), value.type)
        total = self._add(
            replace(call, function=function.total, args=(Case(((_TAKEN, back),), value.type, value),))
        )
        counted = self.count(Aggregate("COUNT", call.args, call.where))
        type_ = "DOUBLE" if function.is_mean else "BIGINT" if whole else total.type
        mean = Call("/", (Cast(total, "DOUBLE"), counted), "DOUBLE")
        result = mean if function.is_mean else Cast(total, type_)
        return Case(((Call(">", (counted, _ZERO), "BOOLEAN"), result),), type_)

    def count(self, call: Aggregate) -> Expr:
        """How many of the rows hold: those that came less those that were taken back."""
        come, gone = (
            self._add(replace(call, where=side if call.where is None else all_of((call.where, side))))
            for side in (_KEPT, _TAKEN)
        )
        return Call("-", (come, gone), "BIGINT")

    def _add(self, call: Aggregate) -> Column:
        names = sorted({n for e in call.exprs for n in e.columns})
        types = {c.name: c.type for e in call.exprs for c in e.walk() if isinstance(c, Column)}
        made = QueryAggregate(call, 0, tuple(ColumnRef(0, n, types[n]) for n in names))
        if made not in self.aggregates:
            self.aggregates.append(made)
        return Column(f"a{self.aggregates.index(made)}", aggregate_type(call, self.typing))
