"""Which k tables hold most of my key combinations? (MATE: Esmailoghli et al., VLDB 2022)

Algorithm 1 of the paper, on an index whose posting lists name columns and whose rows are codes:

1. *Table filter* (6.2). The lists tell, column by column, how many of my combinations have their
   value there: no mapping to that column matches more. A table is bounded by its best column for
   each part of the key. Tables come by falling bound, and it is over when the bound cannot enter
   the k best (rule 1); within a table, when the rows ahead cannot lift it there (rule 2).
2. *Initial column* (6.1). The key column by which it costs least to fetch rows.
3. *Row filter* (6.3). Rows with a value of the initial column pass if their super key covers that
   of a combination.
4. *Verification*, on codes: rows that hold a whole combination, each part in a column of its own.
5. *Mapping* (equation 2). The one-to-one mapping with the most distinct combinations, by branch and
   bound over the rows that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.search.hits import Excluded
from lakejoin.search.mate.best import Best
from lakejoin.search.mate.hits import KeyHits
from lakejoin.search.mate.key import Key, MateOptions
from lakejoin.search.mate.numbering import Numbering
from lakejoin.search.mate.query import KeyQuery
from lakejoin.search.mate.segments import SegmentSearch
from lakejoin.search.options import check_k
from lakejoin.search.overlap.engine import index_of

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment


@dataclass(frozen=True, slots=True)
class Mate:
    """Which k tables hold most of my key combinations, exactly?

    Of tables with equally many, the one with fewer rows comes first, then the order of the index.
    """

    k: int = 10
    options: MateOptions = field(default_factory=MateOptions)

    def __post_init__(self) -> None:
        check_k(self.k)

    def search(
        self, query: KeyQuery, segments: Sequence[Segment], excluded: Excluded | None = None
    ) -> KeyHits:
        """The best tables of all segments."""
        key = Key(query, self.options)
        index = index_of(segments)
        best = Best(max(1, min(self.k, sum(segment.record.tables for segment in segments))))
        opened = {number: Numbering(segment, query) for number, segment in enumerate(segments)}
        live = [int(numbering.live.sum()) for numbering in opened.values()]
        kept: dict[int, SegmentSearch] = {}
        # The segment that can hold the most first: it sets a high k-th score.
        for number in np.argsort(np.negative(live), kind="stable").tolist():
            numbering = opened.pop(number)  # it goes with its segment's search
            if not best.hopeless(live[number]):
                hidden = excluded.columns[number] if excluded else None
                search = SegmentSearch(key, index, number, segments[number], numbering, hidden)
                search.run(best, key.counters)
                kept = {
                    n: one for n, one in (kept | {number: search}).items() if n in best.segments()
                }
        found = best.ordered()
        settled = [
            kept[s].settle(t, score)
            for s, t, score in zip(*map(np.ndarray.tolist, found), strict=True)
        ]
        mappings, runners_up = zip(*settled, strict=True) if settled else ((), ())
        return KeyHits(*found, tuple(mappings), tuple(runners_up), key.counters)
