"""Boxes of a drawn tree neither touch nor leave the picture, and every one is reached by a wire."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as hs

from thalweg.explain.layout import Block, laid_out

BOX = (200.0, 80.0)
parents = hs.lists(hs.integers(0, 10**6), max_size=40).map(
    lambda draws: [d % (i + 1) for i, d in enumerate(draws)]
)


def drawn(of: list[int], limit: float) -> Block:
    """The tree in which node i + 1 is below node of[i]."""
    return laid_out(
        "0", lambda key: [str(i + 1) for i, parent in enumerate(of) if str(parent) == key], BOX, limit
    )


@given(of=parents, limit=hs.sampled_from([300.0, 900.0, 1300.0]))
def test_boxes_stand_apart(of: list[int], limit: float) -> None:
    block = drawn(of, limit)
    assert sorted(int(b.key) for b in block.boxes) == list(range(len(of) + 1))
    for a, b in combinations(block.boxes, 2):
        assert abs(a.x - b.x) >= BOX[0] or abs(a.y - b.y) >= BOX[1]


@given(of=parents, limit=hs.sampled_from([900.0, 1300.0]))
def test_everything_is_inside(of: list[int], limit: float) -> None:
    block = drawn(of, limit)
    for b in block.boxes:
        assert b.x >= 0 and b.x + BOX[0] <= block.width + 1e-6 and b.y + BOX[1] <= block.height + 1e-6
    for x, y in (p for w in block.wires for p in w.points):
        assert 0 <= x <= block.width and 0 <= y <= block.height


@given(of=parents)
def test_wires_end_on_the_boxes_they_lead_to(of: list[int]) -> None:
    block = drawn(of, 1300.0)
    boxes = {b.key: b for b in block.boxes}
    reached = {w.into: w.points[-1] for w in block.wires if w.into is not None}
    assert set(reached) == set(boxes) - {"0"}
    for key, (x, y) in reached.items():
        assert y == boxes[key].y and abs(boxes[key].x + BOX[0] / 2 - x) < 1e-6


@given(of=parents, limit=hs.sampled_from([300.0, 900.0, 1300.0]))
def test_upside_down_all_wires_lead_to_the_first_box(of: list[int], limit: float) -> None:
    block = drawn(of, limit).upside_down(BOX)
    boxes = {b.key: b for b in block.boxes}
    assert all(b.y <= boxes["0"].y for b in block.boxes)
    for a, b in combinations(block.boxes, 2):
        assert abs(a.x - b.x) >= BOX[0] or abs(a.y - b.y) >= BOX[1]
    reached = {w.into: w.points[-1] for w in block.wires if w.into is not None}
    assert set(reached) == {str(p) for p in of}
    for key, (x, y) in reached.items():
        assert abs(y - boxes[key].y) < 1e-6 and abs(boxes[key].x + BOX[0] / 2 - x) < 1e-6


def test_a_wide_level_is_wrapped() -> None:
    block = drawn([0] * 20, 1300.0)
    assert block.width <= 1300
    assert len({b.y for b in block.boxes}) == 1 + 4
