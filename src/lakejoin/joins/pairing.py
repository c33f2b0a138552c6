"""Enumerate the matching pairs of rows, any range of them at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.joins.row_keys import Keys

Array = np.ndarray[Any, Any]

NO_ROW = -1  # the other side of an unmatched row


@dataclass(frozen=True, eq=False)
class Pairing:
    """The rows of a join, ordered by left row and then by right row.

    `keep_left` and `keep_right` keep unmatched rows: left ones in order, right ones at the end.
    Memory does not grow with the size of the result.

    >>> keys = Keys(np.array([0, 1, -1, 0]), np.array([0, -1, 0]), 2)
    >>> left, right = Pairing(keys, keep_left=True, keep_right=True).rows(0, 10)
    >>> left.tolist(), right.tolist()
    ([0, 0, 1, 2, 3, 3, -1], [0, 2, -1, -1, 0, 2, 1])
    """

    keys: Keys
    keep_left: bool = False
    keep_right: bool = False

    @cached_property
    def left_counts(self) -> Array:
        """The number of left rows of each key."""
        return _counts(self.keys.left, self.keys.count)

    @cached_property
    def right_counts(self) -> Array:
        """The number of right rows of each key."""
        return _counts(self.keys.right, self.keys.count)

    @cached_property
    def partners_of_left(self) -> Array:
        """The number of matches of each left row."""
        return _looked_up(self.right_counts, self.keys.left)

    @cached_property
    def partners_of_right(self) -> Array:
        """The number of matches of each right row."""
        return _looked_up(self.left_counts, self.keys.right)

    def __len__(self) -> int:
        return int(self.ends[-1]) + len(self._right_alone)

    def rows(self, begin: int, end: int) -> tuple[Array, Array]:
        """The left and right row of the result's rows [begin, end); `NO_ROW` for unmatched."""
        paired = int(self.ends[-1])
        positions = np.arange(begin, min(end, paired), dtype=np.int64)
        left = np.searchsorted(self.ends, positions, side="right") - 1
        nth = positions - self.ends[left]
        matched = self.partners_of_left[left] > 0
        right = np.full(len(positions), NO_ROW, np.int64)
        first = self._first[self.keys.left[left[matched]]]
        right[matched] = self._right_order[first + nth[matched]]
        alone = self._right_alone[max(0, begin - paired) : max(0, end - paired)]
        no_left = np.full(len(alone), NO_ROW, np.int64)
        return np.concatenate([left, no_left]), np.concatenate([right, alone])

    @cached_property
    def ends(self) -> Array:
        """Where the rows of each left row begin in the result, and where the last ones end."""
        counts = self.partners_of_left
        if self.keep_left:
            counts = np.maximum(counts, 1)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])

    @cached_property
    def _right_order(self) -> Array:
        """The right rows with a key, sorted by key."""
        rows = np.flatnonzero(self.keys.right >= 0)
        return np.asarray(rows[np.argsort(self.keys.right[rows], kind="stable")])

    @cached_property
    def _first(self) -> Array:
        """Where the right rows of each key begin in `_right_order`."""
        return np.cumsum(self.right_counts) - self.right_counts

    @cached_property
    def _right_alone(self) -> Array:
        if not self.keep_right:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.partners_of_right == 0)


def _counts(keys: Array, count: int) -> Array:
    return np.bincount(keys[keys >= 0], minlength=count).astype(np.int64)


def _looked_up(counts: Array, keys: Array) -> Array:
    """`counts[keys]`, 0 for rows without a key."""
    return np.append(counts, 0)[keys]
