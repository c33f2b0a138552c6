"""The union itself: my rows, then the new ones of other tables under the names of my columns.

Where it goes into something that has types, a column keeps mine if all new values can have it: they
are taken as canonical values then (`1,200` is `1200`). Else, and in delimited text, all cells are
texts as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.evidence import told_apart
from lakejoin.search.mine import NO_CELL
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.discovery.union.answer import UnionResult
    from lakejoin.search.mine import MyTable

Array = np.ndarray[Any, Any]

SOURCE = "source"  # the column that says where a row is from
_BATCH = 100_000  # rows
_TYPED = (".parquet", ".arrow", ".feather")  # ends of the names of files that have types


def new_rows(result: UnionResult, limit: int | None) -> pa.Table:
    """The first new rows of a result, or all, as texts."""
    end = result.new_rows if limit is None else min(limit, result.new_rows)
    return _theirs(result, 0, end, _texts(len(result.alignment)))


def _theirs(result: UnionResult, begin: int, end: int, types: Sequence[pa.DataType]) -> pa.Table:
    import pyarrow as pa

    rows = result.new[begin:end]
    columns = [
        pa.nulls(len(rows), kind) if one.number is None else _cells(result, one.number, rows, kind)
        for one, kind in zip(result.alignment, types, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=told_apart(one.mine for one in result.alignment))


def _cells(result: UnionResult, column: int, rows: Array, kind: pa.DataType) -> pa.Array:
    """Some cells of theirs as texts, or as values of another type."""
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


def _mine(mine: MyTable, types: Sequence[pa.DataType]) -> pa.Table:
    """My rows as they are written, or as they are."""
    import pyarrow as pa

    columns = []
    for place, kind in enumerate(types):
        known = mine.originals(place)
        cells = pa.array(known.cells, mask=known.cells == NO_CELL)
        columns.append(known.texts.cast(kind).take(cells))
    return pa.Table.from_arrays(columns, names=told_apart(mine.names))


# -- types -----------------------------------------------------------------------------------------


def _texts(count: int) -> list[pa.DataType]:
    import pyarrow as pa

    return [pa.large_string()] * count


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_large_string(kind))


def union_types(mine: MyTable, results: Sequence[UnionResult]) -> list[pa.DataType]:
    """The type of each of my columns in the union."""
    import pyarrow as pa

    return [
        kind if _keeps(kind) and _all_are(mine, results, place, kind) else pa.large_string()
        for place, kind in enumerate(mine.types())
    ]


def _keeps(kind: pa.DataType) -> bool:
    """Whether it is a type whose values are told by their texts."""
    import pyarrow as pa

    plain = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_date)
    moment = pa.types.is_timestamp(kind) and kind.tz is None
    return moment or any(test(kind) for test in plain)


def _all_are(mine: MyTable, results: Sequence[UnionResult], place: int, kind: pa.DataType) -> bool:
    """Whether all values of a column, mine and the new ones, can have a type."""
    import pyarrow as pa

    try:
        mine.originals(place).texts.cast(kind)
        for result in results:
            number = result.alignment[place].number
            if number is not None:
                _cells(result, number, result.new, kind)
    except pa.ArrowInvalid:
        return False
    return True


# -- rows ------------------------------------------------------------------------------------------


def _batches(
    mine: MyTable, results: Sequence[UnionResult], types: Sequence[pa.DataType]
) -> Iterator[pa.RecordBatch]:
    """The union, table after table."""
    yield from _with_source(_mine(mine, types), mine.name)
    mine.forget()
    for result in results:
        for begin in range(0, result.new_rows, _BATCH):
            some = _theirs(result, begin, begin + _BATCH, types)
            yield from _with_source(some, result.table)


def _with_source(rows: pa.Table, name: str) -> Iterable[pa.RecordBatch]:
    import pyarrow as pa

    names = told_apart([*rows.column_names, SOURCE])
    source = pa.array(np.full(rows.num_rows, name, dtype=object), pa.large_string())
    whole = pa.Table.from_arrays([*rows.columns, source], names=names)
    found: Iterable[pa.RecordBatch] = whole.to_batches(_BATCH)
    return found


def _schema(mine: MyTable, types: Sequence[pa.DataType]) -> pa.Schema:
    import pyarrow as pa

    names = told_apart([*mine.names, SOURCE])
    return pa.schema(list(zip(names, [*types, pa.large_string()], strict=True)))


def united(mine: MyTable, results: Sequence[UnionResult]) -> pa.Table:
    """The union as one table."""
    import pyarrow as pa

    types = union_types(mine, results)
    return pa.Table.from_batches(_batches(mine, results, types), _schema(mine, types))


def write_union(mine: MyTable, results: Sequence[UnionResult], path: str | Path) -> int:
    """Writes the union to a new file; gives the number of rows."""
    from lakejoin.joins.output import check_output, write

    check_output(path)
    typed = str(path).lower().endswith(_TYPED)
    types = union_types(mine, results) if typed else _texts(len(mine.names))
    write(_batches(mine, results, types), _schema(mine, types), path, over=False)
    return mine.rows() + sum(one.new_rows for one in results)
