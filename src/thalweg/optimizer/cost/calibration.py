"""The constants of the cost formulas, in units of one hash-aggregate update."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """What one of each costs; the defaults stand for a machine that was not measured.

    row: add a row to an instance. combine: read a (key, instance) row of a source once. total: add a (key, instance) row
    to a running total, in order of time. exchange: send a (key, instance) row made before the exchange. value: move one
    value of a holistic partial aggregate. step: run a step in a batch. opened: keep a derived window at hand for others that
    are computed from it, in a batch in which one of its instances ends. state: keep a (key, instance) row from a batch to the next;
    all of them are read in one batch when the longest window that is made of them ends, so it stands for the longest batch too.
    edge: look for the last of some edges before a row, which cuts time into slices.
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
    state: float = 0.02
    edge: float = 0.25
    compression: float = 0.5
    finest: float = 0.05
    narrowest: int = 100_000


@dataclass(frozen=True)
class JoinConstants:
    """What one of each costs in a join, in nanoseconds on one core; the defaults were measured on a core of a server.

    project: choose a row and keep its columns. lift: add a row to a group that is there. group: add a row that makes a group.
    ship: send a kept row, write it as state. copy: put a row into a window. build: put a row into a hash table. probe: look one up.
    pair: make a joined row and add it to its group. weigh: do so with parts of an aggregation set, as often as it has rows.
    compare: look at a pair in nested loops. step: run a statement.
    """

    project: float = 34.0
    lift: float = 13.0
    group: float = 95.0
    ship: float = 21.0
    copy: float = 6.5
    build: float = 35.0
    probe: float = 3.5
    pair: float = 14.5
    weigh: float = 8.0
    compare: float = 3.5
    step: float = 2_100_000.0
