"""Divisors of whole numbers, from which slides and ranges of factor windows are made."""

from __future__ import annotations

from functools import lru_cache

_LARGEST_TRIAL = 1 << 16


@lru_cache(maxsize=4096)
def factorized(number: int) -> tuple[tuple[int, int], ...]:
    """Prime factors with their exponents; exact below 2**32, above it a part without small factors may stay whole.

    >>> factorized(3600)
    ((2, 4), (3, 2), (5, 2))
    """
    found = []
    trial = 2
    while trial * trial <= number and trial <= _LARGEST_TRIAL:
        exponent = 0
        while number % trial == 0:
            number //= trial
            exponent += 1
        if exponent:
            found.append((trial, exponent))
        trial += 1 if trial == 2 else 2
    return (*found, (number, 1)) if number > 1 else tuple(found)


@lru_cache(maxsize=4096)
def divisors(number: int) -> tuple[int, ...]:
    """All divisors in ascending order.

    >>> divisors(12)
    (1, 2, 3, 4, 6, 12)
    """
    found = [1]
    for prime, exponent in factorized(number):
        found = [d * prime**e for d in found for e in range(exponent + 1)]
    return tuple(sorted(found))
