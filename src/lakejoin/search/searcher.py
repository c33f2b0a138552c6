"""Runs an engine over the segments of a snapshot, then gathers the evidence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.answer import Answer
from lakejoin.search.containment import Containment, at_least
from lakejoin.search.copies import Copies
from lakejoin.search.display import percent
from lakejoin.search.evidence import Located, Wanted, meet
from lakejoin.search.hits import Counters, Excluded, Hits
from lakejoin.search.mine import unsearched
from lakejoin.search.options import DEFAULT_K, SearchOptions
from lakejoin.search.places import Places
from lakejoin.search.query import Query
from lakejoin.search.result import Found, NearResult, Result

if TYPE_CHECKING:
    from lakejoin.search.choice import Choice
    from lakejoin.search.keys import KeySearch
    from lakejoin.search.mate.hits import KeyCounters, KeyHits
    from lakejoin.search.meaning import MeaningSearch
    from lakejoin.search.meanings import Meanings
    from lakejoin.search.mine import MyTable
    from lakejoin.search.nearness import DistanceSearch
    from lakejoin.search.overlap.costs import ReadCosts
    from lakejoin.search.vectors.hits import VectorCounters, VectorHits
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

_FEW = 100  # values: a query of fewer is lost in large columns
_EXACTLY = "by overlap counts exactly"
AT_ONCE = 100  # results whose evidence is gathered with the search


class Searcher:
    """Searches one snapshot; safe from several threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._places = [Places(segment) for segment in snapshot.segments]

    @cached_property
    def _costs(self) -> ReadCosts | None:
        """What reading this index costs, if it was measured on this machine before."""
        from lakejoin.search.overlap.costs import kept_costs

        return kept_costs(self.snapshot.place)

    def search(
        self,
        mine: MyTable,
        place: int,
        options: SearchOptions | None = None,
        notes: Sequence[str] = (),
        since: float | None = None,
    ) -> Answer:
        """The answer for the column at `place` of a table of mine.

        `since` is when the caller began to wait, by `time.perf_counter`: now, if left out.
        """
        if options is not None and options.by == "meaning":
            return self.search_near(mine, (place,), options, notes, since)
        begin = time.perf_counter() if since is None else since
        options = (options or SearchOptions()).for_column().settled()
        results, told, counters = self._column(mine, place, options)
        told = (*notes, *told)
        return _answer(mine.query(place), results, options, counters, told, begin)

    def results(
        self, mine: MyTable, place: int, options: SearchOptions
    ) -> tuple[tuple[Result, ...], tuple[str, ...]]:
        """The results of `search` and what is said of them; evidence is gathered when it is asked
        for, and not for the first ones at once."""
        return self._column(mine, place, options.for_column().settled())[:2]

    def _column(
        self, mine: MyTable, place: int, options: SearchOptions
    ) -> tuple[tuple[Result, ...], tuple[str, ...], Counters]:
        query = mine.query(place)
        if len(query) == 0:
            raise InputError(f"column {query.column!r} of {query.table} has no values")
        copies = Copies(self.snapshot.segments, self._places, mine, place)
        excluded, left_out = self._excluded(copies, options)
        hits = self._hits(query, options, excluded)
        located = Located(query, self.snapshot.segments)
        results = tuple(
            self._result(i, hits, located, copies, options.verified) for i in range(len(hits))
        )
        said = self._notes(query, results, options, hits.estimate is not None)
        return results, (*mine.notes(), *left_out, *said), hits.counters

    def search_key(
        self,
        mine: MyTable,
        key: Choice,
        options: SearchOptions | None = None,
        notes: Sequence[str] = (),
        since: float | None = None,
    ) -> Answer:
        """The answer for several columns of a table of mine together; `since` as for `search`."""
        begin = time.perf_counter() if since is None else since
        options = (options or SearchOptions()).for_key().settled()
        search = self._key(mine, key, options)
        copies = Copies(self.snapshot.segments, self._places, mine, key.places[0])
        excluded, left_out = self._excluded(copies, options)
        hits = self._key_hits(search, excluded)
        results = search.results(hits, copies)
        told = (*notes, *mine.notes(), *left_out, *search.notes(hits, results, excluded))
        answer = _answer(search.query, results, options, hits.counters, told, begin)
        search.forget()
        return answer

    def search_near(
        self,
        mine: MyTable,
        places: Sequence[int],
        options: SearchOptions,
        notes: Sequence[str] = (),
        since: float | None = None,
    ) -> Answer:
        """The answer by meaning or by distance, for a column or for two that are a place."""
        begin = time.perf_counter() if since is None else since
        options = options.for_column().settled()
        copies = Copies(self.snapshot.segments, self._places, mine, places[0])
        excluded, left_out = self._excluded(copies, options)
        search = self._near(mine, places, options, excluded)
        hits = self._near_hits(search)
        results = search.results(hits, copies)
        said = [*search.notes(hits, results), *_unlisted(results, options)]
        told = (*notes, *mine.notes(), *left_out, *said)
        answer = _answer(search.query, results, options, hits.counters, told, begin)
        search.forget()
        return replace(answer, reach=search.reach)

    def near(
        self, mine: MyTable, places: Sequence[int], options: SearchOptions
    ) -> MeaningSearch | DistanceSearch:
        """A search by meaning or by distance before it is run, with what it must not find."""
        options = options.for_column().settled()
        copies = Copies(self.snapshot.segments, self._places, mine, places[0])
        return self._near(mine, places, options, self._excluded(copies, options)[0])

    def _key(self, mine: MyTable, key: Choice, options: SearchOptions) -> KeySearch:
        from lakejoin.search.keys import KeySearch

        return KeySearch(self.snapshot, self._places, mine, key, options, self._costs)

    def _key_hits(self, search: KeySearch, excluded: Excluded) -> KeyHits:
        return search.hits(excluded)

    def _near_hits(self, search: MeaningSearch | DistanceSearch) -> VectorHits:
        return search.hits()

    def _near(
        self, mine: MyTable, places: Sequence[int], options: SearchOptions, excluded: Excluded
    ) -> MeaningSearch | DistanceSearch:
        snapshot, among = self.snapshot, self._places
        if options.by == "meaning":
            from lakejoin.search.meaning import MeaningSearch

            (place,) = places
            return MeaningSearch(snapshot, among, self._meanings, mine, place, options, excluded)
        from lakejoin.search.nearness import DistanceSearch

        return DistanceSearch(snapshot, among, mine, tuple(places), options, excluded)

    @cached_property
    def _meanings(self) -> Meanings:
        from lakejoin.search.meanings import Meanings

        return Meanings(self.snapshot)

    def results_of(
        self, mine: MyTable, place: int, columns: Sequence[tuple[int, int]]
    ) -> tuple[Result, ...]:
        """The results for a column of mine that certain columns are, as (segment, column); those of
        my table and its copies are left out, and those that share nothing."""
        query = mine.query(place)
        copies = Copies(self.snapshot.segments, self._places, mine, place)
        excluded = self._without(copies.all())
        located = Located(query, self.snapshot.segments)
        asked = [one for one in columns if one[1] not in excluded[one[0]]]
        matched = [len(meet(located, *one).places) for one in asked]
        some = [(*one, count) for one, count in zip(asked, matched, strict=True) if count]
        numbers, found, counts = np.array(some, np.int64).reshape(-1, 3).T
        hits = Hits(numbers, found, counts, Counters())
        return tuple(self._result(i, hits, located, copies, True) for i in range(len(some)))

    def table_of(self, number: int, column: int) -> int:
        """The number of the table that a column of a segment belongs to."""
        return self._places[number].table_of(column)

    def place_of(
        self, mine: MyTable, places: tuple[int, ...], number: int, columns: tuple[int, ...]
    ) -> Found:
        """Where columns of mine and of a table lie whose values need not be equal."""
        segments, size = self.snapshot.segments, partial(self._places[number].size_of, columns[0])
        query, table = mine.query(places[0]), self.table_of(number, columns[0])
        located = Located(query, segments)
        meeting = partial(meet, located, number, columns[0])
        manifest, segment = self.snapshot.manifest, segments[number]
        return Found(query, segment, number, table, columns, mine, places, manifest, meeting, size)

    def excluded(self, mine: MyTable, place: int) -> Excluded:
        """The columns of my table, of its copies and of tables that have gone."""
        copies = Copies(self.snapshot.segments, self._places, mine, place)
        return Excluded(self._without(copies.all()))

    def _excluded(self, copies: Copies, options: SearchOptions) -> tuple[Excluded, list[str]]:
        """What must not be found, and what is said of it."""
        if not options.others:
            return Excluded(self._dead), []
        tables = copies.all()
        said = left_out_said(sum(map(len, tables)), copies.mine.home is not None)
        return Excluded(self._without(tables)), said

    @cached_property
    def _dead(self) -> list[Array]:
        return [places.dead for places in self._places]

    def _without(self, tables: Sequence[Array]) -> list[Array]:
        """By segment, the columns of tables that have gone and of the given ones."""
        return [
            np.union1d(gone, places.columns_of(some))
            for gone, places, some in zip(self._dead, self._places, tables, strict=True)
        ]

    def _result(
        self, i: int, hits: Hits, located: Located, copies: Copies, verified: bool
    ) -> Result:
        segment, column = int(hits.segment[i]), int(hits.column[i])
        places = self._places[segment]
        table = places.table_of(column)
        matched, size = int(hits.matched[i]), len(located.query)
        estimate = None if hits.estimate is None else float(hits.estimate[i])
        return Result(
            rank=i + 1,
            table=places.table_name(table),
            columns=(places.column_name(column),),
            matched=matched,
            containment=matched / size if verified or estimate is None else estimate,
            query_size=size,
            _column_size=places.size_of(column),
            copy=copies.kind(segment, table),
            estimate=estimate,
            error=None if hits.error is None else float(hits.error[i]),
            verified=verified,
            found=Found(
                located.query,
                self.snapshot.segments[segment],
                segment,
                table,
                (column,),
                copies.mine,
                (copies.place,),
                self.snapshot.manifest,
                partial(meet, located, segment, column),
                partial(places.size_of, column),
            ),
        )

    def _hits(self, query: Query, options: SearchOptions, excluded: Excluded) -> Hits:
        segments = self.snapshot.segments
        if not segments:
            none = np.zeros(0, dtype=np.int64)
            return Hits(none, none, none, Counters())
        if options.by == "overlap":
            from lakejoin.search.overlap import Overlap

            found = Overlap(options.k or DEFAULT_K, options.algorithm, self._costs)
            return at_least(found.search(query, segments, excluded), query, options.min)
        contained = Containment(options.min or 0.0, options.k, options.verified, self._costs)
        return contained.search(query, segments, excluded)

    def _notes(
        self, query: Query, results: Sequence[Result], options: SearchOptions, sketched: bool
    ) -> list[str]:
        all_columns = self.snapshot.manifest.options.all_columns
        notes = unsearched(query.column, query.type, all_columns)
        if results and options.by == "containment" and not sketched:
            notes.append("the lists of these values are short: counted exactly, without sketches")
        if results and sketched and len(query) < _FEW:
            notes.append(f"sketches miss columns much larger than a query as small; {_EXACTLY}")
        if results and not options.verified:
            notes.append("these are estimates: some contain less than was asked for")
        if results:
            return notes
        if not self.snapshot.manifest.totals.tables:
            return [*notes, "the index holds no table"]
        where = "other table of the lake" if options.others else "searched column of the lake"
        if sketched:
            # Sketches can miss a column: only counting can say that there is none.
            return [*notes, f"the sketches found no {where} that contains enough; {_EXACTLY}"]
        if options.min is not None and options.min > 0 and len(query) > 1:
            values = f"{percent(options.min)} of the {len(query):,} values of {query.column!r}"
            return [*notes, f"no {where} contains {values}"]
        if len(query) > 1:
            values = f"none of the {len(query):,} values of {query.column!r}"
            return [*notes, f"{values} is in any {where}"]
        return [*notes, f"the one value of {query.column!r} is in no {where}"]


def _answer(
    query: Wanted,
    results: Sequence[Result],
    options: SearchOptions,
    counters: Counters | KeyCounters | VectorCounters,
    notes: tuple[str, ...],
    begin: float,
) -> Answer:
    """The answer, once the evidence of its first results is there."""
    _gather(results[:AT_ONCE])
    return Answer(
        query=query,
        results=tuple(results),
        by=options.by,
        k=options.k,
        min=options.min,
        counters=counters,
        seconds=time.perf_counter() - begin,
        notes=notes,
    )


def left_out_said(tables: int, itself: bool) -> list[str]:
    """What is said of tables that were left out; `itself` tells that mine is one of them."""
    count = tables - itself
    copies = f"{count:,} exact " + ("copy" if count == 1 else "copies")
    if itself:
        return ["the table itself is left out" + (f", and {copies} of it" if count else "")]
    return [f"{copies} of the table " + ("is" if count == 1 else "are") + " left out"] * (count > 0)


def _unlisted(results: Sequence[NearResult], options: SearchOptions) -> list[str]:
    """What is said of results with more pairs than can be listed."""
    from lakejoin.search.near_evidence import MOST_PAIRS

    many = sum(not result.listed for result in results)
    if not many:
        return []
    has = "1 result has" if many == 1 else f"{many:,} results have"
    smaller = "tau" if options.by == "meaning" else "within"
    return [
        f"{has} more than {MOST_PAIRS:,} pairs, too many to list: only counted, without examples; "
        f"a smaller {smaller} has fewer"
    ]


def _gather(results: Sequence[Result]) -> None:
    """Gathers evidence and sizes by segment, so that the query is looked up once in each."""
    for result in sorted(results, key=lambda r: r.found.number if r.found else 0):
        _ = result.evidence, result.column_size
