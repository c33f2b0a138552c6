"""What a method that counts near points gets, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lakejoin.engines.meaning.hits import VectorCounters

if TYPE_CHECKING:
    from lakejoin.store.point_sets import PointSets

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class CountRequest:
    """The sets of a segment to count, the score they must reach, and how they are scored.

    With `all_` the score is the number of pairs, else the number of query points with a partner.
    """

    sets: Array
    least: int
    best: Array  # the heap of the k best scores so far
    all_: bool


@dataclass(frozen=True, slots=True, eq=False)
class MatchCounts:
    """Per set: query points with a partner, and pairs. Below the required score they may be too
    small.
    """

    sets: Array
    hits: Array
    pairs: Array


class DistanceMethod(Protocol):
    """The query points, prepared to be compared with the sets of one segment after another."""

    counters: VectorCounters
    both: bool  # whether a search for hits also counts all pairs of its results

    def fits(self, sets: PointSets) -> Array:
        """Return a flag per set: whether it is of the right kind."""

    def meet(self, sets: PointSets, request: CountRequest) -> MatchCounts:
        """Count for the requested sets that can reach the required score."""

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """Return (query index, set index, distance) of all near pairs with one set."""
