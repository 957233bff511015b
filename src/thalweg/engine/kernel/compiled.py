"""Plans and manifests as a worker process reads them: once, then from memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from thalweg.plan.codec import loads
from thalweg.plan.compile import EmissionStep, bundled, emission_steps, inline, lift_sql
from thalweg.plan.instants import shape_of
from thalweg.plan.join_views import Shape, side_sql
from thalweg.plan.nodes import Fragment, Plan
from thalweg.state import manifest as manifests


@dataclass(frozen=True)
class Compiled:
    """A plan with its SQL.

    `bundles` says which emissions run in one statement with others, `readers` the same by the fragment that they compute.
    """

    plan: Plan
    fragments: dict[str, Fragment]
    lifts: dict[str, str]
    emissions: tuple[EmissionStep, ...]
    inlined: frozenset[str]
    bundles: dict[int, tuple[str, str]]
    readers: dict[str, tuple[str, str]]
    sides: dict[str, str]
    joins: tuple[Shape, ...]

    @property
    def goes_on(self) -> bool:
        """Whether partial results of the work stage need another exchange, by the groups of joins."""
        return any(s.query.every is not None for s in self.joins)


@lru_cache(maxsize=8)
def compiled(path: str) -> Compiled:
    """The plan in a file. Plan files are never rewritten with other content under the same name."""
    plan: Plan = loads(Path(path).read_text())
    lifts = {f.id: lift_sql(f) for f in plan.fragments if f.source is None}
    inlined = inline(plan)
    bundles = bundled(plan, inlined)
    return Compiled(
        plan=plan,
        fragments={f.id: f for f in plan.fragments},
        lifts=lifts,
        emissions=emission_steps(plan),
        inlined=inlined,
        bundles=bundles,
        readers={plan.emissions[i].fragments[0]: bundle for i, bundle in bundles.items()},
        sides={s.id: side_sql(s) for s in plan.sides},
        joins=tuple(shape_of(plan, j) for j in plan.joins),
    )


def manifest(path: str | None) -> manifests.Manifest:
    """The manifest that a batch starts from."""
    if path is None:
        return manifests.Manifest()
    stat = Path(path).stat()
    return _read_manifest(path, stat.st_ino, stat.st_mtime_ns)


@lru_cache(maxsize=2)
def _read_manifest(path: str, inode: int, changed: int) -> manifests.Manifest:
    """Workers outlive sessions, and a session directory made anew has manifests of the same names: so the file itself is the key."""
    return manifests.read(Path(path))
