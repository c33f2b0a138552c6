"""What counts as near, and the vectors of a segment that are searched."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.engines.meaning.vector_candidates import CandidateFinder
from lakejoin.engines.meaning.column_counts import CountBoard
from lakejoin.engines.meaning.vector_distances import check_metric
from lakejoin.engines.meaning.vector_space import ColumnLists
from lakejoin.store.compact_vectors import LARGEST, CompactVectors, VectorSource

Array = np.ndarray[Any, Any]

MEASURES = ("hit", "all")
METHODS = ("auto", "tree", "flat")


@dataclass(frozen=True, slots=True)
class Nearness:
    """What counts as near, and how columns are scored.

    `radius` is in the `metric`: `l2`, `l1`, or `angular` (radians, for vectors of length 1). The
    `measure` is `hit`, the number of query vectors with a match in the column, or `all`, the number
    of pairs. Columns that score less than `least` are dropped, and all but the best `k`. `method`
    is chosen by estimate unless it is given.

    >>> Nearness(-1.0)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: a distance must be a number from 0 to 1e+12, not -1.0
    """

    radius: float
    metric: str = "l2"
    measure: str = "hit"
    least: int = 1
    k: int | None = None
    method: str = "auto"

    def __post_init__(self) -> None:
        if not 0 <= self.radius <= LARGEST:
            raise InputError(
                f"a distance must be a number from 0 to {LARGEST:g}, not {self.radius!r}"
            )
        if self.k is not None and self.k < 1:
            raise InputError(f"k must be a whole number of at least 1, not {self.k!r}")
        check_metric(self.metric)
        if self.measure not in MEASURES:
            raise InputError(f"measure must be {' or '.join(MEASURES)}, not {self.measure!r}")
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")


@dataclass(frozen=True, eq=False)
class VectorSpace:
    """The vectors of one segment: in compact form, whole, and by column."""

    compact: CompactVectors
    source: VectorSource
    lists: ColumnLists
    boards: list[CountBoard] = field(default_factory=list, repr=False)  # free ones
    slots: list[Array] = field(default_factory=list, repr=False)  # free arrays by vector id

    @cached_property
    def finder(self) -> CandidateFinder:
        """Finds candidate pairs in this space."""
        return CandidateFinder(self.compact, self.source)
