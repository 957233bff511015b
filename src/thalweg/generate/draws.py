"""Randomness as a pure function of (seed, event id, field): any event can be made alone.

The bits of an event are what splitmix64, started at a key made of seed and field, gives at the event's position.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Bits = NDArray[np.uint64]
Floats = NDArray[np.float64]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_LAST_SHIFT = np.uint64(31)
_LOW_BITS = np.uint64(12)
_UNIT = 2.0**-52


def bits(seed: int, ids: Ids, field: str) -> Bits:
    """64 random bits per event."""
    x = ids.view(np.uint64) * _GAMMA
    x += _key(seed, field)
    for shift, factor in _MIX:
        x ^= x >> shift
        x *= factor
    x ^= x >> _LAST_SHIFT
    return x


@lru_cache(maxsize=256)
def _key(seed: int, field: str) -> np.uint64:
    """The start of one field's sequence."""
    return np.uint64(int.from_bytes(blake2b(f"{seed}/{field}".encode(), digest_size=8).digest(), "little"))


def unit(random: Bits) -> Floats:
    """Uniform in [0, 1), from the upper 52 bits: the lower 12 remain for `one_in`."""
    return np.multiply((random >> _LOW_BITS).view(np.int64), _UNIT, dtype=np.float64)


def below(random: Bits, span: int | Ids) -> Ids:
    """Uniform whole numbers in [0, span)."""
    return (unit(random) * span).astype(np.int64)


def one_in(random: Bits, count: int) -> NDArray[np.bool_]:
    """True for one event in `count`, a power of two up to 4096, independent of `unit` and `below`."""
    chosen: NDArray[np.bool_] = random & np.uint64(count - 1) == 0
    return chosen
