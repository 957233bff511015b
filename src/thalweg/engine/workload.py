"""What is to be run, as one value: whoever changes it makes another, and a batch holds on to the one that it began with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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


# The planner of a workload, by what the last batch left behind.
PlannerOf = Callable[[Workload, Manifest], Planner]
