"""What the early-aggregation paper's formulas say of a join query, by the statistics that the engine's cost is reckoned from."""

from __future__ import annotations

from thalweg.logical.join import JoinInput, JoinQuery
from thalweg.optimizer.cost.early_aggregation import HASH, NESTED_LOOP, Stream, costs
from thalweg.optimizer.statistics import InputStatistics, JoinStatistics

SECOND = 1e6
ENDLESS = 3_600.0
"""The least seconds that a window without end is taken for; it is at least a hundred instants."""


def paper_costs(query: JoinQuery, statistics: JoinStatistics, method: str) -> dict[str, float]:
    """The cost of LAP and of each EAP, cheapest first; nothing where the joined rows are the result."""
    if query.every is None:
        return {}
    equated = {t.inputs[0] for e in query.equalities for t in (e.left, e.right)}
    endless, pairs = max(ENDLESS, 100 * query.every / SECOND), zip(query.inputs, statistics.inputs, strict=True)
    streams = [_stream(given, known, n in equated, endless) for n, (given, known) in enumerate(pairs)]
    found = costs(streams, join=NESTED_LOOP if method == "loop" else HASH)
    return dict(sorted(found.items(), key=lambda c: c[1]))


def _stream(given: JoinInput, known: InputStatistics, equated: bool, endless: float) -> Stream:
    """Table 2 of the paper: sigma is one in the values of what is equated, and g so that g / sigma are the distinct sets."""
    keys = max(known.keys, 1.0) if equated else 1.0
    length = endless if given.length is None else given.length / SECOND
    w = known.rate * length if given.is_stream else known.rows
    return Stream(known.rate, w, max(known.sets / keys, 1.0), 1 / keys)
