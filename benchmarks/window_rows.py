"""The window sets of the factor-windows benchmark: the rows of the paper's tables, and lengths that share no factor.

The paper's time unit is one second here. Its streams have one event per unit; ours have `rate` of them, since windows of
4 to 2,000 units over 10 M events need 10,000 units or more, and an engine that works in batches shows its worth on many
rows per unit. `--rate 1` gives the paper's pace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from benchmarks.paper_tables import REAL, ROWS
from thalweg.model.windows import SECOND, Window
from thalweg.optimizer.window_sets import random_gen, sequential_gen

MILLISECOND = 1_000


@dataclass(frozen=True)
class WindowSet:
    """A set of windows of one row, as often as the generator drew it."""

    row: str
    number: int
    windows: tuple[Window, ...]
    times: int = 1


def paper_sets(row: str, count: int) -> Iterator[WindowSet]:
    """`count` sets of a row such as `S-20-tumbling`. SequentialGen has three seeds only, so its sets repeat; each is run once.

    >>> [(s.number, s.times, len(s.windows)) for s in paper_sets("S-5-tumbling", 10)]
    [(0, 3, 5), (1, 5, 5), (2, 2, 5)]
    """
    generator, size, kind = row.removeprefix(REAL).split("-")
    generate = random_gen if generator == "R" else sequential_gen
    drawn = [generate(int(size), kind == "tumbling", seed, unit=SECOND) for seed in range(count)]
    for number, windows in enumerate(dict.fromkeys(drawn)):
        yield WindowSet(row, number, windows, drawn.count(windows))


def random_lengths(count: int, seed: int = 0) -> WindowSet:
    """Tumbling windows of random real lengths from 1 to 20 seconds, to the millisecond: few factors in common."""
    random = Random(seed)
    lengths = random.sample(range(1_000, 20_000), count)
    return WindowSet(
        f"lengths-{count}", seed, tuple(Window(n * MILLISECOND, n * MILLISECOND) for n in lengths)
    )


def rows_named(chosen: str, rows: Iterable[str] = ROWS) -> list[str]:
    """The rows of tables whose name contains one of the texts given, separated by commas; all where there is none.

    >>> rows_named("S-20"), len(rows_named(""))
    (['S-20-tumbling', 'S-20-hopping'], 16)
    """
    return [row for row in rows if any(part in row for part in chosen.split(","))]
