"""Which columns contain at least a share of my values? From signatures alone.

LSH Ensemble (E. Zhu, F. Nargesian, K. Pu, R. Miller: LSH Ensemble: Internet-Scale Domain Search,
VLDB 2016; chapter 2 of the thesis). See docs/lsh-ensemble.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.hits import Counters, Excluded, Hits
from lakejoin.search.lsh_tuning import (
    bands_for_recall,
    bands_of_least_error,
    least_step,
    size_step,
    upper_step,
)
from lakejoin.search.options import check_k, check_share
from lakejoin.store.sketches import NOTHING, SCHEMES, Found

if TYPE_CHECKING:
    from lakejoin.search.query import Query
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

_NAME = "lsh-ensemble"
_FALL = 0.05  # from one threshold to the next, when the best k are sought


class SketchedQuery:
    """A query's size and signatures, made once for all segments that are sketched alike.

    `hashes` are those of its distinct values, as `hash_strings` gives them with seed 0.
    """

    def __init__(self, hashes: Array) -> None:
        self.size = len(hashes)
        self._hashes = hashes
        self._made: dict[tuple[str, int], Array] = {}

    @classmethod
    def of(cls, query: Query) -> SketchedQuery:
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


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Which columns contain at least the share `min` of my values, or, with `k`, the most of them?

    LSH Ensemble: signatures in partitions by size; in each, the threshold on containment becomes
    one on Jaccard similarity, and bands are chosen for it. `recall` is the probability to find a
    column exactly at the threshold, as far as the signatures allow; None takes the thesis's choice
    of bands instead. `doubt` drops a found column whose signature is more than so many standard
    deviations poorer than that of a column at the threshold; None drops none. `plain` takes all
    columns for one partition, which is MinHash LSH. All scores are estimates with their errors.

    >>> Ensemble(min=1.5)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: min must be a number between 0 and 1, not 1.5
    """

    min: float = 0.6
    k: int | None = None
    recall: float | None = 0.95
    doubt: float | None = 1.5
    plain: bool = False

    def __post_init__(self) -> None:
        check_share(self.min, "min")
        if self.k is not None:
            check_k(self.k)
        if self.recall is not None and not 0.0 < self.recall < 1.0:
            raise InputError(f"recall must be between 0 and 1, not {self.recall}")

    def search(self, query: Query, segments: Sequence[Segment], excluded: Excluded) -> Hits:
        """The columns found, the highest estimate first, then the smaller column."""
        return self.search_sketched(SketchedQuery.of(query), segments, excluded)

    def search_sketched(
        self, sketched: SketchedQuery, segments: Sequence[Segment], excluded: Excluded
    ) -> Hits:
        """The same for a query of which only the hashes are known."""
        if self.k is None or sketched.size == 0:
            return self._at(self.min, sketched, segments, excluded)
        steps = list(self.steps(sketched, segments, excluded))
        hits = replace(steps[-1], counters=_of_all([step.counters for step in steps]))
        return hits.take(np.arange(min(self.k, len(hits))))

    def steps(
        self, sketched: SketchedQuery, segments: Sequence[Segment], excluded: Excluded
    ) -> Iterator[Hits]:
        """What is found at falling thresholds, until the best k are; at one, where all are sought.

        In a part of the segments the thresholds are the same, and at least as many.
        """
        if self.k is None:
            yield self._at(self.min, sketched, segments, excluded)
            return
        for threshold in thresholds(self.min):
            hits = self._at(max(threshold, self.min), sketched, segments, excluded)
            yield hits
            if reached(hits, threshold) >= self.k:
                return

    def _at(
        self,
        threshold: float,
        query: SketchedQuery,
        segments: Sequence[Segment],
        excluded: Excluded,
    ) -> Hits:
        """The columns found at one threshold, which is at least one value."""
        if query.size == 0 or not segments:
            return _hits([NOTHING], 1)
        threshold = max(threshold, 1.0 / query.size)
        parts: list[Found] = []
        for number, segment in enumerate(segments):
            sketches = segment.sketches
            if sketches.classes == 0:
                parts.append(NOTHING)
                continue
            asked = _bands(
                sketches.uppers,
                threshold,
                size_step(query.size),
                sketches.permutations,
                self.recall,
                self.plain,
            )
            found = sketches.find(
                number,
                query.signature(sketches.scheme, sketches.permutations),
                asked,
                query.size,
                0.0 if self.doubt is None else float(math.ceil(threshold * query.size - 1e-9)),
                math.inf if self.doubt is None else float(self.doubt),
            )
            gone = excluded.columns[number]
            parts.append(found.without(gone) if len(gone) else found)
        return _hits(parts, query.size)


def thresholds(least: float) -> Iterator[float]:
    """The thresholds at which the best k are sought, one after the other.

    >>> list(thresholds(0.88))
    [1.0, 0.95, 0.9, 0.85]
    """
    threshold = 1.0
    yield threshold
    while threshold > max(least, _FALL):
        threshold = round(threshold - _FALL, 2)
        yield threshold


def reached(hits: Hits, threshold: float) -> int:
    """How many of the columns found are estimated to contain at least so much."""
    return 0 if hits.estimate is None else int(np.count_nonzero(hits.estimate >= threshold))


@lru_cache(maxsize=4096)
def _bands(
    uppers: tuple[int, ...],
    threshold: float,
    size: int,
    places: int,
    recall: float | None,
    plain: bool,
) -> Array:
    """Bands and rows by partition, for a query whose size is at a step of the grid."""
    chosen = []
    for upper in uppers:
        # A partition whose largest set is below the threshold is not looked up at all.
        step = max(upper_step(uppers[-1] if plain else upper) - size, least_step(threshold))
        if recall is None:
            chosen.append(bands_of_least_error(threshold, step, places))
        else:
            chosen.append(bands_for_recall(threshold, step, places, recall))
    return np.ascontiguousarray(np.array(chosen, dtype=np.int64).T)


def _of_all(tried: Sequence[Counters]) -> Counters:
    """The counters of falling thresholds: what was read is read again at each, but the segments
    are the same, and the columns found before are found again at the last."""
    return replace(
        tried[-1],
        bytes=sum([one.bytes for one in tried]),
        algorithms={_NAME: sum([one.algorithms[_NAME] for one in tried])},
    )


def _hits(parts: Sequence[Found], query_size: int) -> Hits:
    """What was found in all segments, in order, with what it took."""
    counters = Counters(
        segments=len(parts),
        candidates=sum([p.classes for p in parts]),
        pruned=sum([p.classes - p.kept for p in parts]),
        bytes=sum([p.bytes for p in parts]),
        algorithms={_NAME: len(parts)},
    )
    numbers = parts[0].numbers
    if len(parts) > 1:
        numbers = np.concatenate([p.numbers for p in parts], axis=1)
    # Few calls, as each costs as much as a look-up: the best first, then the smaller column, then
    # its place in the index.
    keys = (numbers[1], numbers[0], numbers[2], -numbers[3])
    numbers = numbers[:, np.lexsort(keys if len(parts) > 1 else (keys[0], *keys[2:]))]
    segment, column = numbers[0].astype(np.int64), numbers[1].astype(np.int64)
    matched = np.rint(numbers[3]).astype(np.int64)
    numbers /= query_size
    return Hits(segment, column, matched, counters, numbers[3], numbers[4])
