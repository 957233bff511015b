"""The manifest of a batch: what is there once the batch has happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from thalweg.once import cached_property


@dataclass(frozen=True)
class StateFile:
    """An immutable Arrow file: instances [low, high] of a fragment, of one hash range (`part` of `parts`)."""

    fragment: str
    path: str
    part: int
    parts: int
    low: int
    high: int
    rows: int
    bytes: int
    crc: int = 0


@dataclass(frozen=True)
class Staged:
    """Rows that a task has staged at the address of a sink, and the name under which they are shown once their batch is committed."""

    address: str
    token: str
    shown: str


@dataclass(frozen=True)
class SetAside:
    """A row of a stream that counts nowhere since a value of it does not fit, or, without a place, a whole file that can't be read."""

    stream: str
    file: str
    why: str
    place: str | None = None
    column: str | None = None
    value: str | None = None

    @property
    def words(self) -> str:
        """What is wrong, and where in the file.

        >>> SetAside("s", "in/0.csv", "is no BIGINT", "row 2", "v", "1.5").words
        'row 2: 1.5 in column v is no BIGINT'
        """
        value = None if self.value is None else _shown(self.value)
        what = " in column ".join(t for t in (value, self.column) if t is not None)
        return f"{self.place}: {what} {self.why}".replace(":  ", ": ") if self.place is not None else self.why


def _shown(text: str) -> str:
    """A value in one line of a few words, whatever characters it has."""
    plain = text if text.isprintable() else text.encode("unicode_escape").decode()
    return plain if len(plain) <= 60 else f"{plain[:57]}..."


# What a manifest keeps of what was set aside of a stream, for people: all of it is where bad rows go.
KEPT_ROWS, KEPT_FILES = 3, 100


@dataclass(frozen=True)
class Counts:
    """What happened so far to a stream or a query."""

    rows: int = 0
    late: int = 0
    untimed: int = 0
    bad_rows: int = 0
    bad_files: int = 0

    def plus(self, **more: int) -> Counts:
        """These counts and more."""
        return replace(self, **{k: getattr(self, k) + v for k, v in more.items()})


@dataclass(frozen=True)
class StepTime:
    """Rows and milliseconds of a named step, added over the tasks of a batch."""

    rows: int = 0
    ms: float = 0.0

    def plus(self, rows: int, ms: float) -> StepTime:
        """These and more."""
        return StepTime(self.rows + rows, self.ms + ms)


@dataclass(frozen=True)
class Seen:
    """Statistics of the running streams.

    streams: (events per second, microseconds of event time per batch). keys: distinct keys per group, groups per join. sides:
    of what joins keep, (share of rows that its conditions choose, distinct values of all, distinct values of what is equated). heavy:
    of what is equated, hashes of frequent values, each with the share of rows that have it. pairs: of joins by plan, (joined rows, seconds
    of event time in which they were made times the rates of what is kept as rows, milliseconds that took, seconds of event time).
    """

    streams: dict[str, tuple[float, float]] = field(default_factory=dict)
    keys: dict[str, float] = field(default_factory=dict)
    sides: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    heavy: dict[str, tuple[tuple[int, float], ...]] = field(default_factory=dict)
    pairs: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Consumed:
    """What Spark's log says that a stream has taken: up to which number of it, how many files, and a sum over their names."""

    offset: int = -1
    files: int = 0
    names: str = ""


@dataclass(frozen=True)
class Manifest:
    """Everything that batch `batch` left behind: state files, frontiers, counts, results to show.

    `checkpoint` has the marks of Spark's own files, by name. A replay of earlier batches has gone up to batch `replayed`. `digest` names
    what was written for it, so that the next batch can say what it follows.
    """

    batch: int = -1
    hash: str = ""
    plan: str = ""
    tops: dict[str, int | None] = field(default_factory=dict)
    frontiers: dict[str, int | None] = field(default_factory=dict)
    files: tuple[StateFile, ...] = ()
    publish: tuple[Staged, ...] = ()
    streams: dict[str, Counts] = field(default_factory=dict)
    queries: dict[str, Counts] = field(default_factory=dict)
    set_aside: tuple[SetAside, ...] = ()
    steps: dict[str, StepTime] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    consumed: dict[str, Consumed] = field(default_factory=dict)
    checkpoint: dict[str, str] = field(default_factory=dict)
    replayed: int | None = None
    digest: str = field(default="", compare=False)

    def of(self, fragment: str) -> tuple[StateFile, ...]:
        """The state files of a fragment."""
        return self._by_fragment.get(fragment, ())

    @cached_property
    def _by_fragment(self) -> Mapping[str, tuple[StateFile, ...]]:
        found: dict[str, list[StateFile]] = {}
        for file in self.files:
            found.setdefault(file.fragment, []).append(file)
        return {fragment: tuple(files) for fragment, files in found.items()}
