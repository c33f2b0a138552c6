"""Which rows hold the same key? Key columns of two tables as numbers that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.lake.columns import encode_query
from lakejoin.model import ColumnData, ValueRules, null_id

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

NO_KEY = -1  # of a row that joins nothing: a null, or a value that the other table lacks


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The key of every row of both tables: equal numbers, below `count`, are equal keys."""

    left: Array
    right: Array
    count: int


def key_codes(
    left: Sequence[pa.ChunkedArray | pa.Array],
    right: Sequence[pa.ChunkedArray | pa.Array],
    rules: ValueRules,
) -> Keys:
    """The keys that pairs of columns make, by their canonical values; a null makes no key.

    >>> import pyarrow as pa
    >>> mine, theirs = pa.array(["Bern", "Zug", None]), pa.array(["zug ", "Ulm"])
    >>> keys = key_codes([mine], [theirs], ValueRules())
    >>> keys.left.tolist(), keys.right.tolist()
    ([0, 1, -1], [1, -1])
    """
    found: Keys | None = None
    for mine, theirs in zip(left, right, strict=True):
        pair = _codes_of_pair(encode_query(mine, rules), encode_query(theirs, rules))
        found = pair if found is None else keys_of_both(found, pair)
    assert found is not None, "a join needs a pair of columns"
    return found


class KeyColumn:
    """A column whose values are keys, and the place of other columns' values among them.

    >>> import pyarrow as pa
    >>> towns = KeyColumn(encode_query(pa.array(["Bern", "Zug", None, "bern"])))
    >>> towns.codes.tolist(), towns.count
    ([0, 1, -1, 0], 2)
    >>> towns.codes_of(encode_query(pa.array(["ZUG", "Ulm"]))).tolist()
    [1, -1]
    """

    def __init__(self, column: ColumnData) -> None:
        self._column = column
        self.count = len(column.tokens)
        self.codes = _row_tokens(column, np.arange(self.count, dtype=np.int64))

    def codes_of(self, column: ColumnData) -> Array:
        """The key of every row of another column, `NO_KEY` where it is none."""
        return _codes_of_pair(self._column, column).right


def _codes_of_pair(left: ColumnData, right: ColumnData) -> Keys:
    """Both columns in the numbers of the left one's tokens."""
    import pyarrow.compute as pc

    place = pc.index_in(right.tokens, value_set=left.tokens).fill_null(NO_KEY)
    places = place.to_numpy(zero_copy_only=False).astype(np.int64)
    mine = _row_tokens(left, np.arange(len(left.tokens), dtype=np.int64))
    return Keys(mine, _row_tokens(right, places), len(left.tokens))


def _row_tokens(column: ColumnData, numbers: Array) -> Array:
    """`numbers` of the token of each row, `NO_KEY` for nulls."""
    by_id = np.concatenate([numbers, numbers[column.spelling_token], [NO_KEY]])
    ids = column.cells.astype(np.int64)
    ids[column.cells == null_id(column.cells.dtype)] = len(by_id) - 1
    return np.asarray(by_id[ids])


def each_once(keys: Keys, order: Array) -> Keys:
    """Keys by which every row meets at most one other: the n-th of a key with the n-th.

    `order` says which left rows of a key come first; of the right ones it is the first rows.

    >>> keys = Keys(np.array([0, 0, 1]), np.array([0, 1, 1]), 2)
    >>> once = each_once(keys, np.array([1, 0, 0]))
    >>> [(i, j) for i, a in enumerate(once.left) for j, b in enumerate(once.right) if a == b >= 0]
    [(1, 0), (2, 1)]
    """
    nth = _nth(keys.left, order), _nth(keys.right, np.zeros(len(keys.right), np.int64))
    most = 1 + max(int(side.max(initial=0)) for side in nth)
    return keys_of_both(keys, Keys(nth[0], nth[1], most))


def _nth(keys: Array, order: Array) -> Array:
    """How many rows of the same key come before each row."""
    rows = np.lexsort((order, keys))
    ordered = keys[rows]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(keys)])
    sizes = np.diff(np.append(starts, len(keys)))
    nth = np.empty(len(keys), np.int64)
    nth[rows] = np.arange(len(keys)) - np.repeat(starts, sizes)
    return nth


def keys_of_both(first: Keys, second: Keys) -> Keys:
    """The keys of both together, numbered densely again so that no product overflows."""
    left = _product(first.left, second.left, second.count)
    right = _product(first.right, second.right, second.count)
    distinct, numbers = np.unique(np.concatenate([left, right]), return_inverse=True)
    if len(distinct) and distinct[0] == NO_KEY:
        numbers = numbers - 1
    count = int(numbers.max(initial=NO_KEY)) + 1
    return Keys(numbers[: len(left)], numbers[len(left) :], count)


def _product(first: Array, second: Array, count: int) -> Array:
    return np.where((first < 0) | (second < 0), NO_KEY, first * count + second)
