"""Streams whose values are not alike frequent, fed to a session without Spark, and the joined rows that there truly are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.testing.local import LocalSession
from thalweg.testing.reference_joins import reference_join

SECOND = 1_000_000
STREAM = "CREATE STREAM {0} (k BIGINT, j BIGINT, g BIGINT, x BIGINT, at TIMESTAMP) WITH (format = 'parquet', path = '{1}', time = 'at');"
Draw = Mapping[str, "np.ndarray[tuple[int], np.dtype[np.float64]]"]
"""By column how frequent each value from 0 on is."""


def even(values: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Values that are all as frequent."""
    return np.full(values, 1 / values)


def hot(values: int, share: float = 0.3) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """One value that many rows have, others as frequent as each other."""
    return np.concatenate([[share], np.full(values - 1, (1 - share) / (values - 1))])


def zipf(values: int, exponent: float = 1.1) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Values of which few are very frequent and most are rare."""
    weights = 1 / np.arange(1, values + 1) ** exponent
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = weights / weights.sum()
    return found


class Fed:
    """A session with one join query over streams that are drawn, some seconds a batch."""

    def __init__(
        self,
        root: Path,
        streams: Mapping[str, Draw],
        query: str,
        rate: int = 200,
        seconds: int = 5,
        settings: str = "",
    ) -> None:
        self.root, self.streams, self.rate, self.seconds = root, dict(streams), rate, seconds
        self.random, self.tables = np.random.default_rng(1), {name: list[pa.Table]() for name in streams}
        self.session = LocalSession(root / "run")
        for name in streams:
            (root / name).mkdir()
            self.session.sql(STREAM.format(name, root / name))
        self.session.sql(f"{settings} CREATE QUERY q AS {query}")

    def batch(self, count: int = 1) -> None:
        """Feed and run some more batches."""
        for _ in range(count):
            number = len(next(iter(self.tables.values())))
            chunks = []
            for name, draw in self.streams.items():
                self.tables[name].append(self._rows(draw, number))
                path = self.root / name / f"{number}.parquet"
                pq.write_table(self.tables[name][-1], path)
                chunks.append((name, str(path)))
            self.session.batch(chunks)
            self.session.runner.planning.beside = lambda work: work()

    def _rows(self, draw: Draw, number: int) -> pa.Table:
        rows, micros = self.rate * self.seconds, SECOND // self.rate
        even_ones = {"k": even(10), "j": even(10), "g": even(5), "x": even(100)}
        columns = {c: self.random.choice(len(p), rows, p=p) for c, p in {**even_ones, **draw}.items()}
        times = (number * rows + np.arange(rows)) * micros
        return pa.table({**columns, "at": pa.array(times, pa.timestamp("us"))})

    @property
    def plan(self) -> str:
        """The plan in force."""
        (join,) = self.session.runner.plan.joins[-1:]
        sides = (self.session.runner.plan.fragment(s).early for s in join.sides)
        return f"{''.join('01'[e] for e in sides)} {join.evaluate}"

    def until_early(self, most: int) -> None:
        """Run batches until a plan is in force that aggregates some input early."""
        for _ in range(most):
            self.batch()
            if "1" in self.plan:
                return
        raise AssertionError(f"{self.plan} is still in force")

    @property
    def are_pairs_off(self) -> bool:
        """Whether there were far more joined rows than expected of the plan in force; times say nothing, other work may take them."""
        return any(what == "pairs" for _, what in self.session.runner.planning.attention.told)

    @property
    def counted(self) -> int:
        """Joined rows that the last batch made."""
        join = self.session.runner.plan.joins[-1]
        return self.session.runner.manifest.steps[f"pairs {join.id}"].rows

    def predicted(self, plan: str) -> float:
        """Joined rows per second that a plan is expected to make."""
        (join,) = self.session.explain().data["joins"]
        return next(float(p["pairs"]) for p in join["plans"] if p["name"] == plan)

    def truth(self, sql: str, window: int) -> int:
        """What a count over the rows of the last whole windows is."""
        end = len(next(iter(self.tables.values()))) * self.seconds * SECOND
        with duckdb.connect() as con:
            for name, tables in self.tables.items():
                con.register(f"all_{name}", pa.concat_tables(tables))
                con.execute(
                    f'CREATE VIEW {name} AS SELECT * FROM all_{name} WHERE epoch_us("at") >= {end - window * SECOND}'
                )
            return int(con.execute(sql).fetchall()[0][0])

    def definition(self) -> pa.Table:
        """The results by the definition."""
        query = self.session.catalog.queries["q"]
        count = len(next(iter(self.tables.values())))
        return reference_join(
            query,
            self.session.catalog.streams,
            [{n: t[i] for n, t in self.tables.items()} for i in range(count)],
        )
