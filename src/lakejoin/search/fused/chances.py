"""How many wrong values would a column of the lake hold? For many columns and one of mine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.signals.chance import chance_by
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.search.query import Query
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]


class Chances:
    """Chances for one column of mine; wrong values of mine are looked up once in each segment."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._codes: dict[tuple[int, int, str], Array] = {}

    def of(self, number: int, segment: Segment, column: int, size: int) -> float:
        """The share of wrong values, of the smaller column, that the other one holds."""
        if len(self._query) <= size:
            return chance_by(self._query.tokens, self._held_by(number, segment, column))
        return chance_by(_some(segment, column, size), self._held_by_mine)

    def _held_by(self, number: int, segment: Segment, column: int) -> Any:
        import pyarrow as pa

        theirs = segment.postings.codes_of(column)

        def held(wrong: pa.LargeStringArray) -> pa.BooleanArray:
            key = number, len(wrong), wrong[0].as_py()
            if key not in self._codes:
                self._codes[key] = segment.dictionary.find(wrong)
            codes = self._codes[key]
            return pa.array((codes != NOT_FOUND) & np.isin(codes, theirs))

        return held

    def _held_by_mine(self, wrong: pa.LargeStringArray) -> Any:
        import pyarrow.compute as pc

        return pc.is_in(wrong, value_set=self._query.tokens)


_SAMPLE = 500


def _some(segment: Segment, column: int, size: int) -> pa.LargeStringArray:
    """Values of a column of the lake: all, or a sample."""
    codes = segment.postings.codes_of(column)
    if len(codes) > _SAMPLE:
        codes = np.sort(np.random.default_rng(0).choice(codes, _SAMPLE, replace=False))
    return segment.dictionary.texts.take(codes)
