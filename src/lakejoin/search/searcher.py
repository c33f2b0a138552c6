"""Runs an engine over the segments of a snapshot, then gathers the evidence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.answer import Answer, Found, Result
from lakejoin.search.copies import Copies
from lakejoin.search.evidence import Located
from lakejoin.search.hits import Counters, Excluded, Hits
from lakejoin.search.mine import searched
from lakejoin.search.places import Places
from lakejoin.search.query import Query, locate

if TYPE_CHECKING:
    from lakejoin.search.mine import MyTable
    from lakejoin.search.overlap.costs import ReadCosts
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

BY = ("overlap", "containment")
DEFAULT_K = 10
DEFAULT_MIN = 0.6
SPARE = 3  # times k candidates are verified where the best k are sought with sketches
_FEW = 100  # values: a query of fewer is lost in large columns
_EXACTLY = "by overlap counts exactly"
AT_ONCE = 100  # results whose evidence is gathered with the search


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search.

    `by` overlap: the `k` columns (10) that share the most values, exactly; `min` leaves out those
    that contain less. `by` containment: every column that contains at least `min` (0.6 where `k`
    is not given either), or the best `k`, from sketches; each is verified unless `verified` is
    off. `others` leaves out the query's own table and its exact copies. `algorithm` chooses how
    overlaps are counted.
    """

    by: str = "overlap"
    k: int | None = None
    min: float | None = None
    others: bool = False
    verified: bool = True
    algorithm: str = "auto"

    def __post_init__(self) -> None:
        if self.by not in BY:
            raise InputError(f"by must be {' or '.join(BY)}, not {self.by!r}")
        if self.k is not None and not (isinstance(self.k, Integral) and self.k >= 1):
            raise InputError(f"k must be a whole number from 1 on, not {self.k!r}")
        if self.min is not None and not (isinstance(self.min, Real) and 0.0 <= self.min <= 1.0):
            raise InputError(f"min must be a number between 0 and 1, not {self.min!r}")
        if self.by == "overlap" and not self.verified:
            raise InputError("only a search by containment can go unverified")

    def settled(self) -> SearchOptions:
        """The same with what was left open filled in."""
        if self.by == "overlap":
            return replace(self, k=self.k or DEFAULT_K)
        return replace(self, min=DEFAULT_MIN if self.min is None and self.k is None else self.min)


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
    ) -> Answer:
        """The answer for the column at `place` of a table of mine."""
        begin = time.perf_counter()
        options = (options or SearchOptions()).settled()
        query = mine.query(place)
        if len(query) == 0:
            raise InputError(f"column {query.column!r} of {query.table} has no values")
        copies = Copies(self.snapshot.segments, self._places, mine, place)
        told = [*notes, *mine.notes()]
        excluded = self._dead
        if options.others:
            left_out = copies.all()
            told += _left_out(left_out, mine.home is not None)
            excluded = self._without(left_out)
        hits = self._hits(query, options, Excluded(excluded))
        located = Located(query, self.snapshot.segments)
        results = tuple(
            self._result(i, hits, located, copies, options.verified) for i in range(len(hits))
        )
        _gather(results[:AT_ONCE])
        told += self._notes(query, results, options)
        seconds = time.perf_counter() - begin
        return Answer(
            query=query,
            results=results,
            by=options.by,
            k=options.k,
            min=options.min,
            counters=hits.counters,
            seconds=seconds,
            notes=tuple(told),
        )

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
            column_size=places.size_of(column),
            copy=copies.kind(segment, table),
            estimate=estimate,
            error=None if hits.error is None else float(hits.error[i]),
            verified=verified,
            found=Found(
                located,
                segment,
                table,
                column,
                copies.mine,
                copies.place,
                self.snapshot.manifest,
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
            hits = found.search(query, segments, excluded)
            return _at_least(hits, query, options.min)
        from lakejoin.search.lsh_ensemble import Ensemble

        least, k = options.min or 0.0, options.k
        if not options.verified:
            return Ensemble(least, k).search(query, segments, excluded)
        # The best k by sketches are not quite the best k: some more are verified.
        wanted = None if k is None or options.min is not None else SPARE * k
        hits = Ensemble(least, wanted).search(query, segments, excluded)
        return _first(_at_least(self._verified(query, hits), query, least), k)

    def _verified(self, query: Query, hits: Hits) -> Hits:
        """The hits with exact scores, in their order: the most values first, ties by the size of
        the column and then by its place in the index."""
        from lakejoin.search.overlap import overlaps_of

        matched = np.zeros(len(hits), dtype=np.int64)
        size = np.zeros(len(hits), dtype=np.int64)
        for number in np.unique(hits.segment).tolist():
            segment, here = self.snapshot.segments[number], hits.segment == number
            columns = hits.column[here]
            codes = locate(query, number, segment)
            matched[here] = overlaps_of(segment, codes, columns)
            size[here] = segment.postings.set_sizes(columns)
        order = np.lexsort((hits.column, hits.segment, size, -matched))
        order = order[matched[order] > 0]
        counters = replace(hits.counters, sets_read=len(hits))
        return replace(hits, matched=matched, counters=counters).take(order)

    def _notes(self, query: Query, results: Sequence[Result], options: SearchOptions) -> list[str]:
        all_columns = self.snapshot.manifest.options.all_columns
        notes = []
        if not searched(query.type, all_columns):
            notes.append(
                f"{query.column!r} is of type {query.type}, which this index does not search: only "
                "columns of other types can be found (lakejoin index --all-columns adds them)"
            )
        if results and options.by == "containment" and len(query) < _FEW:
            notes.append(f"sketches miss columns much larger than a query as small; {_EXACTLY}")
        if results and not options.verified:
            notes.append("these are estimates: some contain less than was asked for")
        if results:
            return notes
        if not self.snapshot.manifest.totals.tables:
            return [*notes, "the index holds no table"]
        where = "other table of the lake" if options.others else "searched column of the lake"
        if options.by == "containment":
            # Sketches can miss a column: only counting can say that there is none.
            return [*notes, f"the sketches found no {where} that contains enough; {_EXACTLY}"]
        if options.min is not None and options.min > 0 and len(query) > 1:
            values = f"{options.min:.0%} of the {len(query):,} values of {query.column!r}"
            return [*notes, f"no {where} contains {values}"]
        if len(query) > 1:
            values = f"none of the {len(query):,} values of {query.column!r}"
            return [*notes, f"{values} is in any {where}"]
        return [*notes, f"the one value of {query.column!r} is in no {where}"]


def _left_out(tables: Sequence[Array], itself: bool) -> list[str]:
    count = sum(map(len, tables)) - itself
    copies = f"{count:,} exact " + ("copy" if count == 1 else "copies")
    if itself:
        return ["the table itself is left out" + (f", and {copies} of it" if count else "")]
    return [f"{copies} of the table " + ("is" if count == 1 else "are") + " left out"] * (count > 0)


def _gather(results: Sequence[Result]) -> None:
    """Gathers evidence segment by segment, so that the query is looked up once in each."""
    for result in sorted(results, key=lambda r: r.found.segment if r.found else 0):
        _ = result.evidence


def _at_least(hits: Hits, query: Query, least: float | None) -> Hits:
    if not least:
        return hits
    # A share such as 0.6 has no exact binary form; a whole number of values is meant.
    enough = np.ceil(least * len(query) - 1e-9)
    return hits.take(np.flatnonzero(hits.matched >= enough))


def _first(hits: Hits, k: int | None) -> Hits:
    return hits if k is None else hits.take(np.arange(min(k, len(hits))))
