"""What the optimizer needs to know of an aggregate, and which of its own means it may use."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.aggregates import AggregateFunction


@dataclass(frozen=True)
class Traits:
    """The taxonomy of the paper as aggregates declare it.

    overlap_safe: theorem 6 holds, pieces may overlap ("covered by"); otherwise they must be disjoint ("partitioned by").
    invertible: a piece can be taken back out of a whole.
    holistic: partial aggregates hold the rows' values and grow with them.
    """

    overlap_safe: bool = False
    invertible: bool = False
    holistic: bool = False

    @staticmethod
    def of(function: AggregateFunction) -> Traits:
        """The traits that an aggregate function declares.

        >>> from thalweg.model.aggregates import AGGREGATES
        >>> Traits.of(AGGREGATES["MIN"])
        Traits(overlap_safe=True, invertible=False, holistic=False)
        """
        return Traits(function.overlap_safe, function.invertible, function.holistic)

    @property
    def may_overlap(self) -> bool:
        """Whether overlapping pieces are allowed; a value list would hold the common values twice."""
        return self.overlap_safe and not self.holistic


@dataclass(frozen=True)
class Features:
    """What the mode `best` may do beyond the paper.

    sparse: combine only as many instances as cover a window. tiling: hopping windows as disjoint pieces.
    chains: factor windows of factor windows. prefix: differences of running totals.
    slots: tumbling factor windows that only one window can use, such as those of 2 for W<10,4>.
    search: the optimum by search where the set is small.
    """

    sparse: bool = True
    tiling: bool = True
    chains: bool = True
    prefix: bool = True
    slots: bool = True
    search: bool = True
