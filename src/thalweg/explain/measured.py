"""What a manifest says of the last batch, by step."""

from __future__ import annotations

from thalweg.explain.model import Measured, Times
from thalweg.state.manifest import Manifest


def measured_step(manifest: Manifest | None, id: str) -> Measured | None:
    """What was measured of a fragment."""
    if manifest is None:
        return None
    times = {k.partition(" ")[0]: _pair(v) for k, v in manifest.steps.items() if k.partition(" ")[2] == id and k.partition(" ")[0] in _OF_FRAGMENTS}
    return Measured(times, sum(f.rows for f in manifest.files if f.fragment == id))


def times_of(manifest: Manifest | None, what: str) -> Times | None:
    """What was measured of all steps of one sort, `emit` or `scan`, by what follows in their names."""
    if manifest is None:
        return None
    named = [(k.partition(" "), v) for k, v in manifest.steps.items()]
    return {name: _pair(v) for (sort, _, name), v in named if sort == what}
