"""Why the plan of a session changed, and what each change brought."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from thalweg.engine.beside import Beside
from thalweg.engine.scaling import Scaling
from thalweg.engine.workload import Workload
from thalweg.errors import EnvironmentProblem
from thalweg.model.query import Query
from thalweg.model.recorded import Failure
from thalweg.optimizer.predicting import predicted_change
from thalweg.optimizer.retiring import is_retired
from thalweg.plan.nodes import Plan
from thalweg.state.runs import now_text
from thalweg.state.switches import MEASURED, Switch, Switches, read, with_time, write
from thalweg.statistics.known import Known

STATISTICS, SETTINGS, ASKED = "statistics", "settings", "asked for"
_log = logging.getLogger("thalweg")
UNPRICED = 32
"""Changes that may wait for their costs; of more, the oldest have none."""
REST, LONGEST_REST = 20.0, 2.0
"""How many times as long as it took to find out the costs of a change the next ones wait, which are for people; and seconds at most."""


@dataclass(frozen=True)
class Reason:
    """What a plan was made by: the queries that were planned again, why, what was set, and what is known of streams."""

    replanned: frozenset[str] = frozenset()
    why: str = ""
    settings: tuple[str, ...] = ()
    known: Known | None = None


def reason_of(old: Plan, workload: Workload, better: frozenset[str], asked: bool, known: Known) -> Reason:
    """Why queries that go on are planned again: by what was set, as somebody wished, or by what batches saw."""
    before, now = dict(old.settings), dict(workload.settings)
    changed = [f"{k} = {now[k]}" for k in now if before.get(k) != now[k]] + [
        f"{k} as by default" for k in before if k not in now
    ]
    going_on = frozenset(q.name for q in workload.queries) if asked else better
    why = (SETTINGS if changed else ASKED) if asked else STATISTICS if better else ""
    return Reason(going_on, why, tuple(changed) if old.queries else (), known)


def switch_of(
    batch: int,
    old: Plan,
    new: Plan,
    reason: Reason,
    failed: Iterable[Failure],
    scaling: Scaling | None = None,
) -> Switch | None:
    """What a batch changes; None where a plan has only come to its end."""
    before, after, stopped = _live(old), _live(new), {f.query.name: f.message for f in failed}
    replaced = tuple(n for n, q in after.items() if n in before and not q.is_one_with(before[n]))
    found = Switch(
        batch=batch,
        at=now_text(),
        created=tuple(n for n in after if n not in before),
        dropped=tuple(n for n in before if n not in after and n not in stopped),
        replaced=replaced,
        failed=tuple(f"{name}: {message}" for name, message in stopped.items()),
        replanned=tuple(n for n in after if n in reason.replanned and n in before and n not in replaced),
        why=reason.why,
        settings=reason.settings,
        scaled="" if scaling is None else scaling.words,
        split=_split(old, new),
    )
    return found if found.what else None


def _split(old: Plan, new: Plan) -> str:
    """Which values are split from now on, in words."""
    before, after = (
        {f.source: f.split for f in plan.fragments if f.split is not None} for plan in (old, new)
    )
    if before == after:
        return ""
    if not after:
        return f"no frequent values of {', '.join(before)} split"
    most = max(after.values(), key=lambda s: s.gain)
    values = f"{len(most.hot)} frequent value{'s' if len(most.hot) > 1 else ''}"
    return f"split {values} of {', '.join(after)} (slowest partition {most.gain:.3g} times as fast expected)"


def _priced(switch: Switch, old: Plan, new: Plan, known: Known) -> Switch:
    before, after = predicted_change(old, new, known)
    return replace(
        switch,
        updates=(round(before.updates, 3), round(after.updates, 3)),
        join_ms=(round(before.millis, 6), round(after.millis, 6)),
    )


def _with_costs(switch: Switch, priced: Switch) -> Switch:
    """A change with its costs, if these are its own."""
    return (
        replace(switch, updates=priced.updates, join_ms=priced.join_ms)
        if switch.batch == priced.batch
        else switch
    )


def _live(plan: Plan) -> dict[str, Query]:
    return {q.name: q for q in plan.queries if not is_retired(q.name)}


class Chronicle:
    """The last changes of a session, and the times of batches since the last of them. What they cost is found out beside the batches."""

    def __init__(self, root: Path, batch: int) -> None:
        self._root, self._turn = root, threading.Lock()
        self.switches = read(root, batch)
        self._unpriced: deque[tuple[Switch, Plan, Plan, Known]] = deque(maxlen=UNPRICED)
        self._pricing, self._wanted = Beside(self._price, "thalweg-pricing"), threading.Event()
        self._times: deque[float] = deque(maxlen=MEASURED)
        self._is_measured = not self.switches or self.switches[-1].after_ms is not None

    def note(self, switch: Switch, old: Plan, new: Plan, known: Known | None) -> None:
        """Write a change down, before its batch is committed; one that was noted for the same batch never was."""
        switch = replace(switch, before_ms=median(self._times) if self._times else None)
        with self._turn:
            earlier = tuple(s for s in self.switches if s.batch < switch.batch)
            self.switches = write(self._root, (*earlier, switch))
        self._times.clear()
        self._is_measured = False
        if known is not None:
            self._unpriced.append((switch, old, new, known))
            self._pricing.ask()

    def settle(self) -> None:
        """Wait until all changes have their costs, which are found out without a rest."""
        self._wanted.set()
        self._pricing.settle()
        self._wanted.clear()

    def _price(self) -> None:
        while self._unpriced:
            (switch, old, new, known), started = self._unpriced.popleft(), time.monotonic()
            try:
                priced = _priced(switch, old, new, known)
            except Exception:  # what a change costs must end nothing
                _log.exception("the cost of a change is not known")
                continue
            with self._turn:
                self.switches = self._written(tuple(_with_costs(s, priced) for s in self.switches))
            self._wanted.wait(min(REST * (time.monotonic() - started), LONGEST_REST))

    def _written(self, switches: Switches) -> Switches:
        """Keep what was found out later; it is for people, and the next batch will meet the disk too."""
        with suppress(EnvironmentProblem, OSError):
            write(self._root, switches)
        return switches

    def took(self, batch: int, seconds: float, rows: int) -> None:
        """A batch was committed. The first with a change is left out: it also made the change."""
        if not rows or (self.switches and self.switches[-1].batch == batch):
            return
        self._times.append(round(seconds * 1000, 1))
        if self._is_measured:
            return
        with self._turn:
            self.switches, self._is_measured = (
                with_time(self.switches, median(self._times)),
                len(self._times) == MEASURED,
            )
            if self._is_measured:
                self._written(self.switches)
