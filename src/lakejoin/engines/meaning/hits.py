"""The hits of a search among vectors, and counters of its work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lakejoin.engines.hits import AddableCounters
from lakejoin.model import Array


@dataclass(slots=True)
class VectorCounters(AddableCounters):
    """The work of a search, summed over the segments.

    Of all pairs of a query vector and one of `values` lake vectors, bounds were computed for
    `bounded`; `verified` pairs were measured, for which `encoded` vectors of the lake were needed,
    and `near` of them are within the radius (pairs of columns without a chance are not measured).
    `methods` says what ran how often.

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
class NearPairs:
    """Pairs of a query value, by its position `position` in the query, and a lake value, by its
    `id`; sorted by (position, distance, id)."""

    position: Array
    id: Array
    distance: Array

    def __len__(self) -> int:
        return len(self.position)


@dataclass(frozen=True, slots=True, eq=False)
class VectorHits:
    """Columns, best first: `matched` query values have a match there, in `pairs` pairs.

    `near` has, by segment, the pairs (position, id) that include those of these columns, for the
    evidence; None if there were too many to keep.
    """

    segment: Array
    column: Array
    matched: Array
    pairs: Array
    counters: VectorCounters
    near: Sequence[Array | None] = ()

    def __len__(self) -> int:
        return len(self.column)
