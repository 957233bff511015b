"""The optimum by search: the factor windows, among candidates, with which a window set costs least.

With factor windows allowed the problem is a Steiner tree, NP-hard, but small sets are solved outright. A state is the set
of windows still to be computed. The one of the highest number is computed from the rows, from another of the set, or from
a candidate, which is then in the set too; a source always has a lower number than its users, so a window that was
computed is never needed again. A* finds the cheapest way to the empty set.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

from thalweg.optimizer.rules.ways import ROWS, Ways


def optimum(graph: Ways, most: float = inf, states: int = 100_000) -> tuple[frozenset[int] | None, bool]:
    """The windows of the cheapest plan, None if it does not cost less than `most`, and whether the search came to its end."""
    least = [options[0][0] for options in graph.options]
    start = sum(1 << i for i in graph.asked)
    bound = sum(least[i] for i in graph.asked)
    heap: list[tuple[float, int, frozenset[int]]] = [(bound, start, graph.asked)]
    reached = {start: bound}
    done: set[int] = set()
    while heap and len(done) < states:
        bound, state, chosen = heappop(heap)
        if state == 0:
            return chosen, True
        if state in done:
            continue
        done.add(state)
        last = state.bit_length() - 1
        rest = state ^ 1 << last
        for cost, source in graph.options[last]:
            free = source == ROWS or rest >> source & 1
            after = rest if free else rest | 1 << source
            total = bound - least[last] + cost + (0 if free else least[source])
            if total < min(most, reached.get(after, inf)):
                reached[after] = total
                heappush(heap, (total, after, chosen if free else chosen | {source}))
            if free:
                break  # what follows is dearer and leaves no less to compute
    return None, not heap
