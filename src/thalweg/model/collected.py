"""Parts that hold the values of rows: bags, lists in the order of event times; and bits of whole numbers."""

from __future__ import annotations

from thalweg.model.parts import Part


def _flat(column: str, over: str = "") -> str:
    return f"flatten(list({column}) FILTER (WHERE {column} IS NOT NULL){over})"


def _repeated(part: str, weight: str) -> str:
    return f"flatten(list_transform(range(({weight})::BIGINT), lambda i: {part}))"


BAG = Part(
    "bag",
    lambda c: c.of("list", c.args[0], c.complete),
    _flat,
    unit=lambda c: c.one(f"[{c.args[0]}]", c.complete),
    weigh=_repeated,
)
TIMED = Part(
    "timed",
    lambda c: c.of("list", f"{{'o': {c.time}, 'v': {c.args[0]}}}", c.complete),
    _flat,
    unit=lambda c: c.one(f"[{{'o': {c.time}, 'v': {c.args[0]}}}]", c.complete),
    weigh=_repeated,
)
BITS = Part(
    "bits",
    lambda c: c.of("bit_xor", c.args[0]),
    lambda column, over="": f"bit_xor({column}){over}",
    weigh=lambda part, weight: f"CASE WHEN {weight} % 2 = 0 THEN {part} & 0 ELSE {part} END",
)


def sorted_by_time(parts: tuple[str, ...], types: tuple[str, ...], params: tuple[str, ...]) -> str:
    """Values by event time, those of one time by themselves, so that no batch split changes the list."""
    return f"coalesce(list_transform(list_sort({parts[0]}), lambda __it: __it.v), [])"


def most_frequent(parts: tuple[str, ...], types: tuple[str, ...], params: tuple[str, ...]) -> str:
    """The value that most rows have; of several the least."""
    counts = f"map_entries(list_aggregate({parts[0]}, 'histogram'))"
    ranked = f"list_transform({counts}, lambda __it: {{'n': -(__it.value::BIGINT), 'v': __it.key}})"
    return f"list_sort({ranked})[1].v"
