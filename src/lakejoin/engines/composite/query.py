"""A composite key to search for: its distinct combinations of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import ColumnType
from lakejoin.engines.mine import NO_CELL

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.mine import QueryTable

Array = np.ndarray[Any, Any]


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

    def written(self, places: Array) -> list[pa.LargeStringArray]:
        """Combinations as spelled in the table, by key column."""
        chosen = self.combinations[places]
        return [shown.take(chosen[:, j]) for j, shown in enumerate(self.shown)]


def key_query(mine: QueryTable, places: Sequence[int], fixed: Sequence[str | None] = ()) -> KeyQuery:
    """Make a query of some columns of a table."""
    cells = [mine.cells(place) for place in places]
    combinations, counts = distinct_rows([numbers for _, numbers in cells])
    return KeyQuery(
        mine.name,
        tuple(mine.names[place] for place in places),
        tuple(tokens for tokens, _ in cells),
        tuple(mine.query(place).shown for place in places),
        combinations,
        counts,
        mine.rows(),
        tuple(fixed) or (None,) * len(places),
        tuple(mine.profile(place).type for place in places),
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
