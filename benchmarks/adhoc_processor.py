"""What queries that come and go cost in processor time, by process and thread, on Spark: `python -m benchmarks.adhoc_processor`.

Rounds of batches while nothing changes, and of as many in each of which queries are dropped and created, in turns. Wall clocks of a busy
machine say nothing; the ratio of both sums is what the throughput of a machine with cores to spare for nothing else would be.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.adhoc_scenarios import FULL, Site, grow, site
from benchmarks.runner import workspace
from thalweg.engine.beside import Beside

TICKS = os.sysconf("SC_CLK_TCK")
DRIVER, JVM, TASKS, ALL = "driver: ", "JVM", "tasks", "all"


def spent(ended: Counter[str]) -> Counter[str]:
    """Milliseconds of processor time so far: of the threads of this process, those that ended too, of the JVM and of the tasks."""
    found = Counter({f"{DRIVER}{name}": ms for name, ms in ended.items()})
    for thread in threading.enumerate():
        found[f"{DRIVER}{_group(thread.name)}"] += _of(Path(f"/proc/self/task/{thread.native_id}/stat"), 11)
    parents = {int(p.name): _parent(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdigit()}
    for pid in parents:
        if _is_below(pid, parents):
            stat = Path(f"/proc/{pid}/stat")
            is_jvm = "java" in _name(pid)
            found[JVM if is_jvm else TASKS] += _of(stat, 11) + (0 if is_jvm else _of(stat, 13))
    found[ALL] = sum(found.values())
    return found


def _group(name: str) -> str:
    return name if name.startswith("thalweg") or name == "changer" else "batches and listeners"


def _fields(stat: Path) -> list[str]:
    """What stands behind the name of a process or thread."""
    try:
        return stat.read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _of(stat: Path, first: int) -> int:
    return sum(map(int, _fields(stat)[first : first + 2])) * 1000 // TICKS


def _parent(pid: int) -> int:
    fields = _fields(Path(f"/proc/{pid}/stat"))
    return int(fields[1]) if fields else 0


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def _is_below(pid: int, parents: Mapping[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
        if pid == os.getpid():
            return True
    return False


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """What threads beside the batches took that have ended since."""
    ended, real = Counter[str](), Beside._run

    def run(self: Any) -> None:
        try:
            real(self)
        finally:
            ended[self._name] += round(thread_time() * 1000)

    Beside._run = run  # type: ignore[method-assign]
    try:
        yield ended
    finally:
        Beside._run = real  # type: ignore[method-assign]


def batches(at: Site, number: int, pairs: int, ended: Counter[str]) -> Counter[str]:
    """Processor milliseconds a batch, with so many queries dropped and as many created while each runs."""
    before, first = spent(ended), at.batches
    for _ in range(number):
        at.put()
        changer = threading.Thread(target=_change, args=(at, pairs, ended), name="changer")
        changer.start()
        at.taken()
        changer.join()
    after, count = spent(ended), at.batches - first
    return Counter({name: (after[name] - before[name]) // count for name in after})


def _change(at: Site, pairs: int, ended: Counter[str]) -> None:
    for _ in range(pairs):
        at.drop()
        at.create()
    ended["changer"] += round(thread_time() * 1000)


def main(
    pairs: Annotated[int, typer.Option(help="Queries dropped and created while a batch runs.")] = 4,
    live: Annotated[int, typer.Option(help="Queries that live.")] = 100,
    number: Annotated[int, typer.Option(help="Batches of a round.")] = 10,
    rounds: Annotated[int, typer.Option(help="Rounds, of which each is still, then changing.")] = 3,
    ways: Annotated[int, typer.Option(help="How many streams queries join.")] = 2,
) -> None:
    """Print both, and their ratio."""
    found = list[tuple[Counter[str], Counter[str]]]()
    with workspace("adhoc") as root, counted() as ended, site(root, ways, {}, FULL) as at:
        grow(at, live)
        batches(at, number, 0, ended)
        for _ in range(rounds):
            still = batches(at, number, 0, ended)
            found.append((still, batches(at, number, pairs, ended)))
            at.settled()
    title = f"processor ms a batch, median of {rounds} rounds, {live} queries, {pairs} come and {pairs} go in each"
    told = Table("", "still", "changing", title=title)
    for name in sorted({n for pair in found for c in pair for n in c}):
        both = [median(pair[i][name] for pair in found) for i in (0, 1)]
        told.add_row(name, *(f"{v:,.0f}" for v in both))
    ratios = ", ".join(f"{s[ALL] / c[ALL]:.2f}" for s, c in found)
    Console().print(told, f"rows for the same processor time, of those while nothing changes: {ratios}")


if __name__ == "__main__":
    typer.run(main)
