"""The new rows of lake tables, and the union table built from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.query import NO_CELL
from lakejoin.model import Array
from lakejoin.search.evidence import make_names_unique
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import QueryTable
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment
    from lakejoin.union.answer import UnionResult


SOURCE = "source"  # the column that names the table of a row
_BATCH = 100_000  # rows written at a time
_TYPED = (".parquet", ".arrow", ".feather")  # file formats with types


def read_new_rows(result: UnionResult, limit: int | None) -> pa.Table:
    """The first new rows of a result, or all of them, as texts."""
    end = result.new_rows if limit is None else min(limit, result.new_rows)
    return _theirs(result, 0, end, _texts(len(result.alignment)))


def _theirs(result: UnionResult, begin: int, end: int, types: Sequence[pa.DataType]) -> pa.Table:
    import pyarrow as pa

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
    segment = result._segment
    ids = segment.rows.value_ids(column, result.rows)[rows]
    if _is_text(kind):
        return segment.rows.texts(ids, segment.dictionary.texts)
    import pyarrow as pa

    codes = segment.rows.codes_of(ids)
    distinct, places = np.unique(codes[codes != NULL], return_inverse=True)
    of_row = np.zeros(len(codes), np.int64)
    of_row[codes != NULL] = places
    values = segment.dictionary.texts.take(distinct).cast(kind)
    return values.take(pa.array(of_row, mask=codes == NULL))


def _mine(mine: QueryTable, types: Sequence[pa.DataType]) -> pa.Table:
    """The rows of the query table, as texts or as values of other types."""
    import pyarrow as pa

    columns = []
    for column_index, kind in enumerate(types):
        known = mine.spellings(column_index)
        cells = pa.array(known.cells, mask=known.cells == NO_CELL)
        columns.append(known.texts.cast(kind).take(cells))
    return pa.Table.from_arrays(columns, names=make_names_unique(mine.column_names))


# -- types -----------------------------------------------------------------------------------------


def _texts(count: int) -> list[pa.DataType]:
    import pyarrow as pa

    return [pa.large_string()] * count


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_large_string(kind))


def union_types(query_table: QueryTable, results: Sequence[UnionResult]) -> list[pa.DataType]:
    """The type of each column in the union."""
    import pyarrow as pa

    return [
        kind
        if _keeps(kind) and _all_are(query_table, results, column_index, kind)
        else pa.large_string()
        for column_index, kind in enumerate(query_table.types())
    ]


def _keeps(kind: pa.DataType) -> bool:
    """Whether values of a type can be parsed from their texts."""
    import pyarrow as pa

    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_date)
    moment = pa.types.is_timestamp(kind) and kind.tz is None
    return moment or any(test(kind) for test in plain)


def _all_are(
    mine: QueryTable, results: Sequence[UnionResult], column_index: int, kind: pa.DataType
) -> bool:
    """Whether all values of a column, old and new, fit a type."""
    import pyarrow as pa

    try:
        mine.spellings(column_index).texts.cast(kind)
        for result in results:
            number = result.alignment[column_index].number
            if number is not None:
                _cells(result, number, result.new, kind)
    except pa.ArrowInvalid:
        return False
    return True


# -- rows ------------------------------------------------------------------------------------------


def _batches(
    mine: QueryTable, results: Sequence[UnionResult], types: Sequence[pa.DataType]
) -> Iterator[pa.RecordBatch]:
    """The union, table by table."""
    yield from _with_source(_mine(mine, types), mine.name)
    mine.release()
    for result in results:
        for begin in range(0, result.new_rows, _BATCH):
            some = _theirs(result, begin, begin + _BATCH, types)
            yield from _with_source(some, result.table)


def _with_source(rows: pa.Table, name: str) -> Iterable[pa.RecordBatch]:
    import pyarrow as pa

    names = make_names_unique([*rows.column_names, SOURCE])
    source = pa.array(np.full(rows.num_rows, name, dtype=object), pa.large_string())
    whole = pa.Table.from_arrays([*rows.columns, source], names=names)
    found: Iterable[pa.RecordBatch] = whole.to_batches(_BATCH)
    return found


def _schema(mine: QueryTable, types: Sequence[pa.DataType]) -> pa.Schema:
    import pyarrow as pa

    names = make_names_unique([*mine.column_names, SOURCE])
    return pa.schema(list(zip(names, [*types, pa.large_string()], strict=True)))


def build_union(query_table: QueryTable, results: Sequence[UnionResult]) -> pa.Table:
    """The union as one table."""
    import pyarrow as pa

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
    """The `new` rows of a lake table, of `total`; `met` is the share of the query table's rows that
    it has. `apart` is how well the compared columns identify rows: distinct combinations per row,
    in the better of the two tables."""

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
    ours = [_my_codes(query_table, segment, column_index) for column_index, _ in pairs]
    theirs = [segment.rows.codes(column, entry.rows) for _, column in pairs]
    held = contained_rows(ours, theirs)
    met = float(contained_rows(theirs, ours).mean()) if held.any() else 0.0
    own = [query_table.cells(column_index)[1] for column_index, _ in pairs]
    apart = max(_distinct(own) / max(1, query_table.rows()), _distinct(theirs) / max(1, entry.rows))
    return RowComparison(np.flatnonzero(~held), entry.rows, met, apart)


def contained_rows(ours: Sequence[Array], theirs: Sequence[Array]) -> Array:
    """Which rows of `theirs` are among the rows of `ours`; both are columns of codes.

    >>> mine = [np.array([1, 2]), np.array([5, 6])]
    >>> contained_rows(mine, [np.array([2, 2]), np.array([6, 5])]).tolist()
    [True, False]
    """
    total = len(theirs[0])
    held = np.ones(total, dtype=bool)
    for one, other in zip(ours, theirs, strict=True):
        held[held] = np.isin(other[held], one)
    rows = np.flatnonzero(held)
    if not len(rows):
        return held
    # Rows of both get one number that is refined with each column; equal numbers are equal rows.
    numbers = np.zeros(len(ours[0]) + len(rows), dtype=np.int64)
    for one, other in zip(ours, theirs, strict=True):
        _, codes = np.unique(np.concatenate([one, other[rows]]), return_inverse=True)
        _, numbers = np.unique(numbers * (codes.max() + 1) + codes, return_inverse=True)
    held[rows] = np.isin(numbers[len(ours[0]) :], numbers[: len(ours[0])])
    return held


def _my_codes(mine: QueryTable, segment: Segment, column_index: int) -> Array:
    """The code of each row of the query table in a segment; nulls are `NULL`."""
    tokens, cells = mine.cells(column_index)
    codes = segment.dictionary.find(tokens)
    known = np.append(np.where(codes == NOT_FOUND, _UNKNOWN, codes), NULL)
    return np.asarray(known[np.where(cells == NO_CELL, len(tokens), cells)], dtype=np.uint32)


def _distinct(columns: Sequence[Array]) -> int:
    """The number of distinct rows."""
    numbers = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        _, numbers = np.unique(numbers * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return int(numbers.max(initial=-1)) + 1
