"""Which rows hold equal values? The equi-join of two tables by their canonical values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.joins.keys import Keys, key_codes
from lakejoin.joins.pairing import NO_ROW, Pairing
from lakejoin.model import ValueRules

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

HOWS = ("inner", "left", "right", "full")
SUFFIX = "_right"
_BATCH = 1 << 16


@dataclass(frozen=True, slots=True)
class EqualJoin:
    """How two tables are joined: the pairs of columns that must be equal, and which rows stay.

    `how` keeps rows without a partner of the `left`, the `right`, both (`full`) or no (`inner`)
    side. The result has all columns of both; a right column whose name is taken gets `suffix`.
    Its rows come in the order of the left rows (for `right`: of the right rows), then of the other
    side's; for `full`, right rows without a partner come last.

    >>> import pyarrow as pa
    >>> towns = pa.table({"town": ["Bern", "Ulm"], "people": [134, 126]})
    >>> codes = pa.table({"town": ["ulm ", "Bonn"], "code": ["UL", "BN"]})
    >>> joined = EqualJoin((("town", "town"),)).join(towns, codes)
    >>> joined.table().to_pylist()
    [{'town': 'Ulm', 'people': 126, 'town_right': 'ulm ', 'code': 'UL'}]
    """

    on: tuple[tuple[str, str], ...]
    how: str = "inner"
    suffix: str = SUFFIX
    rules: ValueRules = field(default_factory=ValueRules)

    def __post_init__(self) -> None:
        if self.how not in HOWS:
            raise InputError(f"a join is one of {', '.join(HOWS)}, not {self.how!r}")
        if not self.on:
            raise InputError("a join needs at least one pair of columns")

    def join(self, left: pa.Table, right: pa.Table) -> Joined:
        """The join, of which nothing is made before it is asked for."""
        keys = key_codes(
            [left[name] for name, _ in self.on], [right[name] for _, name in self.on], self.rules
        )
        return Joined(_takeable(left), _takeable(right), keys, self)


@dataclass(frozen=True, eq=False)
class Joined:
    """A join of two tables whose rows are made as they are asked for."""

    left: pa.Table
    right: pa.Table
    keys: Keys
    join: EqualJoin

    def __len__(self) -> int:
        return len(self._pairing)

    @property
    def left_joined(self) -> int:
        """How many left rows found a partner."""
        return int(np.count_nonzero(self._of_left))

    @property
    def right_joined(self) -> int:
        """How many right rows found a partner."""
        return int(np.count_nonzero(self._of_right))

    @property
    def pairs(self) -> int:
        """How many pairs of rows meet: the rows of the inner join."""
        return int(self._of_left.sum())

    @property
    def fan_out(self) -> float:
        """The rows of the inner join per left row, as a search tells it."""
        return self.pairs / self.left.num_rows if self.left.num_rows else 0.0

    def busiest(self) -> tuple[int, int, int] | None:
        """(a left row, left rows, right rows) of the key that makes most rows of the result."""
        pairing, keys = self._pairing, self.keys
        made = pairing.left_counts * pairing.right_counts
        if not len(made) or not made.any():
            return None
        key = int(made.argmax())
        mine, theirs = np.flatnonzero(keys.left == key), np.flatnonzero(keys.right == key)
        return int(mine[0]), len(mine), len(theirs)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        import pyarrow as pa

        names = result_names(self.left.column_names, self.right.column_names, self.join.suffix)
        kinds = [*self.left.schema.types, *self.right.schema.types]
        return pa.schema(list(zip(names, kinds, strict=True)))

    def batches(self, rows: int = _BATCH) -> Iterator[pa.RecordBatch]:
        """All rows, in batches."""
        for begin in range(0, len(self), rows):
            yield self._batch(begin, begin + rows)

    def table(self, limit: int | None = None) -> pa.Table:
        """The rows, all or the first ones."""
        import pyarrow as pa

        end = len(self) if limit is None else max(0, min(limit, len(self)))
        parts = [self._batch(b, min(b + _BATCH, end)) for b in range(0, end, _BATCH)]
        return pa.Table.from_batches(parts, self.schema)

    def _batch(self, begin: int, end: int) -> pa.RecordBatch:
        import pyarrow as pa

        first, second = self._pairing.rows(begin, end)
        left, right = (second, first) if self._mirrored else (first, second)
        columns = [*_taken(self.left, left), *_taken(self.right, right)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    @property
    def _mirrored(self) -> bool:
        return self.join.how == "right"

    @cached_property
    def _pairing(self) -> Pairing:
        how, keys = self.join.how, self.keys
        if self._mirrored:
            return Pairing(Keys(keys.right, keys.left, keys.count), keep_left=True)
        return Pairing(keys, keep_left=how in ("left", "full"), keep_right=how == "full")

    @property
    def _of_left(self) -> Array:
        pairing = self._pairing
        return pairing.partners_of_right if self._mirrored else pairing.partners_of_left

    @property
    def _of_right(self) -> Array:
        pairing = self._pairing
        return pairing.partners_of_left if self._mirrored else pairing.partners_of_right


def result_names(left: Sequence[str], right: Sequence[str], suffix: str = SUFFIX) -> list[str]:
    """The names of a join's columns: a right one that is taken gets the suffix, then a number.

    >>> result_names(["id", "name", "id_right"], ["id", "code"])
    ['id', 'name', 'id_right', 'id_right_2', 'code']
    """
    names = list(left)
    taken = {*left, *right}
    used = set(left)
    for name in right:
        chosen, number = name, 2
        if name in used:
            chosen = name + suffix
            while chosen in taken:
                chosen = f"{name}{suffix}_{number}"
                number += 1
        taken.add(chosen)
        used.add(chosen)
        names.append(chosen)
    return names


def _takeable(table: pa.Table) -> pa.Table:
    """The table in one piece, with offsets that cannot overflow: rows are taken at random."""
    import pyarrow as pa

    fields = [
        f.with_type(pa.large_string()) if pa.types.is_string(f.type) else f for f in table.schema
    ]
    return table.cast(pa.schema(fields)).combine_chunks()


def _taken(table: pa.Table, rows: Array) -> list[pa.Array]:
    import pyarrow as pa

    places = pa.array(rows, mask=rows == NO_ROW)
    return [_one(column).take(places) for column in table.columns]


def _one(column: pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
