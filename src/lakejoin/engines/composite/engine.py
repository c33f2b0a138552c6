"""Find the k tables that hold most key combinations (MATE: Esmailoghli et al., VLDB 2022).

Algorithm 1 of the paper, on an index whose posting lists name columns and whose rows are codes:

1. *Table filter* (6.2). The posting lists tell, by column, how many combinations have their value
   there; no mapping to that column matches more. A table is bounded by its best column for each key
   column. Tables come by falling bound; the search ends when the bound cannot enter the k best
   (rule 1), and a table is left when the remaining rows cannot lift it there (rule 2).
2. *Initial column* (6.1). The key column by which fetching rows is cheapest.
3. *Row filter* (6.3). Rows with a value of the initial column pass if their super key covers that
   of a combination.
4. *Verification*, on codes: rows that hold a whole combination, each value in its own column.
5. *Mapping* (equation 2). The one-to-one mapping with the most distinct combinations, by branch and
   bound over the remaining rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.composite.hits import BestTables, KeyHits
from lakejoin.engines.composite.query import KeyCodes, KeyQuery, PreparedKey
from lakejoin.engines.composite.table_search import KeySegmentSearch
from lakejoin.engines.hits import ExcludedColumns
from lakejoin.engines.limits import check_k
from lakejoin.engines.overlap.engine import index_of

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment


@dataclass(frozen=True, slots=True)
class Mate:
    """Finds the k tables that hold most key combinations, exactly.

    Ties are broken by fewer rows, then by the order of the index. `initial` is the key column by
    which rows are fetched: its name or index, "items" for the cheapest in each segment, or
    "cardinality" for the fewest distinct values; the answer is the same. Benchmarks search segments
    by another `segment_search`.
    """

    k: int = 10
    initial: str | int = "items"
    segment_search: Callable[..., KeySegmentSearch] = KeySegmentSearch

    def __post_init__(self) -> None:
        check_k(self.k)

    def search(
        self, query: KeyQuery, segments: Sequence[Segment], excluded: ExcludedColumns | None = None
    ) -> KeyHits:
        key = PreparedKey(query, self.initial)
        index = index_of(segments)
        best = BestTables(max(1, min(self.k, sum(segment.record.tables for segment in segments))))
        opened = {number: KeyCodes(segment, query) for number, segment in enumerate(segments)}
        live = [int(numbering.live.sum()) for numbering in opened.values()]
        searches: dict[int, KeySegmentSearch] = {}
        # Start with the segment that can hold most: it sets a high k-th score.
        for number in np.argsort(np.negative(live), kind="stable").tolist():
            numbering = opened.pop(number)  # freed with its segment's search
            if not best.hopeless(live[number]):
                hidden = excluded.columns[number] if excluded else None
                search = self.segment_search(
                    key, index, number, segments[number], numbering, hidden
                )
                search.run(best, key.counters)
                searches = {
                    n: run
                    for n, run in (searches | {number: search}).items()
                    if n in best.segments()
                }
        tables = best.ordered()
        settled = [
            searches[s].best_mappings(t, score)
            for s, t, score in zip(*map(np.ndarray.tolist, tables), strict=True)
        ]
        mappings, runners_up = zip(*settled, strict=True) if settled else ((), ())
        return KeyHits(*tables, tuple(mappings), tuple(runners_up), key.counters)
