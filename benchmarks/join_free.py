"""Part `free`: queries drawn by a seed, and what the free choice of a session costs beside every plan that it could have taken.

Nothing is told to the session: it samples, measures and plans again by itself. Processor time of the jobs of batches from the fifth on
counts, the least of two runs for the free choice and for the plans that were near the best.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from benchmarks import report
from benchmarks.join_figures import kendall
from thalweg.engine.task import Report, Task
from thalweg.testing.local import Chunk, LocalSession, local_job

SECOND, BATCH, WARM, MEASURED = 1_000_000, 4, 5, 4
NEAR, LIMIT, TWICE = 1.15, 8.0, 2
"""Plans that took up to so many times the least are run again; one that takes so many seconds is given up, as far from the best."""
SKEWED, EVEN = (50, 200, 1_000), {2: (50, 200, 1_000, 5_000, 20_000), 3: (50, 200, 1_000, 3_000)}
"""Rows per second that streams may have."""
STREAM = (
    "CREATE STREAM {0} (k BIGINT, j BIGINT, g BIGINT, x BIGINT, at TIMESTAMP) "
    "WITH (format = 'parquet', path = '{1}/{0}', time = 'at');"
)
SUMS, ANY = "COUNT(*) AS n, SUM(a.x) AS s, SUM(b.x) AS t", "COUNT(*) AS n, MAX(a.x) AS s, MIN(b.x) AS t"


@dataclass(frozen=True)
class Drawn:
    """A query with its streams: rows per second and values of each, the share of rows that one value has, and the exponent by which
    values get rarer (Zipf), 0 where all are alike."""

    query: str
    rates: tuple[int, ...]
    keys: int
    hot: float
    groups: int
    seed: int
    zipf: float = 0.0

    def rows(self, stream: int, batch: int) -> pa.Table:
        """What a batch has of a stream."""
        random = np.random.default_rng([self.seed, stream, batch])
        n = self.rates[stream] * BATCH
        k = np.where(random.random(n) < self.hot, 0, random.choice(self.keys, n, p=self._shares))
        at = batch * BATCH * SECOND + np.arange(n) * (SECOND // self.rates[stream])
        found = {"k": k, "j": random.integers(0, 20, n), "g": random.integers(0, self.groups, n)}
        return pa.table({**found, "x": random.integers(0, 1_000, n), "at": pa.array(at, pa.timestamp("us"))})

    @property
    def _shares(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        weights = np.arange(1, self.keys + 1) ** -self.zipf
        found: np.ndarray[Any, np.dtype[np.float64]] = weights / weights.sum()
        return found


def drawn(seed: int) -> Drawn:
    """A query of two or three streams (chains and stars), whose rates differ; of two some have a value that is frequent, or many by Zipf."""
    random = np.random.default_rng(seed)
    inputs = int(random.choice([2, 2, 2, 3]))
    skew = str(random.choice(["", "", "hot", "zipf"])) if inputs == 2 else ""
    rates = tuple(int(r) for r in random.choice(SKEWED if skew else EVEN[inputs], inputs))
    hot = float(random.choice([0.1, 0.3])) if skew == "hot" else 0.0
    windows = ", ".join(
        f"s{n} AS {'abc'[n]} [RANGE {random.choice([2, 4, 8, 16])} SECONDS]" for n in range(inputs)
    )
    third = ["b.k = c.k", "b.j = c.j", "a.j = c.j"]
    on = ["a.k = b.k", *([str(random.choice(third))] if inputs == 3 else [])]
    by = bool(random.random() < 0.6)
    chosen = (
        f"SELECT {'a.g, ' if by else ''}{random.choice([SUMS, ANY])} FROM {windows} WHERE {' AND '.join(on)}"
    )
    every = int(random.choice([1, 2]))
    query = f"{chosen}{' GROUP BY a.g' if by else ''} EVERY {every} SECOND{'S' if every > 1 else ''}"
    keys = int(random.choice([50, 500, 5_000, 50_000, 500_000] if inputs == 2 else [200, 2_000, 20_000]))
    return Drawn(query, rates, keys, hot, int(random.choice([4, 50])), seed, 1.1 if skew == "zipf" else 0.0)


@dataclass
class Clock:
    """Runs the jobs of batches, and keeps the processor seconds that each took."""

    taken: list[float] = field(default_factory=list)

    def job(self, chunks: Sequence[Chunk], task: Task) -> list[Report]:
        """The job of a batch."""
        started = time.process_time()
        try:
            return local_job(chunks, task)
        finally:
            self.taken.append(time.process_time() - started)

    @property
    def measured(self) -> float:
        """Milliseconds of the batches that count."""
        return 1000 * sum(self.taken[WARM:])


@dataclass(frozen=True)
class Ran:
    """A run: its milliseconds, how many results it gave, the plans in force batch by batch, and what plans were expected to cost; joined rows
    per second that the last plan made, and that were foreseen after all."""

    ms: float
    results: int
    plans: tuple[str, ...]
    expected: dict[str, float]
    pairs: tuple[float, float] = (0.0, 0.0)


def run(given: Drawn, root: Path, plan: str = "") -> Ran | None:
    """A session over the batches of a query, with one plan or with its free choice; None where that was given up."""
    home, clock = root / "free", Clock()
    shutil.rmtree(home, ignore_errors=True)
    session, names = LocalSession(home / "run", 2), [f"s{n}" for n in range(len(given.rates))]
    try:
        for name in names:
            (home / name).mkdir(parents=True)
            session.sql(STREAM.format(name, home))
        session.sql("SET durable = 'false'")
        if plan:
            early, evaluate = plan.split()
            session.sql(f"SET plan.early_aggregation = '{early}'; SET plan.evaluate = '{evaluate}'")
        session.query(given.query, name="q")
        session.begin()
        session.runner.job = clock.job
        plans, made = [], []
        for batch in range(WARM + MEASURED):
            plans.append(_batch(session, given, batch, home))
            steps = session.latest_manifest().steps
            made.append(sum(step.rows for name, step in steps.items() if name.startswith("pairs ")))
            if sum(clock.taken) > LIMIT:
                return None
        (join,) = session.explain().data["joins"]
        expected = {p["name"]: p["work_ms"] for p in join["plans"]}
        foreseen = next((p["pairs"] for p in join["plans"] if p["name"] == plans[-1]), 0.0)
        rows, pairs = session.latest_manifest().queries["q"].rows, (mean(made[WARM:]) / BATCH, foreseen)
        return Ran(clock.measured, rows, tuple(plans), expected, pairs)
    finally:
        session.close()


def _batch(session: LocalSession, given: Drawn, batch: int, home: Path) -> str:
    """One more batch, once all planning is done; the plan in force."""
    if (ahead := session._running._ahead) is not None:
        ahead._looking.settle()
    chunks = [(f"s{n}", str(home / f"s{n}" / f"{batch}.parquet")) for n in range(len(given.rates))]
    for n, (_, path) in enumerate(chunks):
        pq.write_table(given.rows(n, batch), path)
    session._running.settle()
    session.runner.on_batch(chunks, batch)
    plan = session.runner.plan
    join = plan.join(plan.given_to("q")[-1].nodes[0])
    bits = "".join("01"[plan.fragment(s).early] for s in join.sides)
    return f"{f'EAP{bits}' if '1' in bits else 'LAP'} {join.evaluate}"


@dataclass(frozen=True)
class FreeFigures:
    """A drawn query: milliseconds of the free choice and of every plan, which of them were in force, the order expected, and joined rows per
    second of every plan, made and foreseen."""

    drawn: Drawn
    free: float
    plans: dict[str, float]
    taken: tuple[str, ...]
    tau: float | None
    differing: tuple[str, ...]
    pairs: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The plan that took least."""
        return min(self.plans, key=lambda p: self.plans[p])

    @property
    def regret(self) -> float:
        """What the free choice took from the fifth batch on, beside the best plan; the same plan can't be worse than itself."""
        settled = set(self.taken[WARM:])
        own = self.plans[self.taken[-1]] if len(settled) == 1 and self.taken[-1] in self.plans else self.free
        return min(own, self.free) / min(*self.plans.values(), self.free)

    @property
    def first(self) -> float | None:
        """What the plan of the first batch takes, beside the best; None where it was given up."""
        ms = self.plans.get(self.taken[0])
        return None if ms is None else ms / min(self.plans.values())


def measure(root: Path, draws: int, first: int, within: float, console: Console) -> list[FreeFigures]:
    """So many queries, by seeds from the first on; a line each."""
    found = []
    for seed in (n for n, _ in zip(count(first), range(draws), strict=False)):
        figures = measured(drawn(seed), root, within)
        found.append(figures)
        console.print(
            f"{seed}: {figures.taken[0]} -> {figures.taken[-1]} {figures.free:.0f} ms, best {figures.best} "
            f"{figures.plans[figures.best]:.0f} ms, regret {figures.regret:.2f}; {figures.drawn.query}",
            markup=False,
            soft_wrap=True,
        )
    return found


def measured(given: Drawn, root: Path, within: float) -> FreeFigures:
    """The free choice of a query, and all plans that it took or that are expected to cost no more than so many times the least."""
    free = run(given, root)
    if free is None:
        raise RuntimeError(f"the free choice of {given.query} takes too long")
    most = within * min(free.expected.values())
    near = [p for p, ms in free.expected.items() if ms <= most or p in free.plans]
    every = [p for p in near if not p.endswith("loops")]
    runs = {plan: ran for plan in every if (ran := run(given, root, plan)) is not None}
    least = min(r.ms for r in runs.values())
    times = {p: r.ms for p, r in runs.items()}
    for plan, ms in list(times.items()):
        if (ms <= NEAR * least or plan == free.plans[-1]) and (again := run(given, root, plan)) is not None:
            times[plan] = min(ms, again.ms)
    again = run(given, root)
    tau = kendall([(free.expected[p], ms) for p, ms in times.items()])
    differing = tuple(p for p, r in runs.items() if r.results != free.results)
    pairs = {p: r.pairs for p, r in runs.items() if r.pairs[1]}
    ms = min(free.ms, again.ms if again else free.ms)
    return FreeFigures(given, ms, times, free.plans, tau, differing, pairs)


def show(figures: Sequence[FreeFigures], console: Console) -> None:
    """The summary."""
    firsts, taus = [f.first for f in figures if f.first], [f.tau for f in figures if f.tau is not None]
    rows = [
        ["free choice, from the fifth batch on", *_said([f.regret for f in figures])],
        ["plan of the first batch", *_said(firsts)],
    ]
    console.print(report.table(f"{len(figures)} drawn queries: regret", ["", "mean", "worst"], rows))
    console.print(
        f"tau of predicted and measured order: {mean(taus):.2f} in the mean, {min(taus):.2f} at least"
    )
    points = [pair for f in figures for pair in f.pairs.values()]
    near = [1 / TWICE <= made / foreseen <= TWICE for made, foreseen in points]
    console.print(f"joined rows within a factor of {TWICE}: {mean(near):.0%} of {len(points)} plans")
    if wrong := [f.drawn.seed for f in figures if f.differing]:
        console.print(f"[red]numbers of results differ: {wrong}[/]")


def _said(values: Sequence[float]) -> list[str]:
    return [f"{mean(values):.2f}", f"{max(values):.2f}"]


def as_data(figures: Sequence[FreeFigures]) -> list[dict[str, Any]]:
    """The figures as JSON holds them."""
    return [{**asdict(f), "best": f.best, "regret": f.regret, "first_regret": f.first} for f in figures]
