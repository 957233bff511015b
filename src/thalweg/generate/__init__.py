"""Reproducible event streams made from a few numbers: Nexmark auctions and sensor readings.

>>> next(Sensors(events=3, rate=1).chunks(size=3))["reading"].column_names
['k', 'at', 'v', 'status']
"""

from __future__ import annotations

from thalweg.generate.generator import START, Generator
from thalweg.generate.nexmark import Nexmark
from thalweg.generate.sensors import Sensors
from thalweg.generate.writer import Summary, write

GENERATORS: dict[str, type[Generator]] = {"nexmark": Nexmark, "sensors": Sensors}

__all__ = ["GENERATORS", "START", "Generator", "Nexmark", "Sensors", "Summary", "write"]
