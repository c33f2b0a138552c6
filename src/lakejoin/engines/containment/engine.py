"""Find the columns that contain at least a share of the query's values: counted exactly where
that is cheap, otherwise found with sketches and then verified."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.containment.lsh_ensemble import (
    LshEnsemble,
    SketchedQuery,
    count_reaching,
    falling_thresholds,
)
from lakejoin.engines.hits import ExcludedColumns, Hits, RankedHits, merge_ranked_hits
from lakejoin.engines.overlap import Overlap, count_overlaps
from lakejoin.engines.query import CACHED_VALUES, Query, locate_codes
from lakejoin.model import Array
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    from lakejoin.engines.meaning.hits import VectorHits
    from lakejoin.engines.overlap.read_costs import ReadCosts
    from lakejoin.store.segment import Segment

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
