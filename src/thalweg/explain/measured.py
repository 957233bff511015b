"""What a manifest says of the last batch, by step."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.explain.join_model import KeptState
from thalweg.explain.model import Measured
from thalweg.explain.times import Times
from thalweg.state.manifest import Manifest

OF_A_FRAGMENT = ("lift", "derive", "merge", "keep")


def measured_step(manifest: Manifest | None, id: str) -> Measured | None:
    """What was measured of a fragment."""
    if manifest is None:
        return None
    times = {sort: time for sort, name, time in _steps(manifest) if name == id and sort in OF_A_FRAGMENT}
    return Measured(times, sum(f.rows for f in manifest.files if f.fragment == id))


def times_of(manifest: Manifest | None, what: str) -> Times | None:
    """What was measured of all steps of one sort, `emit` or `scan`, by query or stream."""
    return None if manifest is None else {name: time for sort, name, time in _steps(manifest) if sort == what}


def kept_state(manifest: Manifest | None, id: str) -> KeptState | None:
    """What was measured of a side, or of what an evaluation keeps."""
    found = measured_step(manifest, id)
    if manifest is None or found is None:
        return None
    return KeptState(found.times, found.state_rows, sum(f.bytes for f in manifest.files if f.fragment == id))


def measured_time(manifest: Manifest | None, step: str) -> tuple[int, float] | None:
    """Rows and milliseconds of one step, if it ran."""
    if manifest is None or step not in manifest.steps:
        return None
    rows, millis = manifest.steps[step]
    return int(rows), float(millis)


def _steps(manifest: Manifest) -> Iterator[tuple[str, str, tuple[int, float]]]:
    for key, (rows, millis) in manifest.steps.items():
        sort, _, name = key.partition(" ")
        yield sort, name, (int(rows), float(millis))
