"""What a manifest says of the last batch, by node and by step."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.explain.model import Measured, Times
from thalweg.once import cached_property
from thalweg.state.manifest import Manifest


@dataclass(frozen=True)
class LastBatch:
    """What was measured in the last batch; nothing where there is no manifest."""

    manifest: Manifest | None = None

    def node(self, id: str) -> Measured | None:
        """What was measured of a node: what was done to it, and what it keeps."""
        return (
            None
            if self.manifest is None
            else Measured(self._by_name.get(id, {}), *self._kept.get(id, (0, 0)))
        )

    def all(self, action: str) -> Times | None:
        """What was measured of all steps of one sort, `emit` or `scan`, by query or stream."""
        if self.manifest is None:
            return None
        return {name: times[action] for name, times in self._by_name.items() if action in times}

    def step(self, action: str, name: str) -> tuple[int, float] | None:
        """Rows and milliseconds of one step, if it ran."""
        return self._by_name.get(name, {}).get(action)

    @cached_property
    def _by_name(self) -> dict[str, dict[str, tuple[int, float]]]:
        found: dict[str, dict[str, tuple[int, float]]] = {}
        for key, time in self.manifest.steps.items() if self.manifest is not None else ():
            action, _, name = key.partition(" ")
            found.setdefault(name, {})[action] = (time.rows, time.ms)
        return found

    @cached_property
    def _kept(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for file in self.manifest.files if self.manifest is not None else ():
            rows, size = found.get(file.fragment, (0, 0))
            found[file.fragment] = (rows + file.rows, size + file.bytes)
        return found
