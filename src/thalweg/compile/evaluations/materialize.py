"""Keep every joined pair until its first member leaves its window (PC): the baseline, with memory by the product of the windows."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.compile.evaluations.base import KEPT, SENT, Evaluation, Moment, Statements, Step
from thalweg.compile.evaluations.expiry import (
    fresh_inputs,
    kept_lives,
    lived,
    new_rows,
    new_slots,
    remaining_sql,
)
from thalweg.compile.inputs import merged_lives, pairs_of, standing, turns
from thalweg.plan.shape import Shape


def _steps(shape: Shape, moment: Moment) -> Iterator[Step]:
    slots = new_slots(shape, moment)
    fresh = fresh_inputs(shape, moment, slots)
    if fresh:
        yield Step(
            "born",
            pairs_of(shape, turns(shape, fresh), slots, moment.final[0], moment.sizes),
            "born",
            pairs=True,
        )
        yield Step("remaining", remaining_sql(shape, moment.final[1] - 1), KEPT)
    lives = [
        *(['SELECT * FROM "born"'] if fresh else []),
        *([kept_lives()] if moment.kept and not moment.again else []),
    ]
    if lives and moment.shown:
        alive = merged_lives(shape, " UNION ALL BY NAME ".join(lives), moment.range)
        yield Step("alive", standing(shape, alive), SENT, moment.shown)


MATERIALIZE = Evaluation(
    name="materialize",
    words="every joined pair is kept until its first member leaves its window",
    statements=Statements(1, 5, 1),
    steps=_steps,
    meetings=new_rows,
    work=lambda join, statistics: lived(join, statistics, pairs=True),
    keeps=0,
    asked_for=True,
    row_bytes=lambda widths: widths.pair,
)
