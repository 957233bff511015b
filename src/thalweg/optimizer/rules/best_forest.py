"""The plan beyond the paper: candidates, local search, the optimum where the set is small, and chains of long steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from thalweg.model.windows import Window
from thalweg.optimizer.cost.edges import Edges, Vertex, Weigh
from thalweg.optimizer.forest import Forest
from thalweg.optimizer.rules.candidates import hops, links_of_links, slots
from thalweg.optimizer.rules.chain import Worthwhile, chain
from thalweg.optimizer.rules.improve import added, improve
from thalweg.optimizer.rules.optimum import optimum
from thalweg.optimizer.rules.ways import Ways, ways

CANDIDATES = 160

FEW = 20
"""Up to so many windows, links are candidates from the start."""

SMALL, STATES = 5, 1_000
"""Up to so many windows the optimum is searched for, through so many states."""

ROUNDS = 3


def best_forest(
    windows: Collection[Window],
    weigh: Weigh,
    worthwhile: Worthwhile,
    edges: Edges,
    seed: Collection[Window] = (),
) -> Forest:
    """The cheapest plan found; `seed` are the factor windows of another plan, which the search may start from."""
    asked = [weigh(w, False) for w in windows]
    candidates = (
        set(filter(worthwhile, _candidates(windows, worthwhile, edges))).union(seed).difference(windows)
    )
    graph = ways([*asked, *_promising(asked, candidates, weigh, edges)], edges)
    chosen = min((improve(graph, start) for start in _starts(graph, windows, seed)), key=graph.cost)
    if edges.features.search and len(asked) <= SMALL:
        better, _ = optimum(graph, graph.cost(chosen), STATES)
        chosen = better or chosen
    return _chained(graph, chosen, weigh, worthwhile, edges)


def _starts(graph: Ways, windows: Collection[Window], seed: Collection[Window]) -> set[frozenset[int]]:
    """Plans to improve from: no factor windows, those of another plan, a slot for each window, and the best of all slots."""
    own = {_slot(w) for w in windows}
    slots_only = frozenset(i for i, v in enumerate(graph.vertices) if v.window.tumbling)
    given = (frozenset(i for i, v in enumerate(graph.vertices) if v.window in start) for start in (seed, own))
    return {graph.asked, *(start | graph.asked for start in given), added(graph, graph.asked, slots_only)}


def _candidates(windows: Collection[Window], worthwhile: Worthwhile, edges: Edges) -> set[Window]:
    common = set(filter(worthwhile, slots(windows)))
    found = common | hops(windows)
    if edges.features.chains and len(windows) <= FEW:
        found |= links_of_links(windows, common, edges.traits, CANDIDATES)
    return found


def _promising(asked: list[Vertex], candidates: Iterable[Window], weigh: Weigh, edges: Edges) -> set[Vertex]:
    """The candidates that would save most over computing each window from the rows, among slots and among the others.

    By cost alone, the links of one dear window would leave no room for what all windows have in common, so savings are also
    ranked in parts of each window's own cost.
    """
    mean = sum(w.root for w in asked) / len(asked)
    by_cost: dict[Vertex, float] = {}
    by_part: dict[Vertex, float] = {}
    for c in (weigh(f, True) for f in sorted(candidates)):
        gains = [(w.root - cost, 1 - cost / w.root) for w in asked if (cost := edges.cost(w, c)) < w.root]
        if gains and (edges.features.slots or not c.window.tumbling or len(gains) > 1):
            price = min(c.root, edges.cost(c, weigh(_slot(c.window), False)))
            by_cost[c] = sum(gain for gain, _ in gains) - price
            by_part[c] = sum(part for _, part in gains) - price / mean
    found: set[Vertex] = set()
    for saved in (by_cost, by_part):
        ranked = sorted(saved, key=saved.__getitem__, reverse=True)
        found.update([c for c in ranked if c.window.tumbling][: CANDIDATES // 4])
        found.update([c for c in ranked if not c.window.tumbling][: CANDIDATES // 4])
    return found


def _chained(
    graph: Ways, chosen: frozenset[int], weigh: Weigh, worthwhile: Worthwhile, edges: Edges
) -> Forest:
    """Long steps are split into chains, whose links any window may use, as long as that makes the plan cheaper."""
    for _ in range(ROUNDS if edges.features.chains else 0):
        present = [graph.vertices[i] for i in chosen]
        known = {v.window for v in present}
        new = {
            f
            for step in graph.forest(chosen, edges)
            for f in chain(step.window, step.source, weigh, worthwhile, edges)
        } - known
        wider = ways([*present, *(weigh(f, True) for f in sorted(new))], edges)
        better = improve(wider, [i for i, v in enumerate(wider.vertices) if v.factor])
        if wider.cost(better) >= graph.cost(chosen) * (1 - 1e-9):
            break
        graph, chosen = wider, better
    return graph.forest(chosen, edges)


def _slot(w: Window) -> Window:
    return Window(w.grain, w.grain, w.offset)
