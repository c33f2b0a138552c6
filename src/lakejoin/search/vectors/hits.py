"""What a search among vectors found, and what that took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lakejoin.search.hits import Summed

Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class VectorCounters(Summed):
    """What a search computed, summed over the segments.

    Of `values` vectors in the lake, times those of mine, `bounded` pairs had a bound computed;
    `verified` pairs were measured, for which `encoded` vectors of the lake were taken, and `near`
    pairs are within the radius (of those that were looked at: pairs that only columns without a
    chance have are not). `methods` says what ran how often.

    >>> total = VectorCounters(verified=3, methods={"tree": 1})
    >>> total.add(VectorCounters(verified=2, methods={"flat": 1}))
    >>> total.verified, total.methods
    (5, {'tree': 1, 'flat': 1})
    """

    segments: int = 0
    values: int = 0
    bounded: int = 0
    verified: int = 0
    near: int = 0
    encoded: int = 0
    methods: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of a value of mine and one of theirs, by (place, distance, id): `place` is that of mine
    in the query, `id` numbers theirs."""

    place: Array
    id: Array
    distance: Array

    def __len__(self) -> int:
        return len(self.place)


@dataclass(frozen=True, slots=True, eq=False)
class VectorHits:
    """Columns found, best first: `matched` of my values have a partner there, in `pairs` pairs.

    `near` has, by segment, the pairs (place, id) of which those of the found columns are a part,
    for the evidence; None where there were too many to keep.
    """

    segment: Array
    column: Array
    matched: Array
    pairs: Array
    counters: VectorCounters
    near: Sequence[Array | None] = ()

    def __len__(self) -> int:
        return len(self.column)
