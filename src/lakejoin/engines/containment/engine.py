"""Find the columns that contain a share of the query's values: counted, or by LSH Ensemble."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.hits import Counters, ExcludedColumns, Hits, RankedHits, merge_ranked_hits
from lakejoin.engines.limits import check_k, check_share
from lakejoin.engines.overlap import Overlap, count_overlaps
from lakejoin.engines.query import CACHED_VALUES, Query, locate_codes
from lakejoin.kernels.hashes import hash_strings
from lakejoin.kernels.minhash import sketch
from lakejoin.model import Array, string_buffers
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.sketches import NO_HITS, SCHEMES, SketchHits

if TYPE_CHECKING:
    from lakejoin.engines.meaning.hits import VectorHits
    from lakejoin.engines.overlap.read_costs import ReadCosts
    from lakejoin.store.segment import Segment


_NAME = "lsh-ensemble"
_FALL = 0.05  # step between thresholds when searching for the best k
_RECALL = 0.95  # chance of finding a column exactly at the threshold, as far as signatures allow
_DOUBT = 1.5  # standard deviations by which a signature may be worse than one at the threshold


class SketchedQuery:
    """The size and the signatures of a query, cached by sketching scheme.

    `hashes` are the hashes of its distinct values by `hash_strings` with seed 0.
    """

    def __init__(self, hashes: Array) -> None:
        self.size = len(hashes)
        self._hashes = hashes
        self._made: dict[tuple[str, int], Array] = {}

    @classmethod
    def of(cls, query: Query) -> SketchedQuery:
        hashes = np.empty(len(query), dtype=np.uint64)
        offsets, data = string_buffers(query.tokens)
        hash_strings(offsets, data, np.uint64(0), hashes)
        return cls(hashes)

    def signature(self, scheme: str, length: int) -> Array:
        signature = self._made.get((scheme, length))
        if signature is None:
            signature = self._made[scheme, length] = np.empty(length, dtype=np.uint32)
            sketch(self._hashes, SCHEMES[scheme], signature)
        return signature


@dataclass(frozen=True, slots=True)
class LshEnsemble:
    """Find the columns that contain at least the share `min` of the query, or the best `k`.

    Signatures are partitioned by column size; in each partition, the containment threshold becomes
    a Jaccard threshold, and bands are chosen for it, so that nearly every column at the threshold
    is found. Columns whose signature makes it unlikely that they reach the threshold are dropped.
    All scores are estimates with errors.

    >>> LshEnsemble(min=1.5)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: min must be a number between 0 and 1, not 1.5
    """

    min: float = 0.6
    k: int | None = None

    def __post_init__(self) -> None:
        check_share(self.min, "min")
        if self.k is not None:
            check_k(self.k)

    def search(self, query: Query, segments: Sequence[Segment], excluded: ExcludedColumns) -> Hits:
        """The columns found, the highest estimate first, then the smaller column."""
        return self.search_sketched(SketchedQuery.of(query), segments, excluded)

    def search_sketched(
        self, sketched: SketchedQuery, segments: Sequence[Segment], excluded: ExcludedColumns
    ) -> Hits:
        """Search for a query of which only the hashes are known."""
        if self.k is None or sketched.size == 0:
            return self._at(self.min, sketched, segments, excluded)
        steps = list(self.steps(sketched, segments, excluded))
        hits = replace(steps[-1], counters=_of_all([step.counters for step in steps]))
        return hits.take(np.arange(min(self.k, len(hits))))

    def steps(
        self, sketched: SketchedQuery, segments: Sequence[Segment], excluded: ExcludedColumns
    ) -> Iterator[Hits]:
        """The hits at falling thresholds until k are found; without k, at a single threshold.

        Some of the segments take the same thresholds, and at least as many.
        """
        if self.k is None:
            yield self._at(self.min, sketched, segments, excluded)
            return
        for threshold in falling_thresholds(self.min):
            hits = self._at(max(threshold, self.min), sketched, segments, excluded)
            yield hits
            if count_reaching(hits, threshold) >= self.k:
                return

    def _at(
        self,
        threshold: float,
        query: SketchedQuery,
        segments: Sequence[Segment],
        excluded: ExcludedColumns,
    ) -> Hits:
        """The columns found at one threshold, raised to at least one value."""
        if query.size == 0 or not segments:
            return _hits([NO_HITS], 1)
        threshold = max(threshold, 1.0 / query.size)
        hits_by_segment: list[SketchHits] = []
        for segment_index, segment in enumerate(segments):
            sketches = segment.sketches
            if sketches.classes == 0:
                hits_by_segment.append(NO_HITS)
                continue
            length = sketches.permutations
            hits = sketches.find(
                segment_index,
                query.signature(sketches.scheme, length),
                self.choose_bands(sketches.uppers, threshold, query.size, length),
                query.size,
                *self.least_evidence(threshold, query.size),
            )
            left_out = excluded.columns[segment_index]
            hits_by_segment.append(hits.without(left_out) if len(left_out) else hits)
        return _hits(hits_by_segment, query.size)

    def choose_bands(
        self, uppers: tuple[int, ...], threshold: float, size: int, length: int
    ) -> Array:
        """Bands and rows by partition, given the largest size of each."""
        return _bands(uppers, threshold, size_step(size), length)

    def least_evidence(self, threshold: float, size: int) -> tuple[float, float]:
        """How many values a column must have, and how far below what is expected of it its
        signature may be, in standard deviations."""
        return float(math.ceil(threshold * size - 1e-9)), _DOUBT


def falling_thresholds(least: float) -> Iterator[float]:
    """The falling thresholds of a search for the best k.

    >>> list(falling_thresholds(0.88))
    [1.0, 0.95, 0.9, 0.85]
    """
    threshold = 1.0
    yield threshold
    while threshold > max(least, _FALL):
        threshold = round(threshold - _FALL, 2)
        yield threshold


def count_reaching(hits: Hits, threshold: float) -> int:
    return 0 if hits.estimate is None else int(np.count_nonzero(hits.estimate >= threshold))


@lru_cache(maxsize=4096)
def _bands(uppers: tuple[int, ...], threshold: float, size: int, length: int) -> Array:
    """Bands and rows by partition, for a query size on the grid."""
    # Partitions whose largest set is below the threshold are skipped in the lookup.
    steps = (max(upper_step(upper) - size, least_step(threshold)) for upper in uppers)
    chosen = [choose_bands_by_recall(threshold, step, length, _RECALL) for step in steps]
    return np.ascontiguousarray(np.array(chosen, dtype=np.int64).T)


def _of_all(steps: Sequence[Counters]) -> Counters:
    """Total the bytes and runs of falling thresholds; the other counters are those of the last."""
    return replace(
        steps[-1],
        bytes=sum([counters.bytes for counters in steps]),
        algorithms={_NAME: sum([counters.algorithms[_NAME] for counters in steps])},
    )


def _hits(parts: Sequence[SketchHits], query_size: int) -> Hits:
    """Merge what was found in all segments, in order, with the counters."""
    counters = Counters(
        segments=len(parts),
        candidates=sum([part.classes for part in parts]),
        pruned=sum([part.classes - part.remaining for part in parts]),
        bytes=sum([part.bytes for part in parts]),
        algorithms={_NAME: len(parts)},
    )
    figures = parts[0].numbers
    if len(parts) > 1:
        figures = np.concatenate([part.numbers for part in parts], axis=1)
    # Few NumPy calls, as each costs as much as a lookup. Best first, then the smaller column, then
    # the order of the index.
    keys = (figures[1], figures[0], figures[2], -figures[3])
    figures = figures[:, np.lexsort(keys if len(parts) > 1 else (keys[0], *keys[2:]))]
    segment, column = figures[0].astype(np.int64), figures[1].astype(np.int64)
    matched = np.rint(figures[3]).astype(np.int64)
    figures /= query_size
    return Hits(segment, column, matched, counters, figures[3], figures[4])


_STEPS = 64  # grid steps per factor of e
MOST_ROWS = 32


def jaccard(containment: float, ratio: float) -> float:
    """The Jaccard similarity of a query and a column `ratio` times as large (equation 2.7).

    >>> jaccard(1.0, 4.0)
    0.25
    """
    return containment / (ratio + 1.0 - containment)


def upper_step(upper: int) -> int:
    """The grid step at or above a partition's largest size.

    >>> round(ratio_at(upper_step(1000) - size_step(50)), 1)  # 20, and at most 3.2 % more
    20.4
    """
    return math.ceil(_STEPS * math.log(upper) - 1e-9)


def size_step(size: int) -> int:
    """The grid step at or below a query size."""
    return math.floor(_STEPS * math.log(size) + 1e-9)


def least_step(threshold: float) -> int:
    """The grid step of the smallest set that can reach the threshold."""
    return math.ceil(_STEPS * math.log(threshold) - 1e-9)


def ratio_at(step: int) -> float:
    return math.exp(step / _STEPS)


@lru_cache(maxsize=1 << 16)
def choose_bands_by_recall(
    threshold: float, step: int, length: int, recall: float
) -> tuple[int, int]:
    """(bands, rows): the most rows, then the fewest bands, that reach the recall.

    If nothing does, the column is too large for the query: every slot becomes a band.

    >>> choose_bands_by_recall(0.5, 0, 128, 0.95), choose_bands_by_recall(0.5, 295, 128, 0.95)
    ((26, 2), (128, 1))
    """
    similarity = jaccard(threshold, ratio_at(step))
    for rows in range(min(MOST_ROWS, length), 0, -1):
        miss = 1.0 - similarity**rows
        if miss <= 0.0:
            return 1, rows
        bands = math.ceil(math.log(1.0 - recall) / math.log(miss)) if miss < 1.0 else length + 1
        if bands * rows <= length:
            return bands, rows
    return length, 1


# A query within both bounds is counted exactly. Beyond them, looking up the values takes longer
# than a signature, and adding up the entries takes longer than verifying what sketches find.
MOST_VALUES = CACHED_VALUES
MOST_ENTRIES = 1 << 18
SPARE = 3  # verify SPARE * k columns when sketches search for the best k


@dataclass(frozen=True, slots=True, eq=False)
class ContainmentParts:
    """What some of the segments found in a search by containment.

    `entries` posting list entries were added up to count the columns `counted`; None if the query
    has too many values. `steps` is what sketches found at falling thresholds.
    """

    entries: int | None
    counted: RankedHits | None
    steps: tuple[RankedHits, ...]


@dataclass(frozen=True, slots=True)
class ContainmentEngine:
    """Every column that contains at least the share `min` of the query, or the best `k` of those.

    Short posting lists are added up, which is exact. Otherwise, and always if the answer need not
    be `verified`, sketches find the columns.
    """

    min: float = 0.0
    k: int | None = None
    verified: bool = True
    costs: ReadCosts | None = None

    def search(self, query: Query, segments: Sequence[Segment], excluded: ExcludedColumns) -> Hits:
        """The columns, those with the most values first; with estimates if sketches were used."""
        if not self.verified:
            return self._sketched(query, segments, excluded, self.k)
        hits = self._counted(query, segments, excluded)
        if hits is None:
            hits = self._sketched(query, segments, excluded, self._sought)
        return self.complete(hits, query, segments)

    # -- over some of the segments ---------------------------------------------------------------

    def gather(
        self, query: Query, segments: Sequence[Segment], excluded: ExcludedColumns
    ) -> ContainmentParts:
        """Search some of the segments both ways, as only all parts together show which counts."""
        counted, entries = None, None
        if self.verified and len(query) <= MOST_VALUES:
            entries = _count_entries(query, segments)
            hits = self._counted(query, segments, excluded)
            counted = (
                None if hits is None else _rank(filter_by_share(hits, query, self.min), segments)
            )
        sketched = LshEnsemble(self.min, self._sought)
        steps = sketched.steps(SketchedQuery.of(query), segments, excluded)
        return ContainmentParts(entries, counted, tuple(_rank(hits, segments) for hits in steps))

    def merge(
        self, parts: Sequence[ContainmentParts], segment_indexes: Sequence[Array]
    ) -> RankedHits:
        """Merge what all parts found, using counts where one search over all segments would count;
        `segment_indexes` are the indexes of each part's segments in the whole index."""
        entries = [part.entries for part in parts]
        if None not in entries and sum(filter(None, entries)) <= MOST_ENTRIES:
            counted = [part.counted for part in parts if part.counted is not None]
            return merge_ranked_hits(counted, segment_indexes, self.k)
        k, step = self._sought, 0
        if k is not None:
            falling = list(falling_thresholds(self.min))
            while step + 1 < len(falling):
                reached = sum(
                    count_reaching(part.steps[step].hits, falling[step]) for part in parts
                )
                if reached >= k:
                    break
                step += 1
        return merge_ranked_hits([part.steps[step] for part in parts], segment_indexes, k)

    def complete(self, unverified: Hits, query: Query, segments: Sequence[Segment]) -> Hits:
        """Verify what sketches found and keep what contains enough."""
        if not self.verified:
            return unverified
        hits = unverified if unverified.estimate is None else _verify(query, segments, unverified)
        hits = filter_by_share(hits, query, self.min)
        return hits if self.k is None else hits.take(np.arange(min(self.k, len(hits))))

    @property
    def _sought(self) -> int | None:
        """How many columns sketches have to find: more than k, as their best k are not exact."""
        if not self.verified:
            return self.k
        return None if self.k is None or self.min else SPARE * self.k

    def _counted(
        self, query: Query, segments: Sequence[Segment], excluded: ExcludedColumns
    ) -> Hits | None:
        """The columns that can contain enough, counted exactly; None if that is not cheap."""
        if len(query) > MOST_VALUES:
            return None
        entries = _count_entries(query, segments)
        if entries > MOST_ENTRIES:
            return None
        # A column that contains enough has at least that many of the entries.
        most = entries // max(1, count_for_share(query, self.min))
        best = most if self.k is None else min(self.k, most)
        return Overlap(max(1, best), costs=self.costs).search(query, segments, excluded)

    def _sketched(
        self, query: Query, segments: Sequence[Segment], excluded: ExcludedColumns, k: int | None
    ) -> Hits:
        return LshEnsemble(self.min, k).search(query, segments, excluded)


def _count_entries(query: Query, segments: Sequence[Segment]) -> int:
    """How many entries the posting lists of the query's values have."""
    entries = 0
    for segment_index, segment in enumerate(segments):
        codes = locate_codes(query, segment_index, segment)
        codes = codes[codes != NOT_FOUND]
        groups = np.searchsorted(segment.postings.group_start(), codes, side="right") - 1
        entries += int(segment.postings.list_lengths(groups).sum(dtype=np.int64))
    return entries


def _verify(query: Query, segments: Sequence[Segment], hits: Hits) -> Hits:
    """Recount the hits exactly: most values first, then by column size, then as in the index."""
    matched = np.zeros(len(hits), dtype=np.int64)
    for segment_index in np.unique(hits.segment).tolist():
        segment, here = segments[segment_index], hits.segment == segment_index
        codes = locate_codes(query, segment_index, segment)
        matched[here] = count_overlaps(segment, codes, hits.column[here])
    order = np.lexsort((hits.column, hits.segment, read_column_sizes(hits, segments), -matched))
    order = order[matched[order] > 0]
    counters = replace(hits.counters, sets_read=len(hits))
    return replace(hits, matched=matched, counters=counters).take(order)


def _rank(hits: Hits, segments: Sequence[Segment]) -> RankedHits:
    score = hits.matched if hits.estimate is None else hits.estimate
    return RankedHits(hits, read_column_sizes(hits, segments), score)


def read_column_sizes(hits: Hits | VectorHits, segments: Sequence[Segment]) -> Array:
    size = np.zeros(len(hits), dtype=np.int64)
    for segment_index in np.unique(hits.segment).tolist():
        here = hits.segment == segment_index
        size[here] = segments[segment_index].postings.set_sizes(hits.column[here])
    return size


def count_for_share(query: Sized, least: float) -> int:
    """How many values that share is, allowing for shares without an exact binary form (0.6)."""
    return int(np.ceil(least * len(query) - 1e-9))


def filter_by_share(hits: Hits, query: Query, least: float | None) -> Hits:
    return (
        hits.take(np.flatnonzero(hits.matched >= count_for_share(query, least))) if least else hits
    )
