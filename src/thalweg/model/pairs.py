"""Means of pairs of numbers and their distances from them, in Chan's parallel form, as a part."""

from __future__ import annotations

from collections.abc import Callable

from thalweg.model.parts import Call, Part

Lower = Callable[[tuple[str, ...], tuple[str, ...], tuple[str, ...]], str]


def _noise(value: str) -> str:
    """What a value adds by itself: nothing, but NaN where it is infinite or NaN."""
    return f"0 * ({value})::DOUBLE"


_MERGE_PAIRS = (
    "lambda p, q: {'n': p.n + q.n, 'x': p.x + (q.x - p.x) * q.n / (p.n + q.n), 'y': p.y + (q.y - p.y) * q.n / (p.n + q.n), "
    "'xx': p.xx + q.xx + (q.x - p.x) * (q.x - p.x) * p.n * q.n / (p.n + q.n), "
    "'yy': p.yy + q.yy + (q.y - p.y) * (q.y - p.y) * p.n * q.n / (p.n + q.n), "
    "'xy': p.xy + q.xy + (q.x - p.x) * (q.y - p.y) * p.n * q.n / (p.n + q.n)}"
)


def _lifted_pairs(c: Call) -> str:
    """Counts, means, squared distances and their product, of the rows that have both numbers."""
    x, y = (f"({a})::DOUBLE" for a in c.args)
    n = c.of("count", "*", c.complete)

    def noisy(function: str, args: str, noise: str) -> str:
        return f"{c.of(function, args, c.complete)} * {n} + {c.of('max', noise, c.complete)}"

    return (
        f"{{'n': {n}::DOUBLE, 'x': {c.of('avg', x, c.complete)}, 'y': {c.of('avg', y, c.complete)}, "
        f"'xx': {noisy('var_pop', x, f'0 * {x}')}, 'yy': {noisy('var_pop', y, f'0 * {y}')}, "
        f"'xy': {noisy('covar_pop', f'{x}, {y}', f'0 * {x} * {y}')}}}"
    )


PAIRS = Part(
    "pairs",
    _lifted_pairs,
    lambda column, over="": (
        f"list_reduce(list({column}) FILTER (WHERE {column}.n > 0){over}, {_MERGE_PAIRS})"
    ),
    unit=lambda c: c.one(
        f"{{'n': 1::DOUBLE, 'x': ({c.args[0]})::DOUBLE, 'y': ({c.args[1]})::DOUBLE, 'xx': {_noise(c.args[0])}, "
        f"'yy': {_noise(c.args[1])}, 'xy': {_noise(c.args[0])} * ({c.args[1]})::DOUBLE}}",
        c.complete,
    ),
    weigh=lambda part, weight: (
        f"CASE WHEN {part} IS NOT NULL THEN {{'n': {part}.n * {weight}, 'x': {part}.x, 'y': {part}.y, "
        f"'xx': {part}.xx * {weight}, 'yy': {part}.yy * {weight}, 'xy': {part}.xy * {weight}}} END"
    ),
)


def covariance(divisor: str) -> Lower:
    """The mean product of distances; of a single row there is no sample's."""
    return lambda p, t, a: (
        f"CASE WHEN {p[0]}.n > {1 if '-' in divisor else 0} THEN {p[0]}.xy / ({p[0]}.{divisor}) END"
    )


def correlation(parts: tuple[str, ...], types: tuple[str, ...], params: tuple[str, ...]) -> str:
    """The covariance in units of both spreads; where one of them is 0 there is none."""
    p = parts[0]
    return f"{p}.xy / nullif(sqrt(greatest({p}.xx, 0)) * sqrt(greatest({p}.yy, 0)), 0)"
