"""The codes of a key's values in a segment, and which combinations it can hold."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.engines.composite.query import KeyQuery
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    from lakejoin.engines.composite.key_cells import KeyLookup
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]


class KeyCodes:
    """The codes of a key's values in a segment. For compiled code they take 1.5 bits per value of
    the segment and 8 bytes per value of the key, for every key column.

    `live` says which combinations have all their values in the segment.
    """

    def __init__(self, segment: Segment, query: KeyQuery) -> None:
        codes = [segment.dictionary.find(tokens) for tokens in query.tokens]
        parts = enumerate(codes)
        known = [own[query.combinations[:, j]] != NOT_FOUND for j, own in parts]
        self.live = np.asarray(np.logical_and.reduce(known))
        self._query = query
        self._codes: list[Array] = []
        self._numbers: list[Array] = []
        for own in codes:
            found = np.flatnonzero(own != NOT_FOUND)
            order = found[np.argsort(own[found], kind="stable")]
            self._codes.append(own[order])
            self._numbers.append(order.astype(np.int32))
        self._values = len(segment.dictionary)

    def used(self, part: int) -> tuple[Array, Array]:
        """The codes of a key column's values in live combinations, ascending, and in how many of
        them each occurs."""
        values = len(self._query.tokens[part])
        weights = np.bincount(self._query.combinations[self.live, part], minlength=values)
        weights = weights.astype(np.int64)[self._numbers[part]]
        kept = weights > 0
        return self._codes[part][kept], weights[kept]

    @cached_property
    def known(self) -> KeyLookup:
        """The same for compiled code."""
        from lakejoin.kernels.bits import build_bit_set
        from lakejoin.engines.composite.key_cells import KeyLookup

        words = np.zeros((len(self._codes), self._values // 64 + 1), dtype=np.uint64)
        before = np.zeros(words.shape, dtype=np.uint32)
        for codes, own, earlier in zip(self._codes, words, before, strict=True):
            build_bit_set(codes, own, earlier)
        start = np.cumsum([0, *map(len, self._codes)])
        return KeyLookup(start, np.concatenate(self._numbers), words, before)
