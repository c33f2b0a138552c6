"""Build the union: the rows of the query table, then the new rows of other tables.

In a typed format a column keeps the query table's type if all new values fit it; they are written
as canonical values then (`1,200` is `1200`). Otherwise, and in delimited text, all cells are texts
as written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.evidence import make_names_unique
from lakejoin.engines.mine import NO_CELL
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.union.answer import UnionResult
    from lakejoin.engines.mine import QueryTable

Array = np.ndarray[Any, Any]

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
    return pa.Table.from_arrays(columns, names=make_names_unique(pair.mine for pair in result.alignment))


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
        known = mine.originals(column_index)
        cells = pa.array(known.cells, mask=known.cells == NO_CELL)
        columns.append(known.texts.cast(kind).take(cells))
    return pa.Table.from_arrays(columns, names=make_names_unique(mine.names))


# -- types -----------------------------------------------------------------------------------------


def _texts(count: int) -> list[pa.DataType]:
    import pyarrow as pa

    return [pa.large_string()] * count


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_large_string(kind))


def union_types(mine: QueryTable, results: Sequence[UnionResult]) -> list[pa.DataType]:
    """The type of each column in the union."""
    import pyarrow as pa

    return [
        kind if _keeps(kind) and _all_are(mine, results, column_index, kind) else pa.large_string()
        for column_index, kind in enumerate(mine.types())
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
        mine.originals(column_index).texts.cast(kind)
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
    mine.forget()
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

    names = make_names_unique([*mine.names, SOURCE])
    return pa.schema(list(zip(names, [*types, pa.large_string()], strict=True)))


def build_union(mine: QueryTable, results: Sequence[UnionResult]) -> pa.Table:
    """The union as one table."""
    import pyarrow as pa

    types = union_types(mine, results)
    return pa.Table.from_batches(_batches(mine, results, types), _schema(mine, types))


def write_union(mine: QueryTable, results: Sequence[UnionResult], path: str | Path) -> int:
    """Write the union to a new file; returns the number of rows."""
    from lakejoin.joins.output import check_output, write_table

    check_output(path)
    typed = str(path).lower().endswith(_TYPED)
    types = union_types(mine, results) if typed else _texts(len(mine.names))
    write_table(_batches(mine, results, types), _schema(mine, types), path, over=False)
    return mine.rows() + sum(result.new_rows for result in results)
