"""Plans and manifests as a worker process reads them: once, then from memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

import pyarrow as pa

from thalweg.compile.lifts import cells_table, lift_sql, lookup_of, set_columns
from thalweg.compile.windows import EmissionStep, WindowCrew, bundled, emission_steps, inline, window_crews
from thalweg.connectors.shared import Part
from thalweg.engine.task import Task
from thalweg.model.query import Query, QueryInput
from thalweg.plan.core import core
from thalweg.plan.graph import cut_anew
from thalweg.plan.grid import Split
from thalweg.plan.instants import times
from thalweg.plan.levels import last_stage, last_uses, part_of
from thalweg.plan.nodes import Emission, Fragment, Join, Plan
from thalweg.plan.pool import numbered, shown_columns
from thalweg.plan.shape import Shape, shape_of
from thalweg.state.history import manifest_at
from thalweg.state.manifest import Manifest
from thalweg.state.plans import known_plan, plan_at


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
    """A plan with its SQL.

    lifts: by fragment. emissions: by their number in the plan. inlined: derived nodes that are computed inside a result. bundles: which
    emissions run in one statement with others; readers: the same by the node that they compute. lifted: the fragments of a stream; sets:
    the query-sets that they need of each row. parts: of the rows of a pool's join, what each query takes. crews: which aggregates over
    joins are finished in one statement; finished: those that are by themselves. window_crews: the same for windows. cells: by stream, the
    tables in which rows find their cells. united: by stream, the unions that its rows become part of, each with how.
    """

    plan: Plan
    lifts: dict[str, str]
    emissions: dict[int, EmissionStep]
    inlined: frozenset[str]
    bundles: dict[int, tuple[str, str]]
    readers: dict[str, tuple[str, str]]
    joins: tuple[Shape, ...]
    lifted: dict[str, list[Fragment]]
    sets: dict[str, str]
    parts: dict[str, dict[str, Part]]
    crews: tuple[Crew, ...]
    window_crews: tuple[tuple[WindowCrew, dict[str, Part]], ...]
    finished: tuple[str, ...]
    cells: dict[str, dict[str, pa.Table]]
    united: dict[str, list[tuple[str, QueryInput]]]

    @cached_property
    def last(self) -> int:
        """The exchanges that come after the first: by the groups of joins, and for what reads the results of others."""
        return last_stage(self.plan)

    @cached_property
    def last_uses(self) -> dict[str, int]:
        """The last level on which each node is read."""
        return last_uses(self.plan)


@lru_cache(maxsize=8)
def compiled(path: str) -> Compiled:
    """The plan in a file. Plan files are never rewritten with other content under the same name."""
    return compile_plan(plan_at(Path(path)))


@lru_cache(maxsize=32)
def compiled_at(path: str, level: int) -> Compiled:
    """What of the plan in a file is computed on a level."""
    whole = compiled(path)
    return compile_plan(part_of(whole.plan, level)) if whole.plan.nested else whole


def compile_plan(plan: Plan) -> Compiled:
    """All that is needed to run a plan."""
    inlined = inline(plan)
    bundles = bundled(plan, inlined)
    lifted: dict[str, list[Fragment]] = {}
    for fragment in plan.fragments:
        if not fragment.static:
            lifted.setdefault(fragment.source, []).append(fragment)
    crews = _crews(plan)
    crewed = {e.query for c in crews for e in c.emissions}
    return Compiled(
        plan=plan,
        crews=crews,
        window_crews=tuple((c, _numbered_parts(plan, c)) for c in window_crews(plan)),
        finished=tuple(n for n in plan.alike if plan.query(n).every is not None and n not in crewed),
        lifts={f.id: lift_sql(f, with_sets=f.static) for f in plan.fragments},
        sets={stream: ", ".join(set_columns(fragments)) for stream, fragments in lifted.items()},
        parts={j.id: _parts(plan, j) for j in plan.joins if j.pool and j.asked.every is None},
        emissions=emission_steps(plan),
        inlined=inlined,
        bundles=bundles,
        readers={plan.emissions[i].nodes[0]: bundle for i, bundle in bundles.items()},
        joins=tuple(shape_of(plan, j) for j in plan.joins),
        lifted=lifted,
        cells={
            stream: {cells_table(f): lookup_of(f).table for f in fragments if f.celled}
            for stream, fragments in lifted.items()
        },
        united=_united(plan),
    )


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
