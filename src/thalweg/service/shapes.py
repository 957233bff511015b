"""What clients get: the shapes of answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnView:
    """A column and its type."""

    name: str
    type: str


@dataclass(frozen=True)
class QueryView:
    """A query: how it is, what it asks, since when it counts, what it has found. Times are in UTC; `begins` is per stream, null where rows
    count from the first on. `recent` are its rows in the last batches, oldest first. `lag` is how many seconds ago the event time is up to
    which it has results; it uses `state_rows` and `state_bytes`, perhaps with others."""

    name: str
    status: str
    sql: str
    streams: tuple[str, ...]
    tables: tuple[str, ...]
    columns: tuple[ColumnView, ...]
    results: str
    rows: int
    late: int
    rows_per_second: float
    recent: tuple[int, ...]
    lag: float | None
    state_rows: int
    state_bytes: int
    epoch: int | None
    begins: dict[str, str | None] | None
    ended: int | None
    error: str | None
    hint: str | None


@dataclass(frozen=True)
class StreamView:
    """A stream: how it is declared, and what has come of it. `frontier` is the event time below which all rows are known, `lag` how many
    seconds that is ago. `waiting` are bytes that were pushed and not read yet; null where none are pushed."""

    name: str
    format: str
    path: str | None
    time: str
    watermark: str
    columns: tuple[ColumnView, ...]
    queries: tuple[str, ...]
    rows: int
    rows_per_second: float
    late: int
    untimed: int
    bad_rows: int
    bad_files: int
    set_aside: tuple[str, ...]
    frontier: str | None
    lag: float | None
    waiting: int | None


@dataclass(frozen=True)
class PushedView:
    """Rows that are kept, and will be read by the next batches. `new` is false where they were there already, by their id."""

    stream: str
    rows: int
    new: bool


@dataclass(frozen=True)
class TableView:
    """A static table."""

    name: str
    format: str
    path: str
    columns: tuple[ColumnView, ...]


@dataclass(frozen=True)
class ViewView:
    """A view: a SELECT under a name."""

    name: str
    sql: str
    columns: tuple[ColumnView, ...]


@dataclass(frozen=True)
class Problem:
    """Something that is wrong now, or that explains why nothing comes out: what, and what to do. `severity` is `error`, `warning` or
    `note`; `query` or `stream` is what it is about."""

    severity: str
    text: str
    hint: str | None = None
    query: str | None = None
    stream: str | None = None


@dataclass(frozen=True)
class StatusView:
    """The session as a whole. `batch` is the last that was committed, null before the first; rates are those of the last minute."""

    status: str
    directory: str
    version: str
    started: str
    batch: int | None
    batch_at: str | None
    batch_seconds: float | None
    events_per_second: float
    rows: int
    late: int
    bad_rows: int
    state_rows: int
    state_bytes: int
    lag: float | None
    queries: int
    failed: int
    streams: int
    tables: int
    problems: tuple[Problem, ...]
    settings: dict[str, str]


@dataclass(frozen=True)
class StateView:
    """A piece of state that a query uses, and who uses it too."""

    id: str
    stream: str
    window: str
    keys: tuple[str, ...]
    rows: int
    bytes: int
    queries: tuple[str, ...]


@dataclass(frozen=True)
class NodeView:
    """A node of the plan that a query uses: what it is, who uses it too, and what was expected of it beside what the last batch measured:
    rows given on, rows kept, milliseconds. `work_ms` is expected a second of stream, and of joins only; measured is null before a batch."""

    id: str
    kind: str
    what: str
    queries: tuple[str, ...]
    expected_rows: float
    expected_state_rows: float
    expected_work_ms: float
    rows: float | None
    state_rows: float | None
    milliseconds: float | None


@dataclass(frozen=True)
class QueryDetail:
    """A query with the state that it uses and its part of the predicted cost: hash-table updates a batch for windows, milliseconds of work
    a second of stream; what is shared is divided among those who share it. Null where it is in no plan. `marginal`, where it is asked for,
    is what the cost of all would be less without it. `nodes` are those of the plan that it uses."""

    query: QueryView
    state: tuple[StateView, ...]
    cost: dict[str, float] | None
    marginal: dict[str, float] | None = None
    nodes: tuple[NodeView, ...] = ()


@dataclass(frozen=True)
class CostView:
    """The part of a query in the predicted cost: hash-table updates a batch for windows, milliseconds of work a second of stream for joins,
    rows of state; `share` is that of its kind (windows or joins), 1 for all of it."""

    name: str
    kind: str
    cost: float
    work_ms: float
    state_rows: float
    share: float


@dataclass(frozen=True)
class SampleView:
    """A few rows of the file of a stream that came last; `columns` null where there is none, or it can't be read as declared."""

    columns: tuple[ColumnView, ...] | None
    rows: list[list[object]]


@dataclass(frozen=True)
class BatchView:
    """What a batch did; `results` are its rows by query, `streams` those that it read by stream."""

    batch: int
    at: float
    rows: int
    seconds: float
    late: int
    state_rows: int
    state_bytes: int
    results: dict[str, int]
    bad_rows: int
    bad_files: int
    lag: float | None
    streams: dict[str, int]


@dataclass(frozen=True)
class ChangeView:
    """A change of the plan: what was done, predicted cost before and after, and batch times in milliseconds before and after."""

    batch: int
    at: str
    what: str
    updates: tuple[float, float]
    join_ms: tuple[float, float]
    before_ms: float | None
    after_ms: float | None
