"""The constants of the cost formulas, in units of one hash-aggregate update."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """What one of each costs; the defaults stand for a machine that was not measured.

    row: add a row to an instance. combine: read a (key, instance) row of a source once. total: add a (key, instance) row
    to a running total, in order of time. exchange: send a (key, instance) row made before the exchange. value: move one
    value of a holistic partial aggregate. step: run a step in a batch. opened: keep a derived window at hand for others that
    are computed from it.
    A factor window is not considered if its (key, instance) rows are more than the part `compression` of the rows in it. With
    no statistics, if its slide is less than the part `finest` of the smallest slide asked for, and than `narrowest` microseconds.
    """

    row: float = 1.0
    combine: float = 3.0
    total: float = 2.0
    exchange: float = 1.0
    value: float = 0.2
    step: float = 50_000.0
    opened: float = 150_000.0
    compression: float = 0.5
    finest: float = 0.05
    narrowest: int = 100_000
