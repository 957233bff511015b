"""The page that pictures are drawn on: its width, and pieces with the place where they end."""

from __future__ import annotations

from dataclasses import dataclass

WIDTH = 1320.0
MARGIN = 24.0


@dataclass(frozen=True)
class Drawn:
    """A piece of the picture and where it ends."""

    parts: tuple[str, ...]
    right: float
    bottom: float
