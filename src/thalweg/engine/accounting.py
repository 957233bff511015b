"""Whether the tasks of a batch got just the files that Spark has logged for it: none lost, none twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from thalweg.connectors.base import sink_at
from thalweg.connectors.reading.naming import bad_file
from thalweg.connectors.source_log import check_offset, consumed, entries, offsets_of
from thalweg.engine.commit import controls_of, with_aside
from thalweg.engine.kernel.sifting import bad_files
from thalweg.engine.task import Report, Task
from thalweg.errors import InternalError
from thalweg.model.stream import Stream
from thalweg.state.local import flush
from thalweg.state.manifest import Consumed, Counts, Manifest, SetAside


def accounted(
    checkpoint: Path,
    before: Manifest,
    made: Manifest,
    streams: Iterable[Stream],
    reports: Iterable[Report],
    task: Task,
) -> Manifest:
    """A batch with what Spark says of its files. One without a byte, which Spark gives to no task, is a bad file."""
    read, offsets = _read_files(reports), offsets_of(checkpoint, made.batch)
    for stream in streams:
        known, last = before.consumed.get(stream.name, Consumed()), offsets.get(stream.name, -1)
        if stream.name in offsets and stream.path is not None:
            check_offset(checkpoint, made.batch, stream.name, last, known)
        if stream.path is None or last <= known.offset:
            continue
        new = entries(checkpoint / "sources" / stream.name, known.offset + 1, last)
        lost = _lost(stream, [e.file for e in new], read[stream.name])
        made = replace(made, consumed={**made.consumed, stream.name: consumed(known, last, new)})
        made = _with_lost(made, stream, lost, task) if lost else made
    return made


def _with_lost(made: Manifest, stream: Stream, lost: dict[str, str], task: Task) -> Manifest:
    """A batch that sets files aside which no task was given."""
    sink = sink_at(task.outputs[f"bad:{stream.name}"])
    staged = sink.stage(bad_files(lost), made.batch, 0)
    if task.durable:
        flush(sink.staged_files(staged))
    counts = made.streams.get(stream.name, Counts()).plus(bad_files=len(lost))
    return replace(
        made,
        publish=(*made.publish, sink.named(staged, made.batch, len(made.publish))),
        streams={**made.streams, stream.name: counts},
        set_aside=with_aside(
            made.set_aside, (SetAside(stream.name, path, why) for path, why in lost.items())
        ),
    )


def _read_files(reports: Iterable[Report]) -> Counter[str]:
    """How many files tasks were given of each stream."""
    found: Counter[str] = Counter()
    for control in controls_of(reports):
        found.update({name: facts.files for name, facts in control.streams.items()})
    return found


def _lost(stream: Stream, logged: list[str], read: int) -> dict[str, str]:
    """The files of a batch that no task was given, with the reason: those that are empty, and those that were removed."""
    if read == len(logged):
        return {}
    sizes = {path: Path(path).stat().st_size if Path(path).exists() else None for path in logged}
    empty = [path for path, size in sizes.items() if size == 0]
    if empty and stream.on_bad_file != "skip":
        raise bad_file(stream, empty[0], "it is empty")
    lost = {path: "it is gone" if size is None else "it is empty" for path, size in sizes.items() if not size}
    if len(lost) != len(logged) - read:
        raise InternalError(
            f"stream {stream.name}: tasks were given {read:,} files, Spark has logged {len(logged):,}"
        )
    return lost
