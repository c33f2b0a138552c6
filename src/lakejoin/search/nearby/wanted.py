"""What is asked of a method that meets points of a kind, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from lakejoin.search.vectors.hits import VectorCounters

if TYPE_CHECKING:
    from lakejoin.store.points import PointSets

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What of a segment is looked at: these sets, that score at least so much, of the k best; and
    by `measure` all the score is the pairs, else my points that have a partner."""

    sets: Array
    least: int
    best: Array  # a heap, see `bar.py`
    all_: bool


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """For some sets: my points with a partner, and pairs. Below the bar they may be too small."""

    sets: Array
    hits: Array
    pairs: Array


class Method(Protocol):
    """My points, made ready to be met by the sets of one segment after another."""

    counters: VectorCounters
    both: bool  # whether a search for hits counts all pairs of what it finds as well

    def fits(self, sets: PointSets) -> Array:
        """Which sets are of the right kind (a truth value each)."""

    def meet(self, sets: PointSets, wanted: Wanted) -> Found:
        """Counts, for the wanted sets that can reach the bar."""

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """(mine, theirs, distance) of all pairs with a set that are near enough."""
