"""Plans and manifests as a worker process reads them: once, then from memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from thalweg.compile.lifts import lift_sql, set_columns
from thalweg.compile.windows import EmissionStep, bundled, emission_steps, inline
from thalweg.connectors.shared import Part
from thalweg.plan.nodes import Fragment, Join, Plan
from thalweg.plan.pool import shown_columns
from thalweg.plan.shape import Shape, shape_of
from thalweg.state.history import manifest_at
from thalweg.state.manifest import Manifest
from thalweg.state.plans import plan_at


@dataclass(frozen=True)
class Compiled:
    """A plan with its SQL.

    lifts: by fragment. emissions: by their number in the plan. inlined: derived nodes that are computed inside a result. bundles: which
    emissions run in one statement with others; readers: the same by the node that they compute. lifted: the fragments of a stream; sets:
    the query-sets that they need of each row. parts: of the rows of a pool's join, what each query takes.
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

    @property
    def goes_on(self) -> bool:
        """Whether partial results of the work stage need another exchange, by the groups of joins."""
        return any(s.query.every is not None for s in self.joins)


@lru_cache(maxsize=8)
def compiled(path: str) -> Compiled:
    """The plan in a file. Plan files are never rewritten with other content under the same name."""
    return compile_plan(plan_at(Path(path)))


def compile_plan(plan: Plan) -> Compiled:
    """All that is needed to run a plan."""
    inlined = inline(plan)
    bundles = bundled(plan, inlined)
    lifted: dict[str, list[Fragment]] = {}
    for fragment in plan.fragments:
        if not fragment.static:
            lifted.setdefault(fragment.source, []).append(fragment)
    return Compiled(
        plan=plan,
        lifts={f.id: lift_sql(f, with_sets=f.static) for f in plan.fragments},
        sets={stream: ", ".join(set_columns(fragments)) for stream, fragments in lifted.items()},
        parts={j.id: _parts(plan, j) for j in plan.joins if j.pool and j.asked.every is None},
        emissions=emission_steps(plan),
        inlined=inlined,
        bundles=bundles,
        readers={plan.emissions[i].nodes[0]: bundle for i, bundle in bundles.items()},
        joins=tuple(shape_of(plan, j) for j in plan.joins),
        lifted=lifted,
    )


def _parts(plan: Plan, join: Join) -> dict[str, Part]:
    found = {e.query: e.bit or 0 for e in plan.users(join.id)}
    return {query: Part(bit, shown_columns(join.asked, plan.query(query))) for query, bit in found.items()}


def manifest(path: str | None) -> Manifest:
    """The manifest that a batch starts from."""
    return Manifest() if path is None else manifest_at(Path(path))
