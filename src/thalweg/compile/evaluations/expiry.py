"""Credit every pair to the instant of its death (TC): an instant merges what was born and has not died.

Nothing is ever taken back, so any aggregate that can be combined will do. State: partial results by (group, last instant).
"""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.compile.evaluations.base import KEPT, SENT, Evaluation, Meetings, Moment, Statements, Step, Work
from thalweg.compile.inputs import clipped, merged_lives, one_each, pairs_of, standing, turns
from thalweg.compile.views import AS_SAID, PAIRS, combined_parts, grouped
from thalweg.optimizer.cost.join_engine import SECOND, CostedJoin, grouping
from thalweg.plan.ranges import LOWEST, Range
from thalweg.plan.shape import Shape
from thalweg.statistics.records import JoinStatistics

# Lives up to which pairs are merged by them; beyond that most pairs would have one of their own.
FEW_LIVES = 10_000


def new_slots(shape: Shape, moment: Moment) -> Range:
    """The slots whose pairs are new. After another cut of the hash ranges, and where this way takes over, all are: what is kept must be
    of the rows that are here."""
    low = LOWEST if moment.final[0] == LOWEST or moment.again else (moment.final[0] - 1) * shape.step
    return low, (moment.final[1] - 1) * shape.step


def fresh_inputs(shape: Shape, moment: Moment, slots: Range) -> list[int]:
    """The streams that have some of these slots."""
    return [
        n
        for n, has in zip(shape.streams, moment.slots, strict=True)
        if any(slots[0] <= s < slots[1] for s in has)
    ]


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    slots = new_slots(shape, moment)
    fresh = fresh_inputs(shape, moment, slots)
    if fresh:
        pairs = pairs_of(shape, turns(shape, fresh), slots, moment.final[0], moment.sizes)
        yield Step("born", _born_sql(shape, pairs, moment.range), "born")
        yield Step("remaining", remaining_sql(shape, moment.final[1] - 1), KEPT)
    lives = [
        *(
            [f'SELECT {", ".join([*shape.keys, _B, _E, *_names(shape)])} FROM "born" WHERE "e" IS NOT NULL']
            if fresh
            else []
        ),
        *([merged_lives(shape, kept_lives(), moment.range)] if moment.kept and not moment.again else []),
    ]
    if lives and moment.shown:
        yield Step(
            "alive",
            standing(shape, "\nUNION ALL BY NAME ".join(f"({sql})" for sql in lives)),
            SENT,
            moment.shown,
        )


def kept_lives() -> str:
    """Kept partial results as they stand beside new ones: born long ago."""
    return f'SELECT * RENAME ("slot" AS "d"), {LOWEST} AS "b" FROM "{KEPT}"'


def _born_sql(shape: Shape, rows: str, shown: Range) -> str:
    """New pairs: by (keys, last instant "d") for what is kept of them, and by (keys, "b", "e"), the first and last of the instants
    `shown` that they live through.

    Where there are few lives, pairs of the same one are merged first, so that each is looked at once.
    """
    few = _lives(shape, shown) <= FEW_LIVES
    rows = grouped(shape, ['"b"', '"d"'], rows, one_each(shape)) if few else rows
    lives = f'SELECT * RENAME ("b" AS "born"), {clipped("b", "d", shown)}\nFROM ({rows})'
    keys = "".join(f"{k}, " for k in shape.keys)
    pairs = f'CASE WHEN grouping("e") = 1 THEN {AS_SAID if few else one_each(shape)} END AS "{PAIRS}"'
    names = [*shape.keys, '"d"', '"b"', '"e"', *combined_parts(shape), pairs]
    return (
        f'SELECT {", ".join(names)}\nFROM ({lives})\nGROUP BY GROUPING SETS (({keys}"d"), ({keys}"b", "e"))'
    )


def _lives(shape: Shape, shown: Range) -> int:
    """How many lives (from one instant to another) the pairs of a batch may have."""
    spans = [s for n in shape.streams if (s := shape.span(n)) is not None]
    return (shown[1] - shown[0]) * (min(spans) // shape.step + 1 if spans else 1)


_B, _E = '"b"', '"e"'


def _names(shape: Shape) -> list[str]:
    return [f'"{p.name}"' for p in shape.parts]


def remaining_sql(shape: Shape, last: int) -> str:
    """What outlives an instant, by the last instant of its life."""
    return f'SELECT {", ".join([*shape.keys, _SLOT, *_names(shape)])} FROM "born" WHERE "d" > {last}'


_SLOT = '"d" AS "slot"'


def new_rows(join: CostedJoin, statistics: JoinStatistics) -> Meetings:
    """What is new of each stream in a batch meets what the others have."""
    instants, apart = _instants(join, statistics), join.apart
    return {
        k: [min(h.step * instants, apart[n]) if n == k else apart[n] for n, h in enumerate(join.held)]
        for k in join.streams
    }


def _instants(join: CostedJoin, statistics: JoinStatistics) -> float:
    """How many a batch has."""
    return max(1.0, statistics.batch / (join.query.every or SECOND))


def lived(join: CostedJoin, statistics: JoinStatistics, pairs: bool) -> Work:
    """The pairs of a batch are made at once and merged once, whatever instants it has; each of these then merges what is born or dies
    between them. With `pairs` each is kept by itself."""
    query, held, c, groups = join.query, join.held, join.constants, statistics.groups
    instants, met = _instants(join, statistics), new_rows(join, statistics)
    per_second = 1 / (instants * (query.every or SECOND) / SECOND)
    new, cost = (
        sum(join.pairs(rows, k) for k, rows in met.items()),
        sum(join.cost(rows, k) for k, rows in met.items()),
    )
    lives = min((h.lifetime * query.slot / (query.every or 1) for h in held if h.lifetime), default=1.0)
    credited = min(groups * instants * lives, new)
    entries = new / instants * lives / 2 if pairs else min(groups, new / instants) * lives
    born = 0.0 if pairs else grouping(0.0, credited, c)
    changing = min(groups, new) * min(instants, lives) * instants * c.lift
    results = born + (entries + credited) * c.lift + changing + grouping(0.0, groups * instants, c)
    found = [("windows", join.viewed_apart), ("join", cost), ("results", results)]
    return [(n, v * per_second) for n, v in found], entries, new * per_second


EXPIRY = Evaluation(
    name="expiry",
    words="a pair counts until its first member leaves its window; state: partial results of each group by that instant",
    statements=Statements(2, 5, 1),
    steps=_steps,
    meetings=new_rows,
    work=lambda join, statistics: lived(join, statistics, pairs=False),
    keeps=0,
    merges=True,
)
