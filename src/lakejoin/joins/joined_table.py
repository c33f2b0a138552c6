"""The joined table: rows of two tables side by side, made on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from lakejoin.joins.options import SUFFIX
from lakejoin.joins.row_keys import NO_ROW, Keys, Pairing
from lakejoin.model import Array

_BATCH = 1 << 16


@dataclass(frozen=True, eq=False)
class JoinedTable:
    """The join of two tables by the keys of their rows, made on demand.

    `how` keeps unmatched rows of the `left`, the `right`, both (`full`) or neither (`inner`) side.
    It has all columns of both; a right column whose name is taken gets `suffix`. Rows are ordered
    by left row (for `right`: by right row), then by the other side's row; for `full`, unmatched
    right rows come last.
    """

    left: pa.Table
    right: pa.Table
    keys: Keys
    how: str = "inner"
    suffix: str = SUFFIX

    def __len__(self) -> int:
        return len(self.pairing)

    @property
    def left_joined(self) -> int:
        """The number of left rows with a match."""
        return int(np.count_nonzero(self.partners_of_left))

    @property
    def right_joined(self) -> int:
        """The number of right rows with a match."""
        return int(np.count_nonzero(self.partners_of_right))

    @property
    def pairs(self) -> int:
        """The number of matching pairs of rows: the rows of the inner join."""
        return int(self.partners_of_left.sum())

    @property
    def fan_out(self) -> float:
        """The rows of the inner join per left row, as in a search result."""
        return self.pairs / self.left.num_rows if self.left.num_rows else 0.0

    @property
    def multiplies(self) -> bool:
        """Whether a key repeats on both sides, so that the join has more rows than either."""
        pairing = self.pairing
        return bool(((pairing.left_counts > 1) & (pairing.right_counts > 1)).any())

    def busiest_key(self) -> tuple[int, int, int] | None:
        """(a left row, left rows, right rows) of the key with the most rows in the result."""
        pairing, keys = self.pairing, self.keys
        pairs = pairing.left_counts * pairing.right_counts
        if not len(pairs) or not pairs.any():
            return None
        key = int(pairs.argmax())
        left_rows, right_rows = np.flatnonzero(keys.left == key), np.flatnonzero(keys.right == key)
        return int(left_rows[0]), len(left_rows), len(right_rows)

    @cached_property
    def schema(self) -> pa.Schema:
        names = result_names(self.left.column_names, self.right.column_names, self.suffix)
        kinds = [*_takeable_schema(self.left).types, *_takeable_schema(self.right).types]
        return pa.schema(list(zip(names, kinds, strict=True)))

    def batches(self, rows: int = _BATCH) -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(self), rows):
            yield self._batch(begin, begin + rows)

    def table(self, limit: int | None = None) -> pa.Table:
        """All rows, or the first `limit`."""
        end = len(self) if limit is None else max(0, min(limit, len(self)))
        batches = [self._batch(b, min(b + _BATCH, end)) for b in range(0, end, _BATCH)]
        return pa.Table.from_batches(batches, self.schema)

    def rows(self, begin: int, end: int) -> tuple[Array, Array]:
        """The left and right row of the result's rows [begin, end); `NO_ROW` for unmatched."""
        first, second = self.pairing.rows(begin, end)
        return (second, first) if self._mirrored else (first, second)

    def _batch(self, begin: int, end: int) -> pa.RecordBatch:
        left, right = self.rows(begin, end)
        columns = [*_take_rows(self._left, left), *_take_rows(self._right, right)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def left_at(self, rows: Array) -> list[pa.Array]:
        """The left columns at these rows."""
        return _take_rows(self._left, rows)

    def right_column(self, index: int) -> pa.Array:
        return _single_chunk(self._right.column(index))

    @cached_property
    def _left(self) -> pa.Table:
        return _takeable(self.left)

    @cached_property
    def _right(self) -> pa.Table:
        return _takeable(self.right)

    @property
    def _mirrored(self) -> bool:
        return self.how == "right"

    @cached_property
    def pairing(self) -> Pairing:
        """Which rows match; seen from the right for `right`."""
        keys = self.keys
        if self._mirrored:
            return Pairing(Keys(keys.right, keys.left, keys.count), keep_left=True)
        return Pairing(keys, keep_left=self.how in ("left", "full"), keep_right=self.how == "full")

    @property
    def partners_of_left(self) -> Array:
        """The number of matches of each left row."""
        pairing = self.pairing
        return pairing.partners_of_right if self._mirrored else pairing.partners_of_left

    @property
    def partners_of_right(self) -> Array:
        """The number of matches of each right row."""
        pairing = self.pairing
        return pairing.partners_of_left if self._mirrored else pairing.partners_of_right


def result_names(
    left: Sequence[str],
    right: Sequence[str],
    suffix: str = SUFFIX,
    normalise: Callable[[str], str] = str,
) -> list[str]:
    """The column names of a join: a right name that is taken gets the suffix, then a number.

    Names that `normalise` makes equal count as the same: `str.lower` for case-insensitive systems.

    >>> result_names(["id", "name", "id_right"], ["id", "code"])
    ['id', 'name', 'id_right', 'id_right_2', 'code']
    >>> result_names(["Name"], ["name"]), result_names(["Name"], ["name"], "_r", str.lower)
    (['Name', 'name'], ['Name', 'name_r'])
    """
    names = list(left)
    taken = {normalise(name) for name in (*left, *right)}
    used = {normalise(name) for name in left}
    for name in right:
        chosen, number = name, 2
        if normalise(name) in used:
            chosen = name + suffix
            while normalise(chosen) in taken:
                chosen = f"{name}{suffix}_{number}"
                number += 1
        taken.add(normalise(chosen))
        used.add(normalise(chosen))
        names.append(chosen)
    return names


def _take_rows(table: pa.Table, rows: Array) -> list[pa.Array]:
    """The columns of a single-chunk table at these rows; nulls for `NO_ROW`."""
    positions = pa.array(rows, mask=rows == NO_ROW)
    return [_single_chunk(column).take(positions) for column in table.columns]


def _takeable(table: pa.Table) -> pa.Table:
    """The table as single chunks with offsets that cannot overflow, to take any rows."""
    return table.cast(_takeable_schema(table)).combine_chunks()


def _takeable_schema(table: pa.Table) -> pa.Schema:
    return pa.schema(
        [f.with_type(pa.large_string()) if pa.types.is_string(f.type) else f for f in table.schema]
    )


def _single_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
