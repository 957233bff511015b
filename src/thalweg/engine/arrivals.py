"""Queries that were replayed beside the batches, when they become part of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from thalweg.engine.workload import Workload
from thalweg.model.query import Query
from thalweg.plan.nodes import Plan
from thalweg.state.manifest import Counts, Manifest, StateFile


@dataclass(frozen=True)
class Arrival:
    """A query that was replayed up to the last batch: its plan and its state go on with the next one. `install` gives the state files their
    names in the session's directory."""

    query: Query
    begins: Mapping[str, int | None]
    plan: Plan
    files: tuple[StateFile, ...]
    counts: Counts
    install: Callable[[], None]


class Coming:
    """The queries that are not in force yet, though they are asked for: none, unless there are replays."""

    def pending(self, workload: Workload) -> frozenset[str]:
        """The queries of a workload that the next batch is without."""
        return frozenset()

    def arrived(self, workload: Workload) -> tuple[Arrival, ...]:
        """Those of a workload that the next batch goes on with."""
        return ()

    def passed(self, adopted: Collection[str]) -> None:
        """A batch was committed; some queries are part of the batches from it on."""


@dataclass(frozen=True)
class Ground:
    """What a batch goes on from: the last manifest and plan, with those of the queries that have arrived."""

    manifest: Manifest
    plan: Plan
    arrivals: tuple[Arrival, ...] = ()

    @property
    def files(self) -> tuple[StateFile, ...]:
        """The state files that the last manifest does not name."""
        return tuple(f for a in self.arrivals for f in a.files)
