"""Which columns contain at least a share of my values? From signatures alone.

LSH Ensemble (E. Zhu, F. Nargesian, K. Pu, R. Miller: LSH Ensemble: Internet-Scale Domain Search,
VLDB 2016; chapter 2 of the thesis). See docs/lsh-ensemble.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.hits import Counters, Excluded, Hits
from lakejoin.search.lsh_tuning import (
    bands_for_recall,
    bands_of_least_error,
    similarity_bounds,
    step_of,
)
from lakejoin.store.sketches import SCHEMES

if TYPE_CHECKING:
    from lakejoin.search.query import Query
    from lakejoin.store.segment import Segment
    from lakejoin.store.sketches import Sketches

Array = np.ndarray[Any, Any]

_FALL = 0.05  # from one threshold to the next, when the best k are sought


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Which columns contain at least the share `min` of my values, or, with `k`, the most of them?

    LSH Ensemble: signatures in partitions by size; in each, the threshold on containment becomes
    one on Jaccard similarity, and bands are chosen for it. `recall` is the probability to find a
    column exactly at the threshold, as far as the signatures allow; None takes the thesis's choice
    of bands instead. `doubt` drops a found column if one at the threshold would agree with the
    query in so few places by at most that chance; 0 drops none. `plain` takes all columns for one
    partition, which is MinHash LSH. All that is found is an estimate with its standard error.

    >>> Ensemble(min=1.5)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: min must be between 0 and 1, not 1.5
    """

    min: float = 0.6
    k: int | None = None
    recall: float | None = 0.95
    doubt: float = 0.005
    plain: bool = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.min <= 1.0:
            raise InputError(f"min must be between 0 and 1, not {self.min}")
        if self.k is not None and self.k < 1:
            raise InputError(f"k must be at least 1, not {self.k}")

    def search(self, query: Query, segments: Sequence[Segment], excluded: Excluded) -> Hits:
        """The columns found, the highest estimate first, then the smaller column."""
        sketched = _Sketched.of(query)
        if self.k is None or len(query) == 0:
            return self._at(self.min, sketched, segments, excluded)
        threshold = 1.0
        counters = Counters()
        while True:
            hits = self._at(max(threshold, self.min), sketched, segments, excluded)
            counters.add(hits.counters)
            enough = hits.estimate is not None and (hits.estimate >= threshold).sum() >= self.k
            if enough or threshold <= max(self.min, _FALL):
                break
            threshold = round(threshold - _FALL, 2)
        return _picked(replace(hits, counters=counters), np.arange(min(self.k, len(hits))))

    def _at(
        self,
        threshold: float,
        query: _Sketched,
        segments: Sequence[Segment],
        excluded: Excluded,
    ) -> Hits:
        """The columns found at one threshold, which is at least one value."""
        threshold = max(threshold, 1.0 / max(1, query.size))
        parts: list[tuple[Array, ...]] = []
        counters = Counters()
        for number, segment in enumerate(segments):
            sketches = segment.sketches
            if query.size == 0 or sketches.classes == 0:
                continue
            bands, rows = self._bands(threshold, query.size, sketches)
            found = sketches.find(
                query.signature(sketches.scheme, sketches.permutations),
                bands,
                rows,
                query.size,
                threshold if self.doubt > 0 else 0.0,
                similarity_bounds(sketches.permutations, self.doubt or 1.0),
            )
            counters.add(_counted(found.read, found.looked_up, len(found.rank), sketches))
            column, which = sketches.columns_of(found.rank)
            gone = np.asarray(excluded.columns[number])
            if len(gone):
                alive = ~np.isin(column, gone)
                column, which = column[alive], which[alive]
            estimate, error = estimates(
                found.agree, sketches.permutations, query.size, sketches.size[found.rank]
            )
            size = sketches.size[found.rank][which]
            parts.append(
                (np.full(len(column), number), column, size, estimate[which], error[which])
            )
        return _sorted(parts, query.size, counters)

    def _bands(self, threshold: float, size: int, sketches: Sketches) -> tuple[Array, Array]:
        """Bands and rows by partition; none where no set is large enough."""
        places = sketches.permutations
        bands = np.zeros(len(sketches.upper), dtype=np.int64)
        rows = np.ones(len(sketches.upper), dtype=np.int64)
        for p, own in enumerate(sketches.upper.tolist()):
            upper = int(sketches.upper[-1]) if self.plain else own
            if upper < threshold * size - 1e-9:
                continue
            step = step_of(upper / size)
            if self.recall is None:
                bands[p], rows[p] = bands_of_least_error(threshold, step, places)
            else:
                bands[p], rows[p] = bands_for_recall(threshold, step, places, self.recall)
        return bands, rows


def estimates(agree: Array, places: int, query_size: int, sizes: Array) -> tuple[Array, Array]:
    """(containment, its standard error) from the places that agree and the exact sizes.

    >>> [round(float(x[0]), 3) for x in estimates(np.array([64]), 128, 10, np.array([20]))]
    [1.0, 0.059]
    """
    similarity = agree / places
    scale = (query_size + sizes.astype(np.float64)) / query_size
    most = np.minimum(1.0, sizes / query_size)
    # Half a place on either side keeps the error above zero where all or no places agree.
    smooth = (agree + 0.5) / (places + 1.0)
    spread = np.sqrt(smooth * (1.0 - smooth) / places)
    return (
        np.minimum(scale * similarity / (1.0 + similarity), most),
        scale * spread / (1.0 + smooth) ** 2,
    )


class _Sketched:
    """A query's size and signatures, made once for all segments that are sketched alike."""

    def __init__(self, hashes: Array) -> None:
        self.size = len(hashes)
        self._hashes = hashes
        self._made: dict[tuple[str, int], Array] = {}

    @classmethod
    def of(cls, query: Query) -> _Sketched:
        from lakejoin.kernels.hashing import hash_strings
        from lakejoin.store.dictionary import string_buffers

        hashes = np.empty(len(query), dtype=np.uint64)
        offsets, data = string_buffers(query.tokens)
        hash_strings(offsets, data, np.uint64(0), hashes)
        return cls(hashes)

    def signature(self, scheme: str, places: int) -> Array:
        from lakejoin.kernels.sketching import sketch

        made = self._made.get((scheme, places))
        if made is None:
            made = self._made[scheme, places] = np.empty(places, dtype=np.uint32)
            sketch(self._hashes, SCHEMES[scheme], made)
        return made


def _counted(read: int, looked_up: int, kept: int, sketches: Sketches) -> Counters:
    return Counters(
        segments=1,
        candidates=looked_up,
        pruned=looked_up - kept,
        bytes=4 * (read + looked_up * sketches.permutations),
        algorithms={"lsh-ensemble": 1},
    )


def _sorted(parts: Sequence[tuple[Array, ...]], query_size: int, counters: Counters) -> Hits:
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return Hits(none, none, none, counters, np.zeros(0), np.zeros(0))
    segment, column, size, estimate, error = (np.concatenate(p) for p in zip(*parts, strict=True))
    matched = np.rint(estimate * query_size).astype(np.int64)
    hits = Hits(segment, column.astype(np.int64), matched, counters, estimate, error)
    return _picked(hits, np.lexsort((column, segment, size, -estimate)))


def _picked(hits: Hits, chosen: Array) -> Hits:
    return Hits(
        hits.segment[chosen],
        hits.column[chosen],
        hits.matched[chosen],
        hits.counters,
        None if hits.estimate is None else hits.estimate[chosen],
        None if hits.error is None else hits.error[chosen],
    )
