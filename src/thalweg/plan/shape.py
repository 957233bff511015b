"""A join of a plan with the fragments that it reads: all that its SQL and its arithmetic depend on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from thalweg.model.query import Query
from thalweg.once import once
from thalweg.plan.join_order import inputs_met
from thalweg.plan.nodes import COUNTED, Fragment, Join, Plan
from thalweg.plan.sides import JoinPart, join_parts


@dataclass(frozen=True)
class Shape:
    """A join with its inputs. `step` is the distance of instants in slots, `span` the length of a window."""

    join: Join
    sides: tuple[Fragment, ...]

    @property
    def query(self) -> Query:
        """What is joined."""
        return self.join.asked

    @property
    def step(self) -> int:
        """Slots from one instant to the next."""
        return (self.query.every or self.slot) // self.slot

    def span(self, number: int) -> int | None:
        """Slots of an input's window; None where it has no end."""
        length = self.query.inputs[number].length
        return None if length is None else length // self.slot

    @property
    def slot(self) -> int:
        """Microseconds of a slot; one where no window says more."""
        return self.query.slot or 1

    @property
    def streams(self) -> tuple[int, ...]:
        """The inputs that are streams."""
        return tuple(n for n, s in enumerate(self.sides) if not s.static)

    @property
    def parts(self) -> tuple[JoinPart, ...]:
        """What results are lowered from."""
        return join_parts(self.query)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the grouping keys."""
        return tuple(f'"k{i}"' for i in range(len(self.query.keys)))

    @property
    def groups(self) -> tuple[str, ...]:
        """The keys that results are grouped by: those of a pool without the query-set."""
        return self.keys[:-1] if self.join.pool else self.keys

    def order(self, fresh: int | None) -> tuple[int, ...]:
        """The inputs in the order in which they meet, where one has new rows or all bring what they have."""
        return inputs_met(self.join.order, fresh, len(self.sides))

    def visible(self, number: int) -> str:
        """Which rows of an input count at all: those from its beginning on."""
        begin = self.join.begins[number]
        if begin is None or self.sides[number].static or self.sides[number].begin is not None:
            return "TRUE"
        return f'"slot" >= {-(-begin // self.sides[number].slot)}'


def shape_of(plan: Plan, join: Join) -> Shape:
    """A join with its fragments, of which it reads the parts that it needs: other queries may have added some later."""
    parts = join_parts(join.asked)
    return Shape(
        join, tuple(_with_parts(_own(plan.fragment(s), join), parts, n) for n, s in enumerate(join.sides))
    )


@once
def shapes_of(plan: Plan) -> dict[str, Shape]:
    """All joins of a plan with their fragments, by their ids."""
    return {j.id: shape_of(plan, j) for j in plan.joins}


def _own(side: Fragment, join: Join) -> Fragment:
    """A side as the pool of a join sees it: of a commons' rows, what its own members take."""
    return replace(side, sets=join.room.own(side.sets)) if join.room is not None and side.common else side


def _with_parts(side: Fragment, parts: Iterable[JoinPart], number: int) -> Fragment:
    own = {p.column.name: p.column for p in parts if p.input == number}
    return replace(side, parts=tuple({**own, **({COUNTED.name: COUNTED} if side.early else {})}.values()))
