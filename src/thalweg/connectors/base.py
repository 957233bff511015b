"""What a source and a sink must do, and which sink writes to an address.

A source is one module of this package with a class `...Source`; `api/sources.py` says what it is recognized by.
A sink is one module of this package with a class `Sink`; its target, and the scheme of its addresses, stand in `model/target.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from thalweg.model.stream import Stream
from thalweg.model.target import SINKS, scheme_of
from thalweg.state.manifest import Consumed, Staged

CHUNK_DDL = "stream string, path string, data binary"
"""A chunk of a stream, as a row: a file that a task reads where it lies, or packed Arrow."""


class Source(Protocol):
    """Where the rows of one stream come from: offsets in, chunks out.

    The offsets are Spark's: its own source says what is new, logs that, and gives the same chunks for the same batch again.
    """

    @property
    def stream(self) -> Stream:
        """The stream as it is declared."""

    @property
    def error(self) -> Exception | None:
        """What went wrong beside the batches, where it brings rows by itself."""

    def check(self, is_new: bool) -> None:
        """Refuse, without Spark, what tasks could not read. Of a stream that is new, what comes first is looked at."""

    def begin(self, whole: bool) -> None:
        """Bring rows: all that there are before this returns, or as they come."""

    def chunks(self, spark: Any) -> Any:
        """A streaming DataFrame of chunks in a session of Spark, its sources named by the stream."""

    def again(self, checkpoint: Path, taken: Consumed) -> tuple[str, ...] | None:
        """The files of all that was taken so far, oldest first, to be read again; None where rows are not kept."""


class Sink(Protocol):
    """Takes the results of batches. Tasks stage, the driver commits after the batch's manifest, and a restart does that again.

    What is staged and in no manifest was never there; what was committed stays as it is, however often it is committed.
    """

    def stage(self, table: pa.Table, batch: int, part: int) -> str:
        """Write rows where no reader sees them, in a task; returns a token for them that no other attempt has."""

    def staged_files(self, token: str) -> list[Path]:
        """The local files of what was staged, which are flushed before the task reports."""

    def named(self, token: str, batch: int, number: int) -> Staged:
        """What a manifest keeps of staged rows: all that committing them needs. `number` tells those of a batch apart."""

    def staged_folders(self) -> list[Path]:
        """The local directories that name what was staged, which are flushed before the manifest is written."""

    def commit(self, staged: Sequence[Staged]) -> None:
        """Show rows of a batch whose manifest is written. Doing it twice is doing it once, also when a reader took them since."""

    def recover(self, staged: Sequence[Staged]) -> None:
        """Commit again after a crash, when what was staged must first be looked at."""

    def sweep(self) -> None:
        """Remove what was staged and never committed. Only when no batch runs, and after recovery."""


def sink_at(address: str) -> Sink:
    """The sink of an address."""
    made: Sink = import_module(f"thalweg.connectors.{SINKS[scheme_of(address)]}").Sink(address)
    return made


def by_address(staged: Iterable[Staged]) -> dict[str, list[Staged]]:
    """Staged rows by where they go."""
    found: dict[str, list[Staged]] = {}
    for each in staged:
        found.setdefault(each.address, []).append(each)
    return found
