"""What is to be run, as one value: whoever changes it makes another, and a batch holds on to the one that it began with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from thalweg.model.query import Query
from thalweg.model.settings import Config
from thalweg.model.stream import Relation, Stream
from thalweg.optimizer.workload import Planner
from thalweg.state.manifest import Manifest


@dataclass(frozen=True)
class Workload:
    """What the user wants to run. Other settings of plans, or another `replan`, and all is planned again."""

    streams: tuple[Stream, ...] = ()
    queries: tuple[Query, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    replan: int = 0
    relations: tuple[Relation, ...] = ()
    config: Config = field(default_factory=Config)

    @property
    def readable(self) -> tuple[str, ...]:
        """The paths that its streams and tables are read from."""
        return tuple(sorted({*(s.path for s in self.streams if s.path), *(r.path for r in self.relations)}))

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """What was set of plans."""
        return self.config.plan_settings


LATE = "late:"
"""Stands before the name of a stream where the name of a query could stand."""
BAD = "bad:"
"""The same, for rows that were set aside."""


def outputs_beside(streams: Iterable[Stream], bad: Path) -> dict[str, str]:
    """Where what is no result goes, by `late:` or `bad:` and stream: bad rows below a directory unless the stream says where."""
    late = {f"{LATE}{s.name}": s.late_rows for s in streams if s.late_rows}
    return late | {f"{BAD}{s.name}": s.bad_rows or str(bad / s.name) for s in streams}


def without(workload: Workload, names: Collection[str]) -> Workload:
    """A workload less some queries."""
    if not names:
        return workload
    outputs = {n: address for n, address in workload.outputs.items() if n not in names}
    return replace(
        workload, queries=tuple(q for q in workload.queries if q.name not in names), outputs=outputs
    )


# The planner of a workload, by what the last batch left behind.
PlannerOf = Callable[[Workload, Manifest], Planner]
