"""A composite key to search for: its distinct combinations, and their codes in a segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.query import NO_CELL
from lakejoin.model import Array, ColumnType
from lakejoin.store.dictionary import NOT_FOUND

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.composite.key_cells import KeyLookup
    from lakejoin.engines.query import QueryTable
    from lakejoin.store.segment import Segment


@dataclass(frozen=True, slots=True, eq=False)
class KeyQuery:
    """Several columns of one table, to be searched for together.

    `tokens[j]` are the distinct canonical values of the j-th key column, `shown[j]` the first
    spelling of each. A *combination* is a row of `combinations`, which holds positions in the
    tokens; combinations are distinct, in the order of the table's rows, and `counts[i]` of its
    `rows` hold the i-th. Rows with a null in the key have none. `fixed[j]` is the name of the only
    column that the j-th key column may be mapped to, or None.
    """

    table: str
    columns: tuple[str, ...]
    tokens: tuple[pa.LargeStringArray, ...]
    shown: tuple[pa.LargeStringArray, ...]
    combinations: Array
    counts: Array
    rows: int
    fixed: tuple[str | None, ...]
    types: tuple[ColumnType, ...]

    def __len__(self) -> int:
        return len(self.combinations)

    def texts_of(self, positions: Array) -> list[pa.LargeStringArray]:
        """Combinations as spelled in the table, by key column."""
        chosen = self.combinations[positions]
        return [shown.take(chosen[:, j]) for j, shown in enumerate(self.shown)]


def key_query(
    query_table: QueryTable, columns: Sequence[int], fixed: Sequence[str | None] = ()
) -> KeyQuery:
    """Make a query of some columns of a table."""
    cells = [query_table.cells(column_index) for column_index in columns]
    combinations, counts = distinct_rows([numbers for _, numbers in cells])
    return KeyQuery(
        query_table.name,
        tuple(query_table.column_names[column_index] for column_index in columns),
        tuple(tokens for tokens, _ in cells),
        tuple(query_table.query(column_index).spellings for column_index in columns),
        combinations,
        counts,
        query_table.rows(),
        tuple(fixed) or (None,) * len(columns),
        tuple(query_table.profile(column_index).type for column_index in columns),
    )


def distinct_rows(columns: Sequence[Array]) -> tuple[Array, Array]:
    """The distinct rows of columns of numbers, by first occurrence, and how often each occurs.

    Rows with a `NO_CELL` are skipped.

    >>> rows, counts = distinct_rows([np.array([1, 0, 1, 7]), np.array([2, 3, 2, NO_CELL])])
    >>> rows.tolist(), counts.tolist()
    ([[1, 2], [0, 3]], [2, 1])
    """
    whole = np.flatnonzero(np.logical_and.reduce([column != NO_CELL for column in columns]))
    number = np.zeros(len(whole), dtype=np.uint64)
    for column in columns:
        # Two numbers below 2^32 make one; ranked again, it is below 2^32 too.
        paired = (number << np.uint64(32)) | column[whole].astype(np.uint64)
        number = np.unique(paired, return_inverse=True)[1].astype(np.uint64)
    _, first, counts = np.unique(number, return_index=True, return_counts=True)
    order = np.argsort(first)
    chosen = whole[first[order]]
    rows = np.stack([column[chosen] for column in columns], axis=1).astype(np.uint32)
    return rows, counts[order].astype(np.int64)


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
            present = np.flatnonzero(own != NOT_FOUND)
            order = present[np.argsort(own[present], kind="stable")]
            self._codes.append(own[order])
            self._numbers.append(order.astype(np.int32))
        self._values = len(segment.dictionary)

    def live_codes(self, key_column: int) -> tuple[Array, Array]:
        """The codes of a key column's values in live combinations, ascending, and in how many of
        them each occurs."""
        values = len(self._query.tokens[key_column])
        weights = np.bincount(self._query.combinations[self.live, key_column], minlength=values)
        weights = weights.astype(np.int64)[self._numbers[key_column]]
        is_live = weights > 0
        return self._codes[key_column][is_live], weights[is_live]

    @cached_property
    def lookup(self) -> KeyLookup:
        """The same for compiled code."""
        from lakejoin.engines.composite.key_cells import KeyLookup
        from lakejoin.kernels.packing import build_bit_set

        words = np.zeros((len(self._codes), self._values // 64 + 1), dtype=np.uint64)
        before = np.zeros(words.shape, dtype=np.uint32)
        for codes, own, earlier in zip(self._codes, words, before, strict=True):
            build_bit_set(codes, own, earlier)
        start = np.cumsum([0, *map(len, self._codes)])
        return KeyLookup(start, np.concatenate(self._numbers), words, before)
