"""The words of EXPLAIN that are its own, each in a line; only those that occur are said."""

from __future__ import annotations

import re
from collections.abc import Iterator

from thalweg.compile.evaluations import EVALUATIONS

WORDS: tuple[tuple[str, str, str], ...] = (
    ("engine", r"costs +engine", "hash-table updates in a batch"),
    (
        "paper, R",
        r"paper, R =",
        "events in a period R, the least common multiple of the ranges, at one per time unit",
    ),
    (
        "rows in, rows out",
        r"rows in ",
        "expected per batch; state rows: kept between batches; cost: hash-table updates in a batch",
    ),
    (
        "measured, ms",
        r"state +measured",
        "of the last batch, added over its tasks; ·: measured with the results of its query",
    ),
    (
        "all, sparse, prefix",
        r"[├└]─ .* (?:all|sparse|prefix) ",
        "how instances of the source are combined: all, as few as cover, or by running totals",
    ),
    (
        "rolled",
        r"[├└]─ .* rolled ",
        "made of the partial aggregates by more keys, before the exchange, in the place of the rows",
    ),
    (
        "factor",
        r"\(factor\)",
        "a window that no query asks for: others are cheaper to compute from it than from the rows",
    ),
    (
        "partials",
        r" partials  ",
        "distinct values of what partial aggregates are kept by; join keys: of what is equated",
    ),
    ("instant", r"\binstants?\b", "a time at which results of a join are given out, a multiple of EVERY"),
    ("LAP", r"\bLAP\b", "late aggregation: all inputs are kept as rows, and joined rows aggregated"),
    (
        "EAP",
        r"\bEAP\d",
        "early aggregation, a digit per input: 1 partially aggregated before the shuffle, 0 kept as rows",
    ),
    *((e.name, rf"(?:LAP|EAP\d+) {e.name}", e.words) for e in EVALUATIONS.values() if e.name != "rows"),
    ("ms/s", r"\bms/s", "work per second of stream; state rows, bytes: kept; pairs/s: joined rows made"),
    (
        "adds",
        r"\n  adds ",
        "what would be saved without the query: the plan of all beside that of all others",
    ),
    ("of best", r"of best", "beside the cheapest plan; >: in force; <: until the handover is over"),
    ("by the paper", r"by the paper:", "the plans by the formulas of early aggregation, beside its cheapest"),
    (
        "share",
        r"cost +share",
        "of the cost of all windows, or of all joins; what several queries use is split evenly",
    ),
)
"""A word, where it occurs, and what it means."""


def glossary(text: str) -> Iterator[str]:
    """A line for each word that a text has and does not explain itself."""
    plain = " ".join(text.split())
    for word, where, meaning in WORDS:
        if re.search(where, text) and meaning not in plain:
            yield f"{word}: {meaning}"
