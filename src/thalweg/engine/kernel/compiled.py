"""Plans and manifests as a worker process reads them: once, then from memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from thalweg.compile.lifts import cells_table, lift_sql, lookup_of, set_columns
from thalweg.compile.roll_up import roll_up_sql
from thalweg.compile.windows import EmissionStep, WindowCrew, bundled, emission_steps, inline, window_crews
from thalweg.connectors.shared import Part
from thalweg.engine.task import Task
from thalweg.model.query import Query, QueryInput
from thalweg.once import cached_property
from thalweg.plan.core import core
from thalweg.plan.graph import cut_anew
from thalweg.plan.grid import Split
from thalweg.plan.instants import times
from thalweg.plan.levels import last_uses, part_of
from thalweg.plan.nodes import Emission, Fragment, Join, Plan
from thalweg.plan.pool import numbered, shown_columns
from thalweg.plan.shape import Shape, shapes_of
from thalweg.state.history import manifest_at
from thalweg.state.manifest import Manifest
from thalweg.state.plans import known_plan


@dataclass(frozen=True)
class Crew:
    """Members of a pool that make the same of its groups, each with other rows, at every `nth` of its instants: their results are one
    statement."""

    join: str
    nth: int
    emissions: tuple[Emission, ...]
    parts: dict[str, Part]


@dataclass(frozen=True)
class Compiled:
    """A plan with its SQL, each part of which is made when it is first needed."""

    plan: Plan

    @cached_property
    def last_uses(self) -> dict[str, int]:
        """The last level on which each node is read."""
        return last_uses(self.plan)

    @cached_property
    def lifts(self) -> dict[str, str]:
        """By fragment, what makes it of rows, or of what others are made of them."""
        return {
            f.id: roll_up_sql(self.rolled[f.id], f)
            if f.id in self.rolled
            else lift_sql(f, with_sets=f.static)
            for f in self.plan.fragments
        }

    @cached_property
    def rolled(self) -> dict[str, Fragment]:
        """What fragments are made of that are not made of rows; a part of a plan may have one without it."""
        fine = {f.id: f for f in self.plan.fragments}
        return {f.id: fine[f.rolled] for f in self.plan.fragments if f.rolled in fine}

    @cached_property
    def rolled_from(self) -> frozenset[str]:
        """The fragments that others are made of."""
        return frozenset(f.id for f in self.rolled.values())

    @cached_property
    def emissions(self) -> dict[int, EmissionStep]:
        """What is emitted, by the number of the emission in the plan."""
        return emission_steps(self.plan)

    @cached_property
    def inlined(self) -> frozenset[str]:
        """Derived nodes that are computed inside a result."""
        return inline(self.plan)

    @cached_property
    def bundles(self) -> dict[int, tuple[str, str]]:
        """Which emissions run in one statement with others."""
        return bundled(self.plan, self.inlined)

    @cached_property
    def readers(self) -> dict[str, tuple[str, str]]:
        """The same by the node that they compute."""
        return {self.plan.emissions[i].nodes[0]: bundle for i, bundle in self.bundles.items()}

    @cached_property
    def joins(self) -> tuple[Shape, ...]:
        """The joins with their fragments."""
        return tuple(shapes_of(self.plan).values())

    @cached_property
    def lifted(self) -> dict[str, list[Fragment]]:
        """The fragments of a stream, each after the one that it is made of."""
        found: dict[str, list[Fragment]] = {}
        for fragment in sorted(self.plan.fragments, key=lambda f: (f.id in self.rolled, -len(f.columns))):
            if not fragment.static:
                found.setdefault(fragment.source, []).append(fragment)
        return found

    def sets(self, stream: str) -> str:
        """The query-sets that the fragments of a stream need of each row: a task may read one stream of many."""
        if stream not in self._sets:
            self._sets[stream] = ", ".join(set_columns(self.lifted.get(stream, ())))
        return self._sets[stream]

    @cached_property
    def _sets(self) -> dict[str, str]:
        return {}

    @cached_property
    def parts(self) -> dict[str, dict[str, Part]]:
        """Of the rows of a pool's join, what each query takes."""
        return {j.id: _parts(self.plan, j) for j in self.plan.joins if j.pool and j.asked.every is None}

    @cached_property
    def crews(self) -> tuple[Crew, ...]:
        """Which aggregates over joins are finished in one statement."""
        return _crews(self.plan)

    @cached_property
    def finished(self) -> tuple[str, ...]:
        """Those that are by themselves."""
        crewed = {e.query for c in self.crews for e in c.emissions}
        return tuple(n for n in self.plan.alike if self.plan.query(n).every is not None and n not in crewed)

    @cached_property
    def window_crews(self) -> tuple[tuple[WindowCrew, dict[str, Part]], ...]:
        """The same for windows."""
        return tuple((c, _numbered_parts(self.plan, c)) for c in window_crews(self.plan))

    @cached_property
    def cells(self) -> dict[str, dict[str, pa.Table]]:
        """By stream, the tables in which rows find their cells."""
        return {
            stream: {cells_table(f): lookup_of(f).table for f in fragments if f.celled}
            for stream, fragments in self.lifted.items()
        }

    @cached_property
    def united(self) -> dict[str, list[tuple[str, QueryInput]]]:
        """By stream, the unions that its rows become part of, each with how."""
        return _united(self.plan)


@lru_cache(maxsize=8)
def compiled(path: str) -> Compiled:
    """The plan in a file. Plan files are never rewritten with other content under the same name."""
    return Compiled(known_plan(Path(path)))


@lru_cache(maxsize=32)
def compiled_at(path: str, level: int) -> Compiled:
    """What of the plan in a file is computed on a level."""
    whole = compiled(path)
    return Compiled(part_of(whole.plan, level)) if whole.plan.nested else whole


def _united(plan: Plan) -> dict[str, list[tuple[str, QueryInput]]]:
    found: dict[str, list[tuple[str, QueryInput]]] = {}
    for union in (q for q in plan.asked if q.unites):
        for part in union.inputs:
            found.setdefault(part.source, []).append((union.name, part))
    return found


def _crews(plan: Plan) -> tuple[Crew, ...]:
    """The members of pools that have no other plan beside, by what they make of the groups. Only EMIT CHANGES is each by itself."""
    found: dict[tuple[str, int, object], list[Emission]] = {}
    for query in plan.queries:
        given = plan.given_to(query.name)
        if query.every is not None and not query.changes and len(given) == 1 and given[0].bit is not None:
            made = (core(query).aggregates, numbered(query).outputs, query.having)
            join = plan.join(given[0].nodes[0])
            found.setdefault((join.id, times(query, join.asked), made), []).append(given[0])
    return tuple(
        Crew(join, nth, tuple(some), {e.query: _whole(plan, e) for e in some})
        for (join, nth, _), some in found.items()
    )


def _whole(plan: Plan, emission: Emission) -> Part:
    return Part(emission.bit or 0, _shown(plan.query(emission.query)))


def _numbered_parts(plan: Plan, crew: WindowCrew) -> dict[str, Part]:
    """What each query of a crew takes: the rows of its number."""
    names = dict.fromkeys(plan.emissions[i].query for i in crew.emissions)
    return {name: Part(number, _shown(plan.query(name))) for number, name in enumerate(names)}


def _shown(query: Query) -> dict[str, str]:
    return {o.name: f"o{n}" for n, o in enumerate(query.outputs)}


def _parts(plan: Plan, join: Join) -> dict[str, Part]:
    found = {e.query: e.bit or 0 for e in plan.users(join.id)}
    return {query: Part(bit, shown_columns(join.asked, plan.query(query))) for query, bit in found.items()}


@dataclass(frozen=True)
class Recut:
    """What is to be cut anew, and which values were split before, by id."""

    ids: frozenset[str] = frozenset()
    splits: Mapping[str, Split] = field(default_factory=dict)


def recut(task: Task, before: Manifest) -> Recut:
    """How the plan of a batch spreads rows in another way than that of the batch before."""
    return _recut(str(Path(task.plan).with_name(before.plan)) if before.plan else "", task.plan)


@lru_cache(maxsize=8)
def _recut(before: str, now: str) -> Recut:
    plan = compiled(now).plan
    old = Plan() if not before else plan if before == now else known_plan(Path(before))
    return Recut(cut_anew(old, plan), {f.id: f.split for f in old.fragments if f.split is not None})


def manifest(task: Task) -> Manifest:
    """The manifest that a batch starts from, with what the batch adopts."""
    found = Manifest() if task.manifest is None else manifest_at(Path(task.manifest))
    return replace(found, files=(*found.files, *task.adopted)) if task.adopted else found
