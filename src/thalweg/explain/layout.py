"""Where the boxes of a drawn tree stand: sources above, what reads them below, on as many shelves as the width asks for.

  [ rows ]
     |
+----+------+
|    v      v
|  [ a ]  [ b ]
+----+
     v
   [ c ]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

Point = tuple[float, float]
Children = Callable[[str], Sequence[str]]
Size = tuple[float, float]

GAP = 18.0
GUTTER = 22.0
"""Left of shelves that are more than one: room for the wire that leads down to them."""

RISE = 14.0
"""From the bottom of a box to the wire below it."""

DROP = 30.0
"""From a wire to the boxes below it: room for a label."""


@dataclass(frozen=True)
class Placed:
    """A box, by its left upper corner."""

    key: str
    x: float
    y: float


@dataclass(frozen=True)
class Wire:
    """A line through points; one that ends at a box carries its key, and so does the first one below a box."""

    points: tuple[Point, ...]
    into: str | None = None
    below: str | None = None


@dataclass(frozen=True)
class Block:
    """A box with everything below it, the box itself first; `entry` is where a wire from above meets it."""

    width: float
    height: float
    entry: float
    boxes: tuple[Placed, ...]
    wires: tuple[Wire, ...] = ()

    def moved(self, dx: float, dy: float) -> Block:
        """The block at another place."""
        boxes = tuple(replace(b, x=b.x + dx, y=b.y + dy) for b in self.boxes)
        wires = tuple(replace(w, points=tuple((x + dx, y + dy) for x, y in w.points)) for w in self.wires)
        return replace(self, entry=self.entry + dx, boxes=boxes, wires=wires)

    def upside_down(self, box: Size) -> Block:
        """The block with its first box at the foot, where all wires lead."""
        boxes = tuple(replace(b, y=self.height - b.y - box[1]) for b in self.boxes)
        turned = [tuple((x, self.height - y) for x, y in reversed(w.points)) for w in self.wires]
        wires = tuple(Wire(points, into=w.below) for w, points in zip(self.wires, turned, strict=True))
        return replace(self, boxes=boxes, wires=wires)


@dataclass(frozen=True)
class Shelf:
    """Blocks side by side, and the height of the wire above them."""

    wire: float
    blocks: tuple[Block, ...]


def laid_out(key: str, children: Children, box: Size, limit: float) -> Block:
    """A box and all below it, no wider than a limit where that can be."""
    width, height = box
    below = [laid_out(c, children, box, limit - GUTTER) for c in children(key)]
    if not below:
        return Block(width, height, width / 2, (Placed(key, 0, 0),))
    rows = packed(below, limit)
    return _above(key, box, rows if len(rows) == 1 else evenly_packed(below, limit - GUTTER))


def _above(key: str, box: Size, rows: list[list[Block]]) -> Block:
    """A box above shelves of blocks, with a wire along each shelf and one at the left that leads down to them."""
    left = GUTTER if len(rows) > 1 else 0.0
    shelves, bottom = _stacked(rows, left, box[1])
    spread = left + max(sum(b.width for b in row) + GAP * (len(row) - 1) for row in rows)
    entries = [b.entry for b in shelves[0].blocks]
    entry = max((entries[0] + entries[-1]) / 2, box[0] / 2)
    blocks = [b for s in shelves for b in s.blocks]
    wires = [*(w for b in blocks for w in b.wires), *_wires(key, shelves, (entry, box[1]), left / 3)]
    boxes = (Placed(key, entry - box[0] / 2, 0), *(p for b in blocks for p in b.boxes))
    return Block(max(spread, entry + box[0] / 2), bottom, entry, boxes, tuple(wires))


def _stacked(rows: list[list[Block]], left: float, top: float) -> tuple[list[Shelf], float]:
    """Rows of blocks below each other, and where they end."""
    shelves = []
    for row in rows:
        wire, x = top + RISE, left
        placed = []
        for block in row:
            placed.append(block.moved(x, wire + DROP))
            x += block.width + GAP
        shelves.append(Shelf(wire, tuple(placed)))
        top = wire + DROP + max(b.height for b in row)
    return shelves, top


def _wires(key: str, shelves: list[Shelf], start: Point, side: float) -> list[Wire]:
    """From a box to the wires along its shelves, and from there into every block."""
    first = shelves[0].wire
    wires = [Wire((start, (start[0], first)), below=key)]
    if len(shelves) > 1:
        wires.append(Wire(((side, first), (side, shelves[-1].wire))))
    for shelf in shelves:
        ends = (
            [b.entry for b in shelf.blocks]
            + ([side] if len(shelves) > 1 else [])
            + ([start[0]] if shelf.wire == first else [])
        )
        wires.append(Wire(((min(ends), shelf.wire), (max(ends), shelf.wire))))
        wires += [
            Wire(((b.entry, shelf.wire), (b.entry, shelf.wire + DROP)), b.boxes[0].key) for b in shelf.blocks
        ]
    return wires


def packed(blocks: Sequence[Block], limit: float) -> list[list[Block]]:
    """Blocks in order in rows of at most a width."""
    rows: list[list[Block]] = [[]]
    used = 0.0
    for block in blocks:
        if rows[-1] and used + block.width > limit:
            rows.append([])
            used = 0.0
        rows[-1].append(block)
        used += block.width + GAP
    return rows


def evenly_packed(blocks: Sequence[Block], limit: float) -> list[list[Block]]:
    """Blocks in as few rows as the limit allows, each as short as that lets it be."""
    rows = packed(blocks, limit)
    while limit > 0 and len(tighter := packed(blocks, limit)) == len(rows):
        rows, limit = tighter, limit - GAP
    return rows
