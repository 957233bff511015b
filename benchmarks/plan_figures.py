"""The plans of a window set: what the optimizer chooses in each mode, what it predicts, what the engine then takes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.check import compare
from benchmarks.data import Feed, files
from benchmarks.engines import thalweg_engine
from benchmarks.runner import prepared, remove
from benchmarks.spec import Batch, Run
from benchmarks.window_rows import WindowSet
from thalweg.api.session import Session
from thalweg.model.windows import SECOND
from thalweg.optimizer.cost.steps import engine_cost
from thalweg.optimizer.cost.windows import forest_cost, period
from thalweg.optimizer.forest import Forest
from thalweg.optimizer.groups import traits_of
from thalweg.optimizer.planner import planner_for, step_of
from thalweg.optimizer.traits import Traits
from thalweg.optimizer.workload import build
from thalweg.plan.nodes import Plan
from thalweg.statistics.records import WindowStatistics
from thalweg.statistics.sampling import sample

MODES = ("naive", "shared", "paper", "best", "slices")
# What a plan's own time may be over another's, and how near to each other two plans are measured more often.
LIMITS = (("best", "paper", 1.05), ("paper", "naive", 1.10), ("best", "naive", 1.0), ("best", "slices", 1.05))
CLOSE = 1.5


@dataclass(frozen=True)
class PlanFigures:
    """One plan of a window set. Times are in ms, the least of all repeats: other work on the machine can only add to them.

    same_as: the mode that has this very plan already, whose times these are. steps: time by kind of step, added over the
    tasks. batch: the whole trigger. predicted: the cost by each model. planning: what the optimizer itself took.
    """

    mode: str
    same_as: str
    fragments: int
    roots: int
    factors: int
    planning: float
    predicted: dict[str, float]
    steps: dict[str, float]
    batch: float

    @property
    def own(self) -> float:
        """The steps' own time: all that the plan does with rows once they are read, writing state included."""
        return own_time(self.steps)

    @property
    def reading(self) -> float:
        """The steps' own time and reading the files, which is the same for all plans."""
        return sum(self.steps.values())


@dataclass(frozen=True)
class SetFigures:
    """The plans of one window set. compared: result rows, all modes together. differing: by mode, where rows differ."""

    row: str
    number: int
    times: int
    aggregate: str
    windows: tuple[str, ...]
    plans: dict[str, PlanFigures]
    compared: int
    differing: dict[str, int]


def own_time(steps: dict[str, float]) -> float:
    """What steps take, but for reading the files."""
    return sum(ms for kind, ms in steps.items() if kind != "scan")


def least_time(batches: list[Batch]) -> float:
    """The least own time of the batches of a plan."""
    return min(own_time(b.steps) for b in batches)


def plan_of(run: Run) -> tuple[Plan, float]:
    """The plan that a session would run over the files of a run, and how long it took to find, in ms."""
    session = Session(f"{run.directory}/planning", settings=run.settings)
    session.sql(thalweg_engine.script(run))
    streams, queries = session.catalog.streams.values(), session.catalog.queries.values()
    planner = planner_for(session.catalog.config, None, streams, sampled=sample(streams, (), queries))
    started = time.perf_counter()
    plan = build(streams, queries, planner)
    return plan, (time.perf_counter() - started) * 1000


def meaning(plan: Plan) -> frozenset[str]:
    """What makes two plans of one query the same, wherever it reads and writes."""
    return frozenset(n.id for n in plan.nodes)


def forest_of(plan: Plan) -> Forest:
    """A plan as the optimizer's value, to ask what it costs."""
    return Forest(tuple(step_of(plan, n) for n in plan.nodes))


def predictions(forest: Forest, traits: Traits, feed: Feed, batch_events: int) -> dict[str, float]:
    """The cost of a plan by three models.

    `paper`: events processed per second of event time, at the paper's one event per time unit, a second.
    `paper at our rate`: the same with the rate of the feed. `engine`: what a batch takes, in hash-aggregate updates.
    """
    statistics = WindowStatistics(rate=feed.rate, keys=feed.keys, batch=batch_events * SECOND // feed.rate)
    return {
        "paper": paper_cost(forest, 1),
        "paper at our rate": paper_cost(forest, feed.rate),
        "engine": engine_cost(forest, traits, statistics),
    }


def paper_cost(forest: Forest, rate: int) -> float:
    """The paper's cost per second of event time; it is linear in the rate, whatever the unit of the windows."""
    combining = forest_cost(forest, 0)
    per_event = (forest_cost(forest, 1) - combining) / SECOND
    seconds = Fraction(period(s.window for s in forest if not s.factor), SECOND)
    return float((rate * per_event + combining) / seconds)


@dataclass(frozen=True)
class Bench:
    """Where and how plans are measured: one Spark session for all of them, each plan in a session directory of its own.

    A plan that has run for more than `enough` ms and is far from all others is not repeated: next to that, what disturbs a batch is little.
    A regret above its limit is measured again, as often as the repeats, before it is believed.
    """

    spark: Any
    root: Path
    feed: Feed
    batch_files: int
    repeats: int
    modes: tuple[str, ...] = MODES
    checked: bool = True
    enough: float = 1_500

    def measure(self, windows: WindowSet, aggregate: str) -> SetFigures:
        """Run every different plan of a set, in turns, and compare the rows of the first turn with the definition."""
        name = f"{windows.row}-{windows.number}-{aggregate}"
        runs = {m: self._run(f"{name}-{m}", windows, aggregate, m) for m in self.modes}
        plans = {m: self._planned(run) for m, run in runs.items()}
        first = {
            m: next(o for o in self.modes if meaning(plans[o][0]) == meaning(plans[m][0])) for m in self.modes
        }
        different = [m for m in self.modes if first[m] == m]
        batches = {m: list(self._executed(runs[m])) for m in different}
        compared, differing = (
            self._compared({m: runs[m] for m in different}, windows, aggregate) if self.checked else (0, {})
        )
        for mode in different:
            remove(runs[mode])
        turn = 1
        while turn < self.repeats or (turn < 2 * self.repeats and self._doubtful(batches, first)):
            for mode in different[turn % len(different) :] + different[: turn % len(different)]:
                if self._is_worth(mode, batches):
                    batches[mode] += self._executed(runs[mode])
                    remove(runs[mode])
            turn += 1
        figures = {m: self._figures(m, first[m], *plans[m], batches[first[m]], runs[m]) for m in self.modes}
        return SetFigures(
            windows.row,
            windows.number,
            windows.times,
            aggregate,
            tuple(map(str, windows.windows)),
            figures,
            compared,
            differing,
        )

    def _planned(self, run: Run) -> tuple[Plan, float]:
        prepared(run, self.feed)
        found = plan_of(run)
        remove(run)
        return found

    def _executed(self, run: Run) -> tuple[Batch, ...]:
        prepared(run, self.feed)
        return thalweg_engine.execute(run, self.spark)

    def _compared(
        self, runs: dict[str, Run], windows: WindowSet, aggregate: str
    ) -> tuple[int, dict[str, int]]:
        """Result rows of all plans that were compared with the definition, and how many of which differ."""
        some = next(iter(runs.values()))
        folders = {m: Path(run.directory, "out") for m, run in runs.items()}
        agreement = compare(folders, files(self.feed, some.files), windows.windows, aggregate)
        return agreement.compared * len(runs), {
            m: n for m, n in agreement.differing.items() if n or not agreement.compared
        }

    def _is_worth(self, mode: str, batches: dict[str, list[Batch]]) -> bool:
        """Whether another run of a plan may tell something: it is quick, or another plan is about as fast."""
        least = {m: least_time(found) for m, found in batches.items()}
        close = any(1 / CLOSE < least[mode] / least[m] < CLOSE for m in batches if m != mode)
        return close or sum(b.ms for b in batches[mode]) < self.enough

    def _doubtful(self, batches: dict[str, list[Batch]], first: dict[str, str]) -> bool:
        """Whether a plan seems to be slower than it may be against another."""
        least = {m: least_time(batches[first[m]]) for m in self.modes}
        return any(least[a] / least[b] > limit for a, b, limit in LIMITS if {a, b} <= set(least))

    def _run(self, name: str, windows: WindowSet, aggregate: str, mode: str) -> Run:
        folder, settings = str(self.root / name), {"plan.windows": mode, "plan.scan": "table"}
        return Run(
            "thalweg_engine",
            folder,
            windows.windows,
            self.batch_files,
            self.feed.file_events,
            0,
            1,
            aggregate,
            settings=settings,
        )

    def _figures(
        self, mode: str, first: str, plan: Plan, planning: float, batches: list[Batch], run: Run
    ) -> PlanFigures:
        forest, traits = forest_of(plan), traits_of(plan.queries[0].aggregates[0].call)
        least = min(batches, key=lambda b: own_time(b.steps))
        return PlanFigures(
            mode=mode,
            same_as=first,
            fragments=len(plan.nodes),
            roots=len(plan.fragments),
            factors=sum(not plan.users(n.id) for n in plan.nodes),
            planning=planning,
            predicted=predictions(forest, traits, self.feed, run.batch_events),
            steps=least.steps,
            batch=min(b.ms for b in batches),
        )
