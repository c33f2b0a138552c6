"""How is a search run over parts of an index, and how is what they found put together?

A part is some of the segments, and what it finds are hits: numbers of columns with their scores.
Those of all parts are put together in the order that one search over all segments has. Only then
the evidence is gathered, for what is in the answer.
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
    """What a search found in a part of the index; `left_out` tables there are mine again."""

    found: Ranked | Contained
    left_out: int = 0
    seconds: float = 0.0


def check_parted(options: SearchOptions) -> None:
    """Refuses what only all segments together can tell."""
    if isinstance(options.near, ByMeaning) and options.near.tau == AUTO:
        raise InputError(
            "tau auto is chosen from all columns of the lake at once: search with one table to see "
            "which tau it takes, then give that one"
        )


def merged(parts: Sequence[Gathered], numbers: Sequence[Array], options: SearchOptions) -> Gathered:
    """What all parts found, in the order of the answer; `numbers` are those that the segments of
    each part have in the whole index."""
    options = options.settled()
    found = [part.found for part in parts]
    contained = [one for one in found if isinstance(one, Contained)]
    ranked = [one for one in found if isinstance(one, Ranked)]
    if contained:
        best = _containment(options).put_together(contained, numbers)
    else:
        best = put_together(ranked, numbers, options.k)
    left_out = sum(part.left_out for part in parts)
    return Gathered(best, left_out, sum(part.seconds for part in parts))


def searches(choice: Choice, options: SearchOptions) -> list[Choice]:
    """The searches that a choice asks for: for its columns one after the other, or for all."""
    if choice.is_key or options.by == "distance":
        return [choice]
    return [Choice((place,)) for place in choice.places]


class PartSearcher(Searcher):
    """Searches a part of an index: the snapshot names only some of its segments."""

    def gather(self, mine: MyTable, choice: Choice, options: SearchOptions) -> Iterator[Gathered]:
        """What is found for each search that the choice asks for."""
        check_parted(options)
        for one in searches(choice, options):
            begin = time.perf_counter()
            copies = Copies(self.snapshot.segments, self._places, mine, one.places[0])
            tables = copies.all() if options.others else []
            excluded = Excluded(self._without(tables) if options.others else self._dead)
            found = self._found(mine, one, options, excluded)
            yield Gathered(found, sum(map(len, tables)), time.perf_counter() - begin)

    def _found(
        self, mine: MyTable, choice: Choice, options: SearchOptions, excluded: Excluded
    ) -> Ranked | Contained:
        if options.by in ("meaning", "distance"):
            return self._found_near(mine, choice, options.for_column().settled(), excluded)
        if choice.is_key:
            key = self._key(mine, choice, options.for_key().settled())
            tables = key.hits(excluded)
            where = zip(tables.segment.tolist(), tables.table.tolist(), strict=True)
            rows = [self._places[segment].rows[table] for segment, table in where]
            return Ranked(tables, np.array(rows, dtype=np.int64), tables.matched)
        options = options.for_column().settled()
        query = mine.query(choice.places[0])
        if len(query) == 0:
            raise InputError(f"column {query.column!r} of {query.table} has no values")
        if options.by == "containment":
            how = _containment(options, self._costs)
            return how.gather(query, self.snapshot.segments, excluded)
        hits = self._hits(query, options, excluded)
        return Ranked(hits, sizes_of(hits, self.snapshot.segments), hits.matched)

    def _found_near(
        self, mine: MyTable, choice: Choice, options: SearchOptions, excluded: Excluded
    ) -> Ranked:
        assert options.near is not None
        hits = replace(self._near(mine, choice.places, options, excluded).hits(), near=())
        score = hits.pairs if options.near.measure == "all" else hits.matched
        if options.by == "meaning":
            return Ranked(hits, sizes_of(hits, self.snapshot.segments), score)
        where = zip(hits.segment.tolist(), hits.column.tolist(), strict=True)
        segments = self.snapshot.segments
        size = [segments[number].points.size(points) for number, points in where]
        return Ranked(hits, np.array(size, dtype=np.int64), score)


class CompletingSearcher(Searcher):
    """Makes answers of what the parts of its index found; not for several threads at once."""

    _given: Gathered

    def complete(
        self,
        mine: MyTable,
        choice: Choice,
        options: SearchOptions,
        notes: Sequence[str],
        found: Sequence[Gathered],
    ) -> list[Answer]:
        """The answers, one for each search that the choice asks for."""
        answers = []
        for one, self._given in zip(searches(choice, options), found, strict=True):
            since = time.perf_counter() - self._given.seconds
            if options.by == "distance":
                answer = self.search_near(mine, one.places, options, notes, since)
            elif one.is_key:
                answer = self.search_key(mine, one, options, notes, since)
            else:
                answer = self.search(mine, one.places[0], options, notes, since)
            answers.append(answer)
        return answers

    @property
    def _best(self) -> Any:
        found = self._given.found
        assert isinstance(found, Ranked)
        return found.hits

    def _excluded(self, copies: Copies, options: SearchOptions) -> tuple[Excluded, list[str]]:
        # Why nothing was found is searched for once more, in all segments.
        if not options.others or not len(self._best) or options.min:
            return super()._excluded(copies, options)
        itself = copies.mine.home is not None
        return Excluded(self._dead), left_out_said(self._given.left_out, itself)

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
