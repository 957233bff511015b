"""Joined rows where some inputs need no partner: which rows come out in a batch, by their numbers.

Rows that have met come out as in other joins. Those without a partner come out once none can come any more: when the frontiers of the
others have reached the end of their window, and what these kept has none. A row of SEMI comes out with its first partner. Tables are
attached to all that, whenever it comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thalweg.compile.inputs import ALL, OLD, Sizes, joined, turns
from thalweg.compile.join_tree import Clause, View, attached
from thalweg.compile.row_views import row_view, together
from thalweg.compile.views import conditions, narrow_columns
from thalweg.model.attaching import (
    hidden_inputs,
    inner_inputs,
    inner_streams,
    met_stream,
)
from thalweg.model.nesting import frontier_of
from thalweg.model.query import FULL, LEFT, SEMI, TUMBLE, Attached
from thalweg.plan.arithmetic import floor_div
from thalweg.plan.ranges import Frontiers
from thalweg.plan.shape import Shape


def attached_rows(
    shape: Shape,
    fresh: Sequence[int],
    sizes: Sizes,
    waited: tuple[Frontiers, Frontiers],
    at_once: bool,
) -> str:
    """A statement for the numbers of the rows that come out, NULL where there is none of an input; nothing where none can come out."""
    batch = _Batch(shape, tuple(fresh), sizes, waited, at_once)
    parts = list(batch.parts())
    if not parts:
        return ""
    whole = "\nUNION ALL ".join(parts)
    tree = f"({whole})"
    for one in shape.query.attached:
        if one != met_stream(shape.query):
            tree = attached(tree, one.kind.upper(), batch.view(one.input, ALL), conditions(shape, one))
    hidden = hidden_inputs(shape.query)
    rows = [f'"{n}.row"' for n in range(len(shape.sides)) if n not in hidden]
    return f"SELECT {', '.join(rows)} FROM {tree}"


@dataclass(frozen=True)
class _Batch:
    """What a batch brings to a join."""

    shape: Shape
    fresh: tuple[int, ...]
    sizes: Sizes
    waited: tuple[Frontiers, Frontiers]
    at_once: bool

    def parts(self) -> Iterator[str]:
        """Rows that come out for one reason each, all with the same columns."""
        one, inner = met_stream(self.shape.query), inner_inputs(self.shape.query)
        if one is None:
            yield from self._met(inner, [*conditions(self.shape), *self._near(inner)], self._columns(inner))
            return
        if one.kind in (LEFT, FULL):
            both = (*inner, one.input)
            yield from self._met(both, self._partners(one), self._columns(both))
        if one.kind == SEMI:
            yield from self._first(inner, one)
        else:
            yield from self._alone(inner, (one.input,), one)
        if one.kind == FULL:
            yield from self._alone((one.input,), inner, one)

    def view(self, number: int, which: str) -> View:
        """What rows of an input are found by."""
        return row_view(self.shape, number, which, self.sizes, True)

    def _columns(self, there: Sequence[int]) -> list[str]:
        """The numbers of rows and what tables are found by; NULL of inputs that are not there."""
        found, one = [], met_stream(self.shape.query)
        hidden = hidden_inputs(self.shape.query)
        for n in (*inner_inputs(self.shape.query), *(() if one is None else (one.input,))):
            if n not in hidden:
                types = {f'"{n}.row"': "INTEGER"} | {
                    name: type_ for name, (_, type_) in narrow_columns(self.shape, n).items()
                }
                found += [name if n in there else f"NULL::{type_} AS {name}" for name, type_ in types.items()]
        return found

    def _partners(self, one: Attached) -> list[Clause]:
        """All that makes rows of the inner inputs and of one that is attached partners."""
        inputs = (*inner_inputs(self.shape.query), one.input)
        return [*conditions(self.shape), *conditions(self.shape, one), *self._near(inputs)]

    def _near(self, inputs: Sequence[int]) -> list[Clause]:
        """That some inputs are in each other's windows."""
        return [c for c in together(self.shape) if c.inputs <= {*inputs}]

    def _met(self, inputs: Sequence[int], wanted: Sequence[Clause], columns: Sequence[str]) -> Iterator[str]:
        """The combinations that have at least one new row."""
        if not self.fresh:
            return
        some = [n for n in self.shape.streams if n in inputs]
        if self.at_once:
            new = Clause(f"({_any_new(some)})", frozenset(some))
            yield self._joined(inputs, [ALL] * len(self.shape.sides), None, [*wanted, new], columns)
            return
        for fresh, turn in turns(self.shape, self.fresh).items():
            if fresh in inputs:
                yield self._joined(inputs, turn, fresh, wanted, columns)

    def _joined(
        self,
        inputs: Sequence[int],
        turn: Sequence[str],
        fresh: int | None,
        wanted: Sequence[Clause],
        columns: Sequence[str],
    ) -> str:
        views = [self.view(n, which) for n, which in enumerate(turn)]
        order = [n for n in self.shape.order(fresh) if n in inputs]
        return joined(columns, views, wanted, order)

    def _alone(self, mine: Sequence[int], others: Sequence[int], one: Attached) -> Iterator[str]:
        """Rows of which it is known since this batch that no partner comes."""
        streams = [n for n in mine if n in self.shape.streams]
        named = [self.shape.query.inputs[n].source for n in others if n in self.shape.streams]
        before, after = (frontier_of(named, f) for f in self.waited)
        if after is None or (before == after and not {*streams} & {*self.fresh}):
            return
        ends = ", ".join(end for n in streams if (end := self._end(n)))
        last = f"least({ends})"
        bounds = [f"{last} <= {after}"]
        bounds += [] if before is None else [f"({last} > {before} OR {_any_new(streams)})"]
        wanted = [*self._inside(mine), *(Clause(b, frozenset(streams)) for b in bounds)]
        waiting = self._joined(mine, [ALL] * len(self.shape.sides), None, wanted, ["*"])
        partners = self._joined(others, [ALL] * len(self.shape.sides), None, self._inside(others), ["*"])
        crossing = [c for c in self._near((*mine, *others)) if c.inputs & {*mine} and c.inputs & {*others}]
        on = [*conditions(self.shape, one), *crossing]
        yield f"SELECT {', '.join(self._columns(mine))} FROM {attached(f'({waiting})', 'ANTI', View(partners, 0), on)}"

    def _inside(self, inputs: Sequence[int]) -> list[Clause]:
        return [*conditions(self.shape), *self._near(inputs)] if len(inputs) > 1 else []

    def _end(self, number: int) -> str:
        """When a row leaves its window; nothing where it never does."""
        given, slot = self.shape.query.inputs[number], f'"{number}.slot"'
        if given.length is None:
            return ""
        if given.kind == TUMBLE:
            return f"({floor_div(slot, given.length)} + 1) * {given.length}"
        return f"{slot} + {given.length}"

    def _first(self, inner: Sequence[int], one: Attached) -> Iterator[str]:
        """Rows that have a partner since this batch, and had none before."""
        streams = inner_streams(self.shape.query)
        columns = [*self._columns(inner), *(f'"{n}.{c}"' for n in streams for c in ("slot", "new"))]
        met = list(self._met((*inner, one.input), self._partners(one), columns))
        if not met:
            return
        found = f"(SELECT DISTINCT * FROM ({' UNION ALL '.join(met)}))"
        crossing = [c for c in self._near((*inner, one.input)) if one.input in c.inputs]
        on = [
            Clause(f"NOT ({_any_new(streams)})", frozenset(streams)),
            *conditions(self.shape, one),
            *crossing,
        ]
        tree = attached(found, "ANTI", self.view(one.input, OLD), on)
        yield f"SELECT {', '.join(self._columns(inner))} FROM {tree}"


def _any_new(streams: Sequence[int]) -> str:
    return " OR ".join(f'"{n}.new"' for n in streams)
