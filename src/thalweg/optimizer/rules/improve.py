"""Local search: factor windows are added, dropped and replaced as long as a plan gets cheaper."""

from __future__ import annotations

from collections.abc import Iterable

from thalweg.optimizer.rules.ways import Ways

_REPLACEMENTS = 30_000
"""Replacing is tried where it looks at no more options than this."""

_EPSILON = 1e-12


def improve(graph: Ways, factors: Iterable[int] = ()) -> frozenset[int]:
    """The windows of a plan in which no factor window can be added, dropped or replaced at a gain."""
    everything = frozenset(range(len(graph.vertices)))
    chosen = _dropped(graph, added(graph, graph.asked.union(factors), everything))
    while True:
        better = _dropped(graph, added(graph, _replaced(graph, chosen), everything))
        if graph.cost(better) >= graph.cost(chosen) * (1 - _EPSILON):
            return chosen
        chosen = better


def added(graph: Ways, chosen: frozenset[int], candidates: frozenset[int]) -> frozenset[int]:
    """Candidates are added, the one of the greatest gain first, while one pays for itself."""
    paid = _paid(graph, chosen)
    candidates = candidates - chosen
    while candidates:
        gain, best = max((_gain(graph, c, paid), c) for c in candidates)
        if gain <= sum(paid.values()) * _EPSILON:
            break
        candidates -= {best}
        paid[best] = graph.cheapest(best, paid)[0]
        for w, cost in graph.users[best]:
            if w in paid and cost < paid[w]:
                paid[w] = cost
    return frozenset(paid)


def _dropped(graph: Ways, chosen: frozenset[int]) -> frozenset[int]:
    """Factor windows that save no more than they cost are left out, the longest first."""
    paid = _paid(graph, chosen)
    for f in sorted(chosen - graph.asked, reverse=True):
        if (left := _without(graph, f, paid)) is not None:
            paid = left
    return frozenset(paid)


def _replaced(graph: Ways, chosen: frozenset[int]) -> frozenset[int]:
    """The cheapest plan with one factor window in the place of another."""
    factors = chosen - graph.asked
    if len(factors) * sum(map(len, graph.options)) > _REPLACEMENTS:
        return chosen
    least, best = graph.cost(chosen), chosen
    for f in factors:
        paid = _paid(graph, chosen - {f})
        gain, c = max(
            ((_gain(graph, c, paid), c) for c in range(len(graph.vertices)) if c not in chosen),
            default=(0.0, f),
        )
        if (cost := sum(paid.values()) - gain) < least:
            least, best = cost, chosen - {f} | {c}
    return best


def _paid(graph: Ways, chosen: frozenset[int]) -> dict[int, float]:
    return {i: graph.cheapest(i, chosen)[0] for i in chosen}


def _gain(graph: Ways, c: int, paid: dict[int, float]) -> float:
    """What adding a candidate to a plan would save."""
    saved = sum(paid[w] - cost for w, cost in graph.users[c] if w in paid and cost < paid[w])
    return saved - graph.cheapest(c, paid)[0] if saved else -graph.vertices[c].root


def _without(graph: Ways, f: int, paid: dict[int, float]) -> dict[int, float] | None:
    """What the windows of a plan cost without one of its factor windows, if that is no dearer."""
    rest = {i: cost for i, cost in paid.items() if i != f}
    moved = {w: graph.cheapest(w, rest)[0] for w, cost in graph.users[f] if paid.get(w) == cost}
    if sum(moved.values()) - sum(paid[w] for w in moved) > paid[f]:
        return None
    return rest | moved
