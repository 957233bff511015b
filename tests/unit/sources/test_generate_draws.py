"""Random bits by seed, event id and field."""

from __future__ import annotations

import numpy as np

from thalweg.generate import draws

IDS = np.arange(100_000, dtype=np.int64)


def splitmix64(key: int, position: int) -> int:
    """The definition, on Python's own integers."""
    mask = 2**64 - 1
    x = (key + position * 0x9E3779B97F4A7C15) & mask
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
    return x ^ (x >> 31)


def test_bits_are_splitmix64() -> None:
    key = int(draws._key(7, "price"))
    ids = np.array([0, 1, 2, 12345, 2**40], dtype=np.int64)
    assert draws.bits(7, ids, "price").tolist() == [splitmix64(key, id) for id in ids.tolist()]


def test_bits_depend_on_id_only_not_on_neighbours() -> None:
    assert (draws.bits(0, IDS, "x")[500:510] == draws.bits(0, IDS[500:510], "x")).all()


def test_seed_and_field_change_everything() -> None:
    base = draws.bits(0, IDS, "x")
    assert not (base == draws.bits(1, IDS, "x")).any()
    assert not (base == draws.bits(0, IDS, "y")).any()


def test_unit_is_uniform() -> None:
    values = draws.unit(draws.bits(0, IDS, "x"))
    assert 0 <= values.min() < 0.001 and 0.999 < values.max() < 1
    counts, _ = np.histogram(values, bins=100, range=(0, 1))
    assert abs(counts - 1000).max() < 150


def test_below_stays_below_even_for_the_largest_bits() -> None:
    largest = np.array([2**64 - 1], dtype=np.uint64)
    spans = [1, 3, 1000, 10**6, 3 * 10**15]
    assert [draws.below(largest, span)[0] for span in spans] == [span - 1 for span in spans]
    assert draws.below(largest, 0)[0] == 0


def test_one_in_is_independent_of_unit() -> None:
    random = draws.bits(0, IDS, "x")
    chosen = draws.one_in(random, 4)
    assert abs(chosen.mean() - 0.25) < 0.01
    assert abs(draws.unit(random)[chosen].mean() - 0.5) < 0.01
