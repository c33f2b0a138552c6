"""Which columns contain at least a share of my values? Exactly where that is cheap, else from
sketches, each of which is then verified."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.hits import Excluded, Hits
from lakejoin.search.query import SMALL, Query, locate
from lakejoin.search.ranked import Ranked, put_together
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    from lakejoin.search.overlap.costs import ReadCosts
    from lakejoin.search.vectors.hits import VectorHits
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

# A query within both bounds is counted exactly. Looking up more values takes longer than a
# signature, and adding up more entries takes longer than verifying what sketches find.
MOST_VALUES = SMALL
MOST_ENTRIES = 1 << 18
SPARE = 3  # times k candidates are verified where the best k are sought with sketches


@dataclass(frozen=True, slots=True, eq=False)
class Contained:
    """What a part of an index says to a search by containment.

    `entries` of posting lists were added up for the columns `counted`; None where the query has too
    many values. `steps` are what sketches found at falling thresholds.
    """

    entries: int | None
    counted: Ranked | None
    steps: tuple[Ranked, ...]


@dataclass(frozen=True, slots=True)
class Containment:
    """Every column that contains at least the share `min` of my values, or the best `k` of those.

    Short posting lists are added up, which misses no column and estimates nothing. Otherwise, and
    always where the answer is not to be `verified`, sketches find the columns.
    """

    min: float = 0.0
    k: int | None = None
    verified: bool = True
    costs: ReadCosts | None = None

    def search(self, query: Query, segments: Sequence[Segment], excluded: Excluded) -> Hits:
        """The columns, those with the most values first; estimates are there if sketches are."""
        if not self.verified:
            return self._sketched(query, segments, excluded, self.k)
        hits = self._counted(query, segments, excluded)
        if hits is None:
            hits = self._sketched(query, segments, excluded, self._sought)
        return self.complete(hits, query, segments)

    # -- in parts -------------------------------------------------------------------------------

    def gather(self, query: Query, segments: Sequence[Segment], excluded: Excluded) -> Contained:
        """What these segments, a part of an index, can say: which of it is needed, all parts tell
        together."""
        from lakejoin.search.lsh_ensemble import Ensemble, SketchedQuery

        counted, entries = None, None
        if self.verified and len(query) <= MOST_VALUES:
            entries = sum(_entries(query, number, one) for number, one in enumerate(segments))
            hits = self._counted(query, segments, excluded)
            counted = None if hits is None else _ranked(at_least(hits, query, self.min), segments)
        sketched = Ensemble(self.min, self._sought)
        steps = sketched.steps(SketchedQuery.of(query), segments, excluded)
        return Contained(entries, counted, tuple(_ranked(hits, segments) for hits in steps))

    def put_together(self, parts: Sequence[Contained], numbers: Sequence[Array]) -> Ranked:
        """What all parts found, by counting where one search over all segments would count;
        `numbers` are those of their segments in the whole index."""
        from lakejoin.search.lsh_ensemble import reached, thresholds

        entries = [part.entries for part in parts]
        if None not in entries and sum(filter(None, entries)) <= MOST_ENTRIES:
            counted = [part.counted for part in parts if part.counted is not None]
            return put_together(counted, numbers, self.k)
        k, step = self._sought, 0
        if k is not None:
            falling = list(thresholds(self.min))
            while step + 1 < len(falling):
                found = sum(reached(part.steps[step].hits, falling[step]) for part in parts)
                if found >= k:
                    break
                step += 1
        return put_together([part.steps[step] for part in parts], numbers, k)

    def complete(self, found: Hits, query: Query, segments: Sequence[Segment]) -> Hits:
        """The answer of what was put together: what sketches found is verified."""
        if not self.verified:
            return found
        hits = found if found.estimate is None else _verified(query, segments, found)
        hits = at_least(hits, query, self.min)
        return hits if self.k is None else hits.take(np.arange(min(self.k, len(hits))))

    @property
    def _sought(self) -> int | None:
        """How many columns sketches have to find. The best k by sketches are not quite the best k:
        some more are verified."""
        if not self.verified:
            return self.k
        return None if self.k is None or self.min else SPARE * self.k

    def _counted(
        self, query: Query, segments: Sequence[Segment], excluded: Excluded
    ) -> Hits | None:
        """The columns that can contain enough, counted; None where that is not cheap."""
        from lakejoin.search.overlap import Overlap

        if len(query) > MOST_VALUES:
            return None
        entries = sum(_entries(query, number, segment) for number, segment in enumerate(segments))
        if entries > MOST_ENTRIES:
            return None
        # Each column that contains enough stands in so many of the entries.
        most = entries // max(1, enough(query, self.min))
        best = most if self.k is None else min(self.k, most)
        return Overlap(max(1, best), costs=self.costs).search(query, segments, excluded)

    def _sketched(
        self, query: Query, segments: Sequence[Segment], excluded: Excluded, k: int | None
    ) -> Hits:
        from lakejoin.search.lsh_ensemble import Ensemble

        return Ensemble(self.min, k).search(query, segments, excluded)


def _entries(query: Query, number: int, segment: Segment) -> int:
    """How many entries the posting lists of a query's values have in a segment."""
    codes = locate(query, number, segment)
    codes = codes[codes != NOT_FOUND]
    groups = np.searchsorted(segment.postings.group_start(), codes, side="right") - 1
    return int(segment.postings.list_lengths(groups).sum(dtype=np.int64))


def _verified(query: Query, segments: Sequence[Segment], hits: Hits) -> Hits:
    """The hits with exact scores, in their order: the most values first, ties by the size of the
    column and then by its place in the index."""
    from lakejoin.search.overlap import overlaps_of

    matched = np.zeros(len(hits), dtype=np.int64)
    for number in np.unique(hits.segment).tolist():
        segment, here = segments[number], hits.segment == number
        codes = locate(query, number, segment)
        matched[here] = overlaps_of(segment, codes, hits.column[here])
    order = np.lexsort((hits.column, hits.segment, sizes_of(hits, segments), -matched))
    order = order[matched[order] > 0]
    counters = replace(hits.counters, sets_read=len(hits))
    return replace(hits, matched=matched, counters=counters).take(order)


def _ranked(hits: Hits, segments: Sequence[Segment]) -> Ranked:
    score = hits.matched if hits.estimate is None else hits.estimate
    return Ranked(hits, sizes_of(hits, segments), score)


def sizes_of(hits: Hits | VectorHits, segments: Sequence[Segment]) -> Array:
    """How many distinct values the columns have that were found."""
    size = np.zeros(len(hits), dtype=np.int64)
    for number in np.unique(hits.segment).tolist():
        here = hits.segment == number
        size[here] = segments[number].postings.set_sizes(hits.column[here])
    return size


def enough(query: Sized, least: float) -> int:
    """How many values are that share; one such as 0.6 has no exact binary form."""
    return int(np.ceil(least * len(query) - 1e-9))


def at_least(hits: Hits, query: Query, least: float | None) -> Hits:
    """The hits that contain at least a share of the query's values."""
    return hits.take(np.flatnonzero(hits.matched >= enough(query, least))) if least else hits
