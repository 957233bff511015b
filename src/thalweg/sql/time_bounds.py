"""Joins whose conditions say how far apart event times may be: the windows that follow from them.

`b.at BETWEEN a.at AND a.at + INTERVAL 10 MINUTES` keeps rows of a for ten minutes, and rows of b for no time at all. The conditions are
asked of every combination all the same, so a window may be longer than they need, and is rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product

from sqlglot import exp

from thalweg.expr.nodes import Call, Column, Expr, Literal
from thalweg.model.durations import LONGEST, DurationError, parse_duration
from thalweg.model.nesting import is_nested
from thalweg.model.query import RANGE, TUMBLE, UNBOUNDED, joined_name
from thalweg.model.stream import Stream
from thalweg.model.windows import UNITS
from thalweg.sql.inner import ENDS
from thalweg.sql.inputs import NO_WINDOW, Input, Known, no_window
from thalweg.sql.join_conditions import JoinConditions
from thalweg.sql.refusals import table_references
from thalweg.sql.source import Source

Apart = dict[tuple[int, int], int]
"""By two inputs, how many microseconds the event time of the first may be above that of the second."""
Times = dict[str, tuple[int, int]]
"""By columns of the joined row that follow from event times: of which input, and how many microseconds they are after it."""
Moment = tuple[str, int]
"""An event time, by its column in the joined row, and microseconds that are added to it."""
IMPLIED = "implied"
"""Marks a window that the query doesn't say."""
_HINT = f"{NO_WINDOW}, or say how far its time may be from the others', before and after them"
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_LEAST_STEP, _FEWEST_STEPS = 1_000, 20
_STEPS = [times * micros for _, micros in UNITS for times in (1, 10) if times * micros >= _LEAST_STEP]


def bounded(
    source: Source, select: exp.Select, inputs: tuple[Input, ...], conditions: JoinConditions, known: Known
) -> tuple[Input, ...]:
    """The inputs, with the windows that conditions say where the query says none."""
    missing = [n for n, i in enumerate(inputs) if i.kind == RANGE and i.length is None]
    tables = table_references(source, select)
    if not missing:
        _check_implied(source, tables, inputs, conditions)
        return inputs
    apart, streams = _apart(inputs, conditions, known), _streams(inputs)
    needed: dict[int, int] = {}
    for n in missing:
        above = [apart.get((other, n), LONGEST) for other in streams if other != n]
        if max(above) >= LONGEST or any(i.kind == TUMBLE for i in inputs):
            if missing == streams and _meet(inputs, conditions):
                return tuple(replace(i, kind=UNBOUNDED) if k in streams else i for k, i in enumerate(inputs))
            raise no_window(source, tables[n], inputs[n], _HINT)
        needed[n] = max(0, *above) + 1
    longest = max(*needed.values(), *(i.length or 0 for i in inputs))
    step = max((s for s in _STEPS if s * _FEWEST_STEPS <= longest), default=_LEAST_STEP)
    return tuple(
        replace(i, length=-(-needed[n] // step) * step) if n in needed else i for n, i in enumerate(inputs)
    )


def _check_implied(
    source: Source, tables: Sequence[exp.Table], inputs: tuple[Input, ...], conditions: JoinConditions
) -> None:
    """Refuse to keep all rows of streams for ever that no equality brings together."""
    for table, given in zip(tables, inputs, strict=True):
        window = table.args.get("window")
        is_implied = window is not None and window.meta.get(IMPLIED)
        if is_implied and len(_streams(inputs)) > 1 and not _meet(inputs, conditions):
            raise no_window(source, table, given)


def _streams(inputs: tuple[Input, ...]) -> list[int]:
    return [n for n, i in enumerate(inputs) if isinstance(i.origin, Stream)]


def _meet(inputs: tuple[Input, ...], conditions: JoinConditions) -> bool:
    """Whether declared streams are joined by equalities, each with something else, and no row needs no partner: rows of such a join may be
    kept for ever though nobody says so."""
    streams, met = (
        _streams(inputs),
        {n for e in conditions.equalities for n in (*e.left.inputs, *e.right.inputs)},
    )
    return (
        not conditions.attached
        and met >= set(streams)
        and not any(is_nested(inputs[n].origin.name) for n in streams)
    )


def _times(inputs: tuple[Input, ...], known: Known) -> Times:
    """Event times, and of results the ends of their windows: these are the microsecond after it."""
    found: Times = {}
    for n, given in enumerate(inputs):
        if isinstance(given.origin, Stream):
            inner = known.within.get(given.origin.name)
            ends = () if inner is None else inner.columns_of(ENDS)
            found |= {joined_name(given.alias, name): (n, 1) for name in ends}
            found[joined_name(given.alias, given.origin.time)] = n, 0
    return found


def _apart(inputs: tuple[Input, ...], conditions: JoinConditions, known: Known) -> Apart:
    """How far apart event times may be, by all conditions together: a bound from x to y and one from y to z are one from x to z."""
    times, streams = _times(inputs, known), _streams(inputs)
    apart: Apart = {}
    for pair, bound in (*_said(times, conditions), *_windows(inputs, streams)):
        apart[pair] = min(bound, apart.get(pair, bound))
    for via, (one, other) in product(streams, list(permutations(streams, 2))):
        if (one, via) in apart and (via, other) in apart:
            through = apart[one, via] + apart[via, other]
            apart[one, other] = min(through, apart.get((one, other), through))
    return apart


def _windows(inputs: tuple[Input, ...], streams: Iterable[int]) -> Iterator[tuple[tuple[int, int], int]]:
    """What a window that the query says allows: no row is its length or more above the one in it."""
    for one, other in permutations(streams, 2):
        if inputs[other].kind == RANGE and (length := inputs[other].length) is not None:
            yield (one, other), length - 1


def _said(times: Times, conditions: JoinConditions) -> Iterator[tuple[tuple[int, int], int]]:
    """What each condition says."""
    compared = [("=", e.left.expr, e.right.expr) for e in conditions.equalities]
    for term in (*conditions.residue, *(t for a in conditions.attached for t in a.on)):
        if isinstance(term.expr, Call) and term.expr.function in _FLIPPED and len(term.expr.args) == 2:
            compared.append((term.expr.function, *term.expr.args))
    for function, left, right in compared:
        for sign, low, high in ((function, left, right), (_FLIPPED[function], right, left)):
            if sign in ("<", "<=", "=") and (found := _difference(times, low, high)) is not None:
                pair, bound = found
                yield pair, bound - (sign == "<")


def _difference(times: Times, low: Expr, high: Expr) -> tuple[tuple[int, int], int] | None:
    """Of `low <= high`: which event time is at most how much above which."""
    one, other = _moment(low), _moment(high)
    if one is not None and other is not None:
        return _between(times, one[0], other[0], other[1] - one[1])
    for sign, difference, length in ((1, low, _length(high)), (-1, high, _length(low))):
        if length is not None and isinstance(difference, Call) and difference.function == "-":
            first, second = map(_moment, difference.args)
            if first is not None and second is not None:
                (x, y) = (first, second) if sign == 1 else (second, first)
                return _between(times, x[0], y[0], sign * length + y[1] - x[1])
    return None


def _between(times: Times, one: str, other: str, bound: int) -> tuple[tuple[int, int], int] | None:
    if one not in times or other not in times or times[one][0] == times[other][0]:
        return None
    (first, after), (second, later) = times[one], times[other]
    return (first, second), bound - after + later


def _moment(expr: Expr) -> Moment | None:
    """An event time, or one to which a fixed length is added."""
    if isinstance(expr, Column):
        return expr.name, 0
    if isinstance(expr, Call) and expr.function in ("+", "-") and len(expr.args) == 2:
        first, length = _moment(expr.args[0]), _length(expr.args[1])
        if first is not None and length is not None:
            return first[0], first[1] + (length if expr.function == "+" else -length)
    return None


def _length(expr: Expr) -> int | None:
    """The microseconds of an INTERVAL that has no months."""
    if not isinstance(expr, Literal) or expr.type != "INTERVAL" or expr.value is None:
        return None
    try:
        found = parse_duration(expr.value)
    except DurationError:
        return None
    return None if found.months else found.micros
