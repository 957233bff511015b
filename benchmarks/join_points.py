"""One point of a sweep: what the streams are, what is asked of them, and what the cost model is told about them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path

from benchmarks.join_data import COLUMNS, MILLION, JoinFeed
from thalweg.model.query import Query
from thalweg.optimizer.cost.early_aggregation import all_plans, plan_name
from thalweg.statistics.records import InputStatistics, JoinStatistics
from thalweg.testing.bound import Bound, bind_statements

ALIASES = "abcd"
QUERY = "q"


@dataclass(frozen=True)
class Given:
    """One input: rows per second, seconds of its window, values of its grouping attribute (1: it has none)."""

    rate: int
    window: int
    groups: int = 1


@dataclass(frozen=True)
class Point:
    """A join of streams on one attribute, aggregated by the groups of all inputs that have some, or its rows.

    figure, value: which curve it is on and where. every: seconds between results, 0 for rows. fill, batch: seconds of the first
    micro-batches that count for nothing (`fills` of them), and of each of the `measured` ones after. aggregates: over inputs a, b.
    """

    figure: str
    value: float
    inputs: tuple[Given, ...]
    keys: int
    every: int
    fill: int
    batch: int
    measured: int = 2
    method: str = "hash"
    evaluate: str = "snapshot"
    fills: int = 1
    aggregates: tuple[str, ...] = ("COUNT(*) AS n", "SUM(a.x) AS first", "SUM(b.x) AS second")

    @property
    def spans(self) -> tuple[float, ...]:
        """The seconds of all micro-batches."""
        return (*[self.fill / self.fills] * self.fills, *[self.batch] * self.measured)

    @property
    def feeds(self) -> tuple[JoinFeed, ...]:
        """The streams."""
        return tuple(JoinFeed(g.rate, self.keys, g.groups, seed=n + 1) for n, g in enumerate(self.inputs))

    @property
    def plans(self) -> tuple[str, ...]:
        """LAP and all EAPs."""
        return tuple(plan_name(p) for p in all_plans(len(self.inputs)))

    @property
    def select(self) -> str:
        """The query as a user writes it."""
        windows = ", ".join(
            f"s{n} AS {ALIASES[n]} [{self._kind} {g.window} SECONDS]" for n, g in enumerate(self.inputs)
        )
        where = " AND ".join(f"a.k = {alias}.k" for alias in ALIASES[1 : len(self.inputs)])
        if not self.every:
            return f"SELECT a.k AS k, a.x AS first, b.x AS second FROM {windows} WHERE {where}"
        keys = [f"{ALIASES[n]}.g" for n, g in enumerate(self.inputs) if g.groups > 1]
        shown = ", ".join([*(f"{k} AS g{n}" for n, k in enumerate(keys)), "window_end", *self.aggregates])
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {shown} FROM {windows} WHERE {where}{grouped} EVERY {self.every} SECONDS"

    @property
    def _kind(self) -> str:
        return "TUMBLE" if self.every and all(g.window == self.every for g in self.inputs) else "RANGE"

    def bound(self, directory: Path = Path("in")) -> Bound:
        """Streams and query as the engine has them."""
        path = "WITH (format = 'parquet', path = '{}', time = 'ts', watermark = '0 seconds')"
        streams = [
            f"CREATE STREAM s{n} ({COLUMNS}) {path.format(directory / f's{n}')};"
            for n in range(len(self.inputs))
        ]
        return bind_statements("\n".join([*streams, f"CREATE QUERY {QUERY} AS {self.select};"]))

    @property
    def statistics(self) -> JoinStatistics:
        """The truth about the streams, as the optimizer would have it from a long run."""
        inputs = tuple(
            InputStatistics(float(g.rate), float(self.keys * g.groups), float(self.keys)) for g in self.inputs
        )
        return JoinStatistics(inputs, float(prod(g.groups for g in self.inputs)), float(self.batch * MILLION))

    def label(self) -> str:
        """What it is, in a line."""
        rows = " x ".join(f"{g.rate * g.window:,}" for g in self.inputs)
        groups = " x ".join(f"{g.groups:,}" for g in self.inputs)
        return f"windows of {rows} rows, {self.keys:,} keys, {groups} groups"


def join_query(point: Point) -> Query:
    """The query of a point, bound."""
    query = point.bound().queries[QUERY]
    if query.windows:
        raise TypeError(f"{point.select} is no join")
    return query
