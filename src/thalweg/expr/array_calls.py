"""What is made of arrays and maps, as DuckDB's SQL: Spark keeps the order of elements, and takes one NULL for another."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from thalweg.expr.nodes import Call, Expr, Variable
from thalweg.expr.pieces import Piece, shared

MOST = 100_000
"""Elements beyond which an array is not made."""


def variables(call: Call) -> tuple[str, ...]:
    """The names of what a lambda is a function of, quoted."""
    return tuple(Variable(name, "").named for name in call.params)


def _lambda(call: Call, body: Expr) -> str:
    return f"lambda {', '.join(variables(call))}: {body.sql}"


def _with(write: Callable[..., str]) -> Callable[[Call], str]:
    return lambda call: shared(write, *(a.operand for a in call.args))


def _distinct(array: str) -> str:
    return f"list_filter({array}, lambda __e, __n: list_position({array}, __e) = __n)"


def _kept(array: str, other: str, kept: str) -> str:
    """The different elements of which another array has, or has not, one."""
    found = f"list_filter({array}, lambda __e: coalesce(list_position({other}, __e), 0) {kept})"
    return f"CASE WHEN {other} IS NOT NULL THEN {_distinct(f'({found})')} END"


def _united(one: str, other: str) -> str:
    return f"CASE WHEN {one} IS NOT NULL AND {other} IS NOT NULL THEN {_distinct(f'list_concat({one}, {other})')} END"


def _overlap(one: str, other: str) -> str:
    """NULL where one that is not known may be in both."""
    known = f"list_count({one}) = len({one}) AND list_count({other}) = len({other})"
    some = f"list_has_any({one}, {other})"
    empty = f"len({one}) = 0 OR len({other}) = 0"
    return f"CASE WHEN {one} IS NULL OR {other} IS NULL THEN NULL WHEN {some} THEN TRUE WHEN {empty} OR {known} THEN FALSE END"


def _slice(array: str, start: str, length: str) -> str:
    """From a place on, or from one that is counted from the end."""
    first = f"CASE WHEN {start} < 0 THEN len({array}) + {start} + 1 ELSE {start} END"
    cut = f"list_slice({array}, {first}, ({first}) + CAST({length} AS BIGINT) - 1)"
    outside = f"CASE WHEN {start} < -len({array}) OR {start} > len({array}) OR {length} = 0 THEN list_slice({array}, 1, 0) ELSE {cut} END"
    return f"CASE WHEN {start} <> 0 AND {length} >= 0 THEN {outside} END"


def _flattened(array: str) -> str:
    return f"CASE WHEN list_count({array}) = len({array}) THEN flatten({array}) END"


def _added(write: str) -> Callable[[Call], str]:
    return _with(lambda array, value: f"CASE WHEN {array} IS NOT NULL THEN {write.format(array, value)} END")


def _removed(array: str, value: str) -> str:
    rest = f"list_filter({array}, lambda __e: __e IS DISTINCT FROM {value})"
    return f"CASE WHEN {value} IS NOT NULL THEN {rest} END"


def _repeated(value: str, count: str) -> str:
    made = f"list_transform(range(greatest(CAST({count} AS BIGINT), 0)), lambda __e: {value})"
    return f"CASE WHEN {count} <= {MOST} THEN {made} END"


def _sorted(order: str) -> Callable[[Call], str]:
    return lambda call: f"list_sort({call.args[0].sql}, {order})"


def _transformed(call: Call) -> str:
    return f"list_transform({call.args[0].sql}, {_lambda(call, call.args[1])})"


def _filtered(call: Call) -> str:
    return f"list_filter({call.args[0].sql}, {_lambda(call, call.args[1])})"


def _asked(sure: str, other: str) -> Callable[[Call], str]:
    """Whether a condition holds for some, or for all; NULL where that is not known."""

    def write(call: Call) -> str:
        def answer(answers: str) -> str:
            none = f"list_count({answers}) = len({answers})"
            return f"CASE WHEN list_contains({answers}, {sure}) THEN {sure} WHEN {none} THEN {other} END"

        return shared(answer, _transformed(call))

    return write


def _reduced(call: Call) -> str:
    array, begin, body = call.args
    return f"list_reduce({array.sql}, {_lambda(call, body)}, {begin.sql})"


def _entries(call: Call) -> str:
    return f"map_entries({call.args[0].sql})"


_WRITTEN: Mapping[str, Callable[[Call], str]] = {
    "ARRAY_DISTINCT": _with(_distinct),
    "ARRAY_UNION": _with(_united),
    "ARRAY_INTERSECT": _with(lambda one, other: _kept(one, other, "> 0")),
    "ARRAY_EXCEPT": _with(lambda one, other: _kept(one, other, "= 0")),
    "ARRAYS_OVERLAP": _with(_overlap),
    "ARRAY_APPEND": _added("list_append({0}, {1})"),
    "ARRAY_PREPEND": _added("list_prepend({1}, {0})"),
    "ARRAY_REMOVE": _with(_removed),
    "ARRAY_COMPACT": lambda call: f"list_filter({call.args[0].sql}, lambda __e: __e IS NOT NULL)",
    "ARRAY_REPEAT": _with(_repeated),
    "ARRAY_REVERSE": lambda call: f"list_reverse({call.args[0].sql})",
    "ARRAY_SORT": _sorted("'ASC', 'NULLS LAST'"),
    "SORT_ARRAY": _sorted("'ASC', 'NULLS FIRST'"),
    "SORT_ARRAY_DOWN": _sorted("'DESC', 'NULLS LAST'"),
    "SLICE": _with(_slice),
    "FLATTEN": _with(_flattened),
    "MAP_ENTRIES": _entries,
    "MAP_FROM_ARRAYS": lambda call: f"TRY(map({call.args[0].sql}, {call.args[1].sql}))",
    "TRANSFORM": _transformed,
    "FILTER": _filtered,
    "EXISTS": _asked("TRUE", "FALSE"),
    "FORALL": _asked("FALSE", "TRUE"),
    "AGGREGATE": _reduced,
}


def _piece(write: Callable[[Call], str]) -> Callable[[Call], Piece]:
    return lambda call: Piece(write(call))


ARRAY_CALLS: Mapping[str, Callable[[Call], Piece]] = {name: _piece(w) for name, w in _WRITTEN.items()}
