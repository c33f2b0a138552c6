"""Estimate how many random values would match by chance, for one query column and many lake
columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.signals.chance import (
    PATTERN_VALUES,
    WrongValues,
    match_chance_by,
    combine_chances,
    wrong_values,
)
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import Query
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

_SAMPLE = 150


class ChanceEstimator:
    """Chances for one query column; its wrong values are looked up once per segment."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._located: dict[int, list[WrongValues]] = {}

    def of(self, segment_index: int, segment: Segment, column: int, size: int) -> float:
        """The share of wrong values of the smaller column that the other column holds."""
        theirs = segment.postings.codes_of(column)
        if len(self._query) > size:
            return match_chance_by(_some(segment, theirs), self._held_by_mine, _SAMPLE)
        return combine_chances(
            [_met(wrong, theirs) for wrong in self._located_in(segment_index, segment)],
        )

    @cached_property
    def _wrong(self) -> list[WrongValues]:
        return wrong_values(self._query.tokens)

    def _located_in(self, segment_index: int, segment: Segment) -> list[WrongValues]:
        """The wrong values as codes of a segment: -1 if there is no value, -2 if the segment lacks
        it."""
        if segment_index not in self._located:
            self._located[segment_index] = [
                WrongValues(wrong.share, _codes(wrong, segment)) for wrong in self._wrong
            ]
        return self._located[segment_index]

    @cached_property
    def _mine(self) -> frozenset[str]:
        return frozenset(self._query.tokens.to_pylist())

    def _held_by_mine(self, wrong: pa.LargeStringArray) -> pa.BooleanArray:
        import pyarrow as pa

        mine = self._mine
        return pa.array([text in mine for text in wrong.to_pylist()], pa.bool_())


def is_among(codes: Array, ascending: Array) -> Array:
    """Which codes are among ascending ones.

    >>> is_among(np.array([5, 2, 9]), np.array([2, 4, 5])).tolist()
    [True, True, False]
    """
    if not len(ascending):
        return np.zeros(codes.shape, dtype=bool)
    at = np.minimum(np.searchsorted(ascending, codes), len(ascending) - 1)
    return np.asarray(ascending[at] == codes)


def _codes(wrong: WrongValues, segment: Segment) -> Array:
    import pyarrow as pa

    texts = pa.array([text for variant in wrong.ways for text in variant], pa.large_string())
    made = np.asarray(texts.is_valid())
    found = np.full(len(texts), -1, np.int64)
    if made.any():
        codes = segment.dictionary.find(texts.drop_null())
        found[made] = np.where(codes == NOT_FOUND, -2, codes.astype(np.int64))
    return found.reshape(len(wrong.ways), -1)


def _met(located: WrongValues, theirs: Array) -> WrongValues:
    """1 if a column holds the wrong value, 0 if not, -1 if there is no value."""
    codes = located.ways
    held = is_among(codes, theirs.astype(np.int64)).astype(np.int8)
    return WrongValues(located.share, np.where(codes == -1, np.int8(-1), held))


def _some(segment: Segment, codes: Array) -> pa.LargeStringArray:
    """The values of codes: all, or a sample."""
    if len(codes) > PATTERN_VALUES:
        codes = np.sort(np.random.default_rng(0).choice(codes, PATTERN_VALUES, replace=False))
    return segment.dictionary.texts.take(codes)
