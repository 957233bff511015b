"""The window sets of the paper's evaluation: RandomGen (algorithm 6) and SequentialGen."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from thalweg.model.windows import Window

SEED_SLIDES = (5, 10, 20)
SEED_RANGES = (2, 5, 10)
MULTIPLIER = 50


def random_gen(
    n: int,
    tumbling: bool,
    seed: int,
    slides: Sequence[int] = SEED_SLIDES,
    ranges: Sequence[int] = SEED_RANGES,
    k: int = MULTIPLIER,
    unit: int = 1,
) -> tuple[Window, ...]:
    """RandomGen: n different windows, each a random multiple from 2 to k of a random seed range or slide.

    >>> random_gen(3, True, seed=1)
    (Window(range=76, slide=76, offset=0), Window(range=36, slide=36, offset=0), Window(range=66, slide=66, offset=0))
    """
    random = Random(seed)
    seeds = ranges if tumbling else slides
    if n > (different := len({s * i for s in seeds for i in range(2, k + 1)})):
        raise ValueError(f"multiples of {seeds} up to {k} make {different} windows, not {n}")
    found: dict[Window, None] = {}
    while len(found) < n:
        found[_window(random.choice(seeds) * random.randint(2, k) * unit, tumbling)] = None
    return tuple(found)


def sequential_gen(
    n: int,
    tumbling: bool,
    seed: int,
    slides: Sequence[int] = SEED_SLIDES,
    ranges: Sequence[int] = SEED_RANGES,
    k: int = MULTIPLIER,
    unit: int = 1,
) -> tuple[Window, ...]:
    """SequentialGen: n windows in the order 2, 3, ... (at most k) times a random seed range or slide.

    >>> [(w.range, w.slide) for w in sequential_gen(3, False, seed=1, slides=(5,))]
    [(20, 10), (30, 15), (40, 20)]
    """
    if n > k - 1:
        raise ValueError(f"a sequence from 2 to {k} has no {n} windows")
    first = Random(seed).choice(ranges if tumbling else slides)
    return tuple(_window(first * i * unit, tumbling) for i in range(2, n + 2))


def _window(length: int, tumbling: bool) -> Window:
    return Window(length, length) if tumbling else Window(2 * length, length)
