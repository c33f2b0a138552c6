"""The distinct keys of a table: rows with the same key get the same values from the lake."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.model import null_id

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import ValueRules

Array = np.ndarray[Any, Any]

NO_KEY = -1


@dataclass(frozen=True, eq=False)
class DistinctKeys:
    """The distinct combinations of some columns (`table`), and the index of each row's (`of_row`);
    `NO_KEY` if the row has a null in one of them."""

    table: pa.Table
    of_row: Array

    def __len__(self) -> int:
        return int(self.table.num_rows)


def distinct_keys(table: pa.Table, columns: Sequence[str]) -> DistinctKeys:
    """The distinct keys of a table, in order of first appearance.

    >>> import pyarrow as pa
    >>> keys = distinct_keys(pa.table({"town": ["Ulm", "Bern", None, "Ulm"]}), ["town"])
    >>> keys.table["town"].to_pylist(), keys.of_row.tolist()
    (['Ulm', 'Bern'], [0, 1, -1, 0])
    """
    import pyarrow as pa

    ids = np.zeros(table.num_rows, np.int64)
    for name in columns:
        column = table[name].combine_chunks().dictionary_encode(null_encoding="mask")
        if isinstance(column, pa.ChunkedArray):  # an empty table
            column = column.combine_chunks()
        cells = column.indices.fill_null(NO_KEY).to_numpy(zero_copy_only=False).astype(np.int64)
        missing = (cells < 0) | (ids < 0)
        ranked = np.unique(ids * (len(column.dictionary) + 1) + cells, return_inverse=True)[1]
        ids = np.where(missing, NO_KEY, ranked)
    rows = np.flatnonzero(ids >= 0)
    _, first, inverse = np.unique(ids[rows], return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # by first appearance
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    of_row = np.full(table.num_rows, np.int64(NO_KEY))
    of_row[rows] = position[inverse]
    return DistinctKeys(table.select(list(columns)).take(rows[first[order]]), of_row)


def distinct_tokens(
    column: pa.ChunkedArray | pa.Array, rules: ValueRules
) -> tuple[pa.LargeStringArray, Array]:
    """The distinct canonical values of a column, and the index of each row's; `NO_KEY` for a null."""
    from lakejoin.values.column_encoder import encode_query

    data = encode_query(column, rules)
    by_id = np.concatenate([np.arange(len(data.tokens)), data.spelling_token, [NO_KEY]])
    nulls = data.cells == null_id(data.cells.dtype)
    return data.tokens, by_id[np.where(nulls, len(by_id) - 1, data.cells)].astype(np.int64)


def key_hashes(lines: DistinctKeys, rules: ValueRules) -> Array:
    """A hash of each key's canonical values, so that every table samples the same keys."""
    from lakejoin.kernels.hashes import hash_strings
    from lakejoin.store.dictionary import string_buffers

    combined = np.zeros(len(lines), np.uint64)
    for column in lines.table.columns:
        tokens, of_line = distinct_tokens(column, rules)
        hashes = np.empty(len(tokens), np.uint64)
        offsets, data = string_buffers(tokens)
        hash_strings(offsets, data, np.uint64(0), hashes)
        with np.errstate(over="ignore"):
            combined *= np.uint64(0x9E3779B97F4A7C15)
            combined ^= np.append(hashes, np.uint64(0))[of_line]
            combined ^= combined >> np.uint64(29)
    return combined
