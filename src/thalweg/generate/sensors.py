"""Sensors: devices that report a temperature, now and then without a value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from thalweg.generate import words
from thalweg.generate.draws import Bits, Floats, Ids, below, unit
from thalweg.generate.generator import Generator
from thalweg.model.stream import Column
from thalweg.model.windows import SECOND

DAY = 86_400 * SECOND
STATUSES = pa.array(["ok", "low battery", "calibrating", "fault"])
SHARES = (0.95, 0.03, 0.01, 0.01)
FAULT = 3


@dataclass(frozen=True)
class Sensors(Generator):
    """The stream reading, each event from one of `keys` devices; a reading with status `fault` has no value."""

    schemas: ClassVar[dict[str, tuple[Column, ...]]] = {
        "reading": (
            Column("k", "BIGINT"),
            Column("at", "TIMESTAMP"),
            Column("v", "DOUBLE"),
            Column("status", "VARCHAR"),
        )
    }

    def tables(self, ids: Ids) -> dict[str, pa.Table]:
        """The events with these ids, in this order."""
        device, at = below(self._bits(ids, "device"), self.keys), self.times(ids)
        status = _status(self._bits(ids, "status"))
        value = pa.array(self._value(ids, device, at), mask=status == FAULT)
        return {"reading": self._table("reading", device, at, value, words.pick(STATUSES, status))}

    def _value(self, ids: Ids, device: Ids, at: Ids) -> Floats:
        """Degrees: 10 to 25 by device, up to 8 more or less by the time of day, up to 1 by chance."""
        usual = 10 + 15 * unit(self._bits(device, "usual"))
        daily = 8 * np.sin((at % DAY) * (2 * math.pi / DAY))
        chance = 2 * unit(self._bits(ids, "chance")) - 1
        degrees: Floats = np.round(usual + daily + chance, 2)
        return degrees


def _status(random: Bits) -> Ids:
    """Positions in STATUSES, in the proportion of SHARES."""
    return np.searchsorted(np.cumsum(SHARES)[:-1], unit(random), side="right")
