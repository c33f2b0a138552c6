"""Run a search over partitions of an index and merge their hits into one answer.

A partition is some of the segments; its hits are merged with the others' in the order that one
search over all segments has. Evidence is gathered afterwards, for the merged answer only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.choice import Choice
from lakejoin.search.containment import Contained, Containment, at_least, sizes_of
from lakejoin.search.copies import Copies
from lakejoin.search.hits import Excluded
from lakejoin.search.near_options import AUTO, ByMeaning
from lakejoin.search.ranked import Ranked, put_together
from lakejoin.search.searcher import Searcher, left_out_said

if TYPE_CHECKING:
    from lakejoin.search.answer import Answer
    from lakejoin.search.hits import Hits
    from lakejoin.search.keys import KeySearch
    from lakejoin.search.mate.hits import KeyHits
    from lakejoin.search.meaning import MeaningSearch
    from lakejoin.search.mine import MyTable
    from lakejoin.search.nearness import DistanceSearch
    from lakejoin.search.options import SearchOptions
    from lakejoin.search.query import Query
    from lakejoin.search.vectors.hits import VectorHits

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """What a search found in a partition; `left_out` counts the copies of the query table there."""

    found: Ranked | Contained
    left_out: int = 0
    seconds: float = 0.0


def check_parted(options: SearchOptions) -> None:
    """Raise an error for options that need all segments at once."""
    if isinstance(options.near, ByMeaning) and options.near.tau == AUTO:
        raise InputError(
            "tau auto needs all columns of the lake at once: search with one table to see which "
            "tau it chooses, then pass that"
        )


def merged(parts: Sequence[Gathered], numbers: Sequence[Array], options: SearchOptions) -> Gathered:
    """Merge what all partitions found, in the order of the answer; `numbers` are the indexes of
    each partition's segments in the whole index."""
    options = options.settled()
    found = [part.found for part in parts]
    contained = [hits for hits in found if isinstance(hits, Contained)]
    ranked = [hits for hits in found if isinstance(hits, Ranked)]
    if contained:
        best = _containment(options).put_together(contained, numbers)
    else:
        best = put_together(ranked, numbers, options.k)
    left_out = sum(part.left_out for part in parts)
    return Gathered(best, left_out, sum(part.seconds for part in parts))


def searches(choice: Choice, options: SearchOptions) -> list[Choice]:
    """Split a choice into searches: one per column, or one for all columns together."""
    if choice.is_key or options.by == "distance":
        return [choice]
    return [Choice((column_index,)) for column_index in choice.places]


class PartSearcher(Searcher):
    """Searches a partition of an index: its snapshot has only some of the segments."""

    def gather(
        self, query_table: MyTable, choice: Choice, options: SearchOptions
    ) -> Iterator[Gathered]:
        """Yield what each search of the choice finds."""
        check_parted(options)
        for search in searches(choice, options):
            begin = time.perf_counter()
            copies = Copies(self.snapshot.segments, self._places, query_table, search.places[0])
            tables = copies.all() if options.others else []
            excluded = Excluded(self._without(tables) if options.others else self._dead)
            found = self._found(query_table, search, options, excluded)
            yield Gathered(found, sum(map(len, tables)), time.perf_counter() - begin)

    def _found(
        self, query_table: MyTable, choice: Choice, options: SearchOptions, excluded: Excluded
    ) -> Ranked | Contained:
        if options.by in ("meaning", "distance"):
            return self._found_near(query_table, choice, options.for_column().settled(), excluded)
        if choice.is_key:
            key = self._key(query_table, choice, options.for_key().settled())
            tables = key.hits(excluded)
            where = zip(tables.segment.tolist(), tables.table.tolist(), strict=True)
            rows = [self._places[segment].rows[table] for segment, table in where]
            return Ranked(tables, np.array(rows, dtype=np.int64), tables.matched)
        options = options.for_column().settled()
        query = query_table.query(choice.places[0])
        if len(query) == 0:
            raise InputError(f"column {query.column!r} of {query.table} has no values")
        if options.by == "containment":
            how = _containment(options, self._costs)
            return how.gather(query, self.snapshot.segments, excluded)
        hits = self._hits(query, options, excluded)
        return Ranked(hits, sizes_of(hits, self.snapshot.segments), hits.matched)

    def _found_near(
        self, query_table: MyTable, choice: Choice, options: SearchOptions, excluded: Excluded
    ) -> Ranked:
        assert options.near is not None
        hits = replace(self._near(query_table, choice.places, options, excluded).hits(), near=())
        score = hits.pairs if options.near.measure == "all" else hits.matched
        if options.by == "meaning":
            return Ranked(hits, sizes_of(hits, self.snapshot.segments), score)
        where = zip(hits.segment.tolist(), hits.column.tolist(), strict=True)
        segments = self.snapshot.segments
        size = [segments[segment_index].points.size(points) for segment_index, points in where]
        return Ranked(hits, np.array(size, dtype=np.int64), score)


class CompletingSearcher(Searcher):
    """Makes answers from what the partitions of its index found; not thread-safe."""

    _gathered: Gathered

    def complete(
        self,
        query_table: MyTable,
        choice: Choice,
        options: SearchOptions,
        notes: Sequence[str],
        found: Sequence[Gathered],
    ) -> list[Answer]:
        """The answers, one for each search of the choice."""
        answers = []
        for search, self._gathered in zip(searches(choice, options), found, strict=True):
            since = time.perf_counter() - self._gathered.seconds
            if options.by == "distance":
                answer = self.search_near(query_table, search.places, options, notes, since)
            elif search.is_key:
                answer = self.search_key(query_table, search, options, notes, since)
            else:
                answer = self.search(query_table, search.places[0], options, notes, since)
            answers.append(answer)
        return answers

    @property
    def _best(self) -> Any:
        found = self._gathered.found
        assert isinstance(found, Ranked)
        return found.hits

    def _excluded(self, copies: Copies, options: SearchOptions) -> tuple[Excluded, list[str]]:
        # To explain why nothing was found, all segments are searched again.
        if not options.others or not len(self._best) or options.min:
            return super()._excluded(copies, options)
        itself = copies.mine.home is not None
        return Excluded(self._dead), left_out_said(self._gathered.left_out, itself)

    def _hits(self, query: Query, options: SearchOptions, excluded: Excluded) -> Hits:
        hits: Hits = self._best
        if options.by == "containment":
            how = _containment(options, self._costs)
            return how.complete(hits, query, self.snapshot.segments)
        return at_least(hits, query, options.min)

    def _key_hits(self, search: KeySearch, excluded: Excluded) -> KeyHits:
        hits: KeyHits = self._best
        return hits

    def _near_hits(self, search: MeaningSearch | DistanceSearch) -> VectorHits:
        hits: VectorHits = self._best
        return hits


def _containment(options: SearchOptions, costs: Any = None) -> Containment:
    return Containment(options.min or 0.0, options.k, options.verified, costs)
