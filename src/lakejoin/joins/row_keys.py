"""Encode key columns as codes, and enumerate the pairs of rows with equal keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.model import Array, ColumnData, ValueRules, null_id
from lakejoin.values.column_encoder import encode_query

NO_KEY = -1  # of a row that cannot match: a null, or a value missing from the other table
NO_ROW = -1  # the other side of an unmatched row


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The key of every row of both tables, as codes below `count`."""

    left: Array
    right: Array
    count: int


def encode_keys(
    left: Sequence[pa.ChunkedArray | pa.Array],
    right: Sequence[pa.ChunkedArray | pa.Array],
    rules: ValueRules,
) -> Keys:
    """Encode pairs of columns as keys by their canonical values; nulls have no key.

    >>> left, right = pa.array(["Bern", "Zug", None]), pa.array(["zug ", "Ulm"])
    >>> keys = encode_keys([left], [right], ValueRules())
    >>> keys.left.tolist(), keys.right.tolist()
    ([0, 1, -1], [1, -1])
    """
    keys: Keys | None = None
    for left_column, right_column in zip(left, right, strict=True):
        pair = _codes_of_pair(encode_query(left_column, rules), encode_query(right_column, rules))
        keys = pair if keys is None else combine_keys(keys, pair)
    assert keys is not None, "a join needs a pair of columns"
    return keys


class KeyColumn:
    """A column whose values are keys, to look up the values of other columns in.

    >>> towns = KeyColumn(encode_query(pa.array(["Bern", "Zug", None, "bern"])))
    >>> towns.codes.tolist(), towns.count
    ([0, 1, -1, 0], 2)
    >>> towns.codes_of(encode_query(pa.array(["ZUG", "Ulm"]))).tolist()
    [1, -1]
    """

    def __init__(self, column: ColumnData) -> None:
        self._column = column
        self.count = len(column.tokens)
        self.codes = spread_values(column, np.arange(self.count, dtype=np.int64), NO_KEY)

    def codes_of(self, column: ColumnData) -> Array:
        """The key of every row of another column, `NO_KEY` if it is not a key."""
        return _codes_of_pair(self._column, column).right


def _codes_of_pair(left: ColumnData, right: ColumnData) -> Keys:
    """Both columns as codes of the left column's tokens."""
    positions = pc.index_in(right.tokens, value_set=left.tokens).fill_null(NO_KEY)
    codes = positions.to_numpy(zero_copy_only=False).astype(np.int64)
    left_codes = spread_values(left, np.arange(len(left.tokens), dtype=np.int64), NO_KEY)
    return Keys(left_codes, spread_values(right, codes, NO_KEY), len(left.tokens))


def spread_values(column: ColumnData, values: Array, missing: float) -> Array:
    """The value of every row, from one value per token; `missing` for nulls."""
    nothing = np.full((1, *values.shape[1:]), missing, values.dtype)
    by_id = np.concatenate([values, values[column.spelling_token], nothing])
    nulls = column.cells == null_id(column.cells.dtype)
    return np.asarray(by_id[np.where(nulls, len(by_id) - 1, column.cells)])


def find_first_rows(codes: Array, count: int) -> Array:
    """The first row of each code, -1 for none; also in the extra last entry, for `NO_KEY`.

    >>> find_first_rows(np.array([1, -1, 0, 1]), 3).tolist()
    [2, 0, -1, -1]
    """
    first = np.full(count + 1, NO_ROW, np.int64)
    rows = np.flatnonzero(codes >= 0)[::-1]  # backwards, so that the first row is written last
    first[codes[rows]] = rows
    return first


def one_to_one_keys(keys: Keys, order: Array) -> Keys:
    """Keys by which every row matches at most one other: the n-th row of a key its n-th row.

    `order` ranks the left rows of a key; right rows keep their order.

    >>> keys = Keys(np.array([0, 0, 1]), np.array([0, 1, 1]), 2)
    >>> once = one_to_one_keys(keys, np.array([1, 0, 0]))
    >>> [(i, j) for i, a in enumerate(once.left) for j, b in enumerate(once.right) if a == b >= 0]
    [(1, 0), (2, 1)]
    """
    nth = _nth(keys.left, order), _nth(keys.right, np.zeros(len(keys.right), np.int64))
    most = 1 + max(int(side.max(initial=0)) for side in nth)
    return combine_keys(keys, Keys(nth[0], nth[1], most))


def _nth(keys: Array, order: Array) -> Array:
    """How many rows of the same key precede each row."""
    rows = np.lexsort((order, keys))
    ordered = keys[rows]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(keys)])
    sizes = np.diff(np.append(starts, len(keys)))
    nth = np.empty(len(keys), np.int64)
    nth[rows] = np.arange(len(keys)) - np.repeat(starts, sizes)
    return nth


def combine_keys(first: Keys, second: Keys) -> Keys:
    """Combine two keys into one, with dense codes so that no product overflows."""
    left = _product(first.left, second.left, second.count)
    right = _product(first.right, second.right, second.count)
    distinct, codes = np.unique(np.concatenate([left, right]), return_inverse=True)
    if len(distinct) and distinct[0] == NO_KEY:
        codes = codes - 1
    count = int(codes.max(initial=NO_KEY)) + 1
    return Keys(codes[: len(left)], codes[len(left) :], count)


def _product(first: Array, second: Array, count: int) -> Array:
    return np.where((first < 0) | (second < 0), NO_KEY, first * count + second)


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
        return count_rows(self.keys.left, self.keys.count)

    @cached_property
    def right_counts(self) -> Array:
        """The number of right rows of each key."""
        return count_rows(self.keys.right, self.keys.count)

    @cached_property
    def partners_of_left(self) -> Array:
        """The number of matches of each left row."""
        return _look_up_counts(self.right_counts, self.keys.left)

    @cached_property
    def partners_of_right(self) -> Array:
        """The number of matches of each right row."""
        return _look_up_counts(self.left_counts, self.keys.right)

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


@dataclass(frozen=True, slots=True, eq=False)
class RowLists:
    """For each left row, the right rows that match it: `count` of `order`, from `first` on."""

    order: Array
    first: Array
    count: Array


@dataclass(frozen=True, eq=False)
class ListedPairing(Pairing):
    """The rows of a join in which a right row can match left rows of several keys.

    >>> lists = RowLists(np.array([2, 0, 1]), np.array([0, 1, 0]), np.array([2, 2, 0]))
    >>> keys = Keys(np.array([0, 0, -1]), np.array([0, 0, 0]), 1)
    >>> left, right = ListedPairing(keys, lists=lists, keep_left=True).rows(0, 10)
    >>> left.tolist(), right.tolist()
    ([0, 0, 1, 1, 2], [0, 2, 0, 1, -1])
    """

    lists: RowLists | None = None

    @cached_property
    def partners_of_left(self) -> Array:
        return self._lists.count

    @cached_property
    def partners_of_right(self) -> Array:
        order, first, count = self._lists.order, self._lists.first, self._lists.count
        change = np.zeros(len(order) + 1, np.int64)
        np.add.at(change, first[count > 0], 1)
        np.add.at(change, (first + count)[count > 0], -1)
        partners = np.zeros(len(self.keys.right), np.int64)
        np.add.at(partners, order, np.cumsum(change)[:-1])
        return partners

    def rows(self, begin: int, end: int) -> tuple[Array, Array]:
        end = min(end, int(self.ends[-1]))
        if begin >= end:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        # All matches of a left row are needed to put them in order.
        low = int(np.searchsorted(self.ends, begin, side="right")) - 1
        high = int(np.searchsorted(self.ends, end, side="left"))
        start = int(self.ends[low])
        left = np.repeat(np.arange(low, high), np.diff(self.ends[low : high + 1]))
        nth = np.arange(start, start + len(left)) - self.ends[left]
        matched = self._lists.count[left] > 0
        right = np.full(len(left), NO_ROW, np.int64)
        right[matched] = self._lists.order[(self._lists.first[left] + nth)[matched]]
        right = right[np.lexsort((right, left))]
        return left[begin - start : end - start], right[begin - start : end - start]

    @property
    def _lists(self) -> RowLists:
        assert self.lists is not None
        return self.lists


def count_rows(keys: Array, count: int) -> Array:
    """The number of rows of each key."""
    return np.bincount(keys[keys >= 0], minlength=count).astype(np.int64)


def _look_up_counts(counts: Array, keys: Array) -> Array:
    """`counts[keys]`, 0 for rows without a key."""
    return np.append(counts, 0)[keys]
