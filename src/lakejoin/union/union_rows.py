"""The new rows of lake tables, and the union table built from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.engines.query import NO_CELL, QueryTable
from lakejoin.model import Array
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rows import NULL
from lakejoin.values.column_names import make_names_unique

if TYPE_CHECKING:
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment
    from lakejoin.union.answer import UnionResult


SOURCE = "source"  # the column that names the table of a row
_BATCH = 100_000  # rows written at a time
_TYPED = (".parquet", ".arrow", ".feather")  # file formats with types


def read_new_rows(result: UnionResult, limit: int | None) -> pa.Table:
    """The first new rows of a result, or all of them, as texts."""
    end = result.new_rows if limit is None else min(limit, result.new_rows)
    return _read_lake_rows(result, 0, end, _texts(len(result.alignment)))


def _read_lake_rows(
    result: UnionResult, begin: int, end: int, types: Sequence[pa.DataType]
) -> pa.Table:
    rows = result.new[begin:end]
    columns = [
        pa.nulls(len(rows), kind)
        if pair.number is None
        else _cells(result, pair.number, rows, kind)
        for pair, kind in zip(result.alignment, types, strict=True)
    ]
    return pa.Table.from_arrays(
        columns, names=make_names_unique(pair.mine for pair in result.alignment)
    )


def _cells(result: UnionResult, column: int, rows: Array, kind: pa.DataType) -> pa.Array:
    """Cells of a lake column as texts, or as values of another type."""
    segment = result.located.segment
    ids = segment.rows.value_ids(column, result.rows)[rows]
    if _is_text(kind):
        return segment.rows.texts(ids, segment.dictionary.texts)
    codes = segment.rows.codes_of(ids)
    distinct, positions = np.unique(codes[codes != NULL], return_inverse=True)
    of_row = np.zeros(len(codes), np.int64)
    of_row[codes != NULL] = positions
    values = segment.dictionary.texts.take(distinct).cast(kind)
    return values.take(pa.array(of_row, mask=codes == NULL))


def _read_query_rows(query_table: QueryTable, types: Sequence[pa.DataType]) -> pa.Table:
    """The rows of the query table, as texts or as values of other types."""
    columns = []
    for column_index, kind in enumerate(types):
        spelled = query_table.spellings(column_index)
        cells = pa.array(spelled.cells, mask=spelled.cells == NO_CELL)
        columns.append(spelled.texts.cast(kind).take(cells))
    return pa.Table.from_arrays(columns, names=make_names_unique(query_table.column_names))


# -- types -----------------------------------------------------------------------------------------


def _texts(count: int) -> list[pa.DataType]:
    return [pa.large_string()] * count


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_string(kind))


def union_types(query_table: QueryTable, results: Sequence[UnionResult]) -> list[pa.DataType]:
    return [
        kind
        if _keeps(kind) and _all_are(query_table, results, column_index, kind)
        else pa.large_string()
        for column_index, kind in enumerate(query_table.types())
    ]


def _keeps(kind: pa.DataType) -> bool:
    """Whether values of a type can be parsed from their texts."""
    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_date)
    moment = pa.types.is_timestamp(kind) and kind.tz is None
    return moment or any(test(kind) for test in plain)


def _all_are(
    query_table: QueryTable, results: Sequence[UnionResult], column_index: int, kind: pa.DataType
) -> bool:
    """Whether all values of a column, old and new, fit a type."""
    try:
        query_table.spellings(column_index).texts.cast(kind)
        for result in results:
            lake_column = result.alignment[column_index].number
            if lake_column is not None:
                _cells(result, lake_column, result.new, kind)
    except pa.ArrowInvalid:
        return False
    return True


# -- rows ------------------------------------------------------------------------------------------


def _batches(
    query_table: QueryTable, results: Sequence[UnionResult], types: Sequence[pa.DataType]
) -> Iterator[pa.RecordBatch]:
    yield from _with_source(_read_query_rows(query_table, types), query_table.name)
    query_table.release()
    for result in results:
        for begin in range(0, result.new_rows, _BATCH):
            some = _read_lake_rows(result, begin, begin + _BATCH, types)
            yield from _with_source(some, result.table)


def _with_source(rows: pa.Table, name: str) -> Iterable[pa.RecordBatch]:
    names = make_names_unique([*rows.column_names, SOURCE])
    source = pa.array(np.full(rows.num_rows, name, dtype=object), pa.large_string())
    whole = pa.Table.from_arrays([*rows.columns, source], names=names)
    batches: Iterable[pa.RecordBatch] = whole.to_batches(_BATCH)
    return batches


def _schema(query_table: QueryTable, types: Sequence[pa.DataType]) -> pa.Schema:
    names = make_names_unique([*query_table.column_names, SOURCE])
    return pa.schema(list(zip(names, [*types, pa.large_string()], strict=True)))


def build_union(query_table: QueryTable, results: Sequence[UnionResult]) -> pa.Table:
    types = union_types(query_table, results)
    return pa.Table.from_batches(_batches(query_table, results, types), _schema(query_table, types))


def write_union(query_table: QueryTable, results: Sequence[UnionResult], path: str | Path) -> int:
    """Write the union to a new file; returns the number of rows."""
    from lakejoin.joins.output import check_output, write_table

    check_output(path)
    typed = str(path).lower().endswith(_TYPED)
    types = union_types(query_table, results) if typed else _texts(len(query_table.column_names))
    write_table(
        _batches(query_table, results, types), _schema(query_table, types), path, overwrite=False
    )
    return query_table.rows() + sum(result.new_rows for result in results)


_UNKNOWN = np.uint32(NULL - 1)  # a value that the segment does not have


@dataclass(frozen=True, slots=True, eq=False)
class RowComparison:
    """The `new` rows of a lake table, of `total`; it has the share `matched_share` of the query
    table's rows. `uniqueness` is how well the compared columns identify rows: distinct combinations
    per row, in the better of the two tables."""

    new: Array
    total: int
    matched_share: float
    uniqueness: float

    @property
    def known_share(self) -> float:
        """The share of its rows that the query table has."""
        return 1 - len(self.new) / max(1, self.total)


def compare_rows(
    query_table: QueryTable, segment: Segment, entry: TableEntry, pairs: Sequence[tuple[int, int]]
) -> RowComparison:
    """Compare rows by pairs of (column of the query table, column of the segment)."""
    query = [_query_codes(query_table, segment, column_index) for column_index, _ in pairs]
    lake = [segment.rows.codes(column, entry.rows) for _, column in pairs]
    contained = contained_rows(query, lake)
    matched = float(contained_rows(lake, query).mean()) if contained.any() else 0.0
    cells = [query_table.cells(column_index)[1] for column_index, _ in pairs]
    unique = _distinct(cells) / max(1, query_table.rows()), _distinct(lake) / max(1, entry.rows)
    return RowComparison(np.flatnonzero(~contained), entry.rows, matched, max(unique))


def contained_rows(left: Sequence[Array], right: Sequence[Array]) -> Array:
    """Which rows of `right` are among the rows of `left`; both are columns of codes.

    >>> left = [np.array([1, 2]), np.array([5, 6])]
    >>> contained_rows(left, [np.array([2, 2]), np.array([6, 5])]).tolist()
    [True, False]
    """
    columns = list(zip(left, right, strict=True))
    contained = np.ones(len(right[0]), dtype=bool)
    for left_codes, codes in columns:
        contained[contained] = np.isin(codes[contained], left_codes)
    rows = np.flatnonzero(contained)
    if len(rows):
        ids = _row_ids([np.concatenate([left_codes, codes[rows]]) for left_codes, codes in columns])
        contained[rows] = np.isin(ids[len(left[0]) :], ids[: len(left[0])])
    return contained


def _query_codes(query_table: QueryTable, segment: Segment, column_index: int) -> Array:
    """The code of each row of the query table in a segment; nulls are `NULL`."""
    tokens, cells = query_table.cells(column_index)
    codes = segment.dictionary.find(tokens)
    by_cell = np.append(np.where(codes == NOT_FOUND, _UNKNOWN, codes), NULL)
    return np.asarray(by_cell[np.where(cells == NO_CELL, len(tokens), cells)], dtype=np.uint32)


def _row_ids(columns: Sequence[Array]) -> Array:
    """An id of every row, the same for equal rows; refined with each column."""
    row_ids = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        _, row_ids = np.unique(row_ids * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return row_ids


def _distinct(columns: Sequence[Array]) -> int:
    return int(_row_ids(columns).max(initial=-1)) + 1
