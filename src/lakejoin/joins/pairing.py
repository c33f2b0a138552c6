"""Which row meets which? Any stretch of a join's rows as pairs of row numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lakejoin.joins.keys import Keys

Array = np.ndarray[Any, Any]

NO_ROW = -1  # the other side of a row that found no partner


@dataclass(frozen=True, eq=False)
class Pairing:
    """The rows of a join, in the order of the left rows and then of the right ones.

    `keep_left` and `keep_right` keep the rows without a partner: those of the left in their
    place, those of the right at the end. Nothing of the result's size is held in memory.

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
        """How many left rows hold each key."""
        return _counts(self.keys.left, self.keys.count)

    @cached_property
    def right_counts(self) -> Array:
        """How many right rows hold each key."""
        return _counts(self.keys.right, self.keys.count)

    @cached_property
    def partners_of_left(self) -> Array:
        """How many partners each left row finds."""
        return _looked_up(self.right_counts, self.keys.left)

    @cached_property
    def partners_of_right(self) -> Array:
        """How many partners each right row finds."""
        return _looked_up(self.left_counts, self.keys.right)

    def __len__(self) -> int:
        return int(self.ends[-1]) + len(self._right_alone)

    def rows(self, begin: int, end: int) -> tuple[Array, Array]:
        """The left and right row numbers of the result's rows [begin, end); `NO_ROW` for none."""
        paired = int(self.ends[-1])
        places = np.arange(begin, min(end, paired), dtype=np.int64)
        left = np.searchsorted(self.ends, places, side="right") - 1
        nth = places - self.ends[left]
        found = self.partners_of_left[left] > 0
        right = np.full(len(places), NO_ROW, np.int64)
        first = self._first[self.keys.left[left[found]]]
        right[found] = self._right_order[first + nth[found]]
        alone = self._right_alone[max(0, begin - paired) : max(0, end - paired)]
        nobody = np.full(len(alone), NO_ROW, np.int64)
        return np.concatenate([left, nobody]), np.concatenate([right, alone])

    @cached_property
    def ends(self) -> Array:
        """Where the rows of each left row begin in the result; the last is where they all end."""
        made = self.partners_of_left
        if self.keep_left:
            made = np.maximum(made, 1)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(made, dtype=np.int64)])

    @cached_property
    def _right_order(self) -> Array:
        """The right rows that have a key, by key and then as they come."""
        rows = np.flatnonzero(self.keys.right >= 0)
        return np.asarray(rows[np.argsort(self.keys.right[rows], kind="stable")])

    @cached_property
    def _first(self) -> Array:
        """Where the right rows of each key begin in that order."""
        return np.cumsum(self.right_counts) - self.right_counts

    @cached_property
    def _right_alone(self) -> Array:
        if not self.keep_right:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.partners_of_right == 0)


def _counts(keys: Array, count: int) -> Array:
    return np.bincount(keys[keys >= 0], minlength=count).astype(np.int64)


def _looked_up(counts: Array, keys: Array) -> Array:
    """`counts[keys]`, 0 where there is no key."""
    return np.append(counts, 0)[keys]
