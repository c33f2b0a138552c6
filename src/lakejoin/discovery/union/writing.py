"""The union itself: my rows, then the new ones of other tables under the names of my columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.search.evidence import told_apart
from lakejoin.search.mine import NO_CELL

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.discovery.union.answer import UnionResult
    from lakejoin.search.mine import MyTable

SOURCE = "source"  # the column that says where a row is from
_BATCH = 100_000  # rows


def new_rows(result: UnionResult, limit: int | None) -> pa.Table:
    """The first new rows of a result, or all."""
    return _theirs(result, 0, result.new_rows if limit is None else min(limit, result.new_rows))


def _theirs(result: UnionResult, begin: int, end: int) -> pa.Table:
    import pyarrow as pa

    segment, total, rows = result._segment, result.rows, result.new[begin:end]
    columns = [
        pa.nulls(len(rows), pa.large_string())
        if one.number is None
        else segment.rows.texts(
            segment.rows.value_ids(one.number, total)[rows], segment.dictionary.texts
        )
        for one in result.alignment
    ]
    return pa.Table.from_arrays(columns, names=told_apart(one.mine for one in result.alignment))


def _mine(mine: MyTable) -> pa.Table:
    """My rows as they are written."""
    import pyarrow as pa

    columns = []
    for place in range(len(mine.names)):
        known = mine.originals(place)
        cells = pa.array(known.cells, mask=known.cells == NO_CELL)
        columns.append(known.texts.take(cells))
    return pa.Table.from_arrays(columns, names=told_apart(mine.names))


def _batches(mine: MyTable, results: Sequence[UnionResult]) -> Iterator[pa.RecordBatch]:
    """The union, table after table."""
    yield from _with_source(_mine(mine), mine.name)
    mine.forget()
    for result in results:
        for begin in range(0, result.new_rows, _BATCH):
            some = _theirs(result, begin, begin + _BATCH)
            yield from _with_source(some, result.table)


def _with_source(rows: pa.Table, name: str) -> Iterable[pa.RecordBatch]:
    import pyarrow as pa

    names = told_apart([*rows.column_names, SOURCE])
    source = pa.array(np.full(rows.num_rows, name, dtype=object), pa.large_string())
    whole = pa.Table.from_arrays([*rows.columns, source], names=names)
    found: Iterable[pa.RecordBatch] = whole.to_batches(_BATCH)
    return found


def _schema(mine: MyTable) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, pa.large_string()) for name in told_apart([*mine.names, SOURCE])])


def united(mine: MyTable, results: Sequence[UnionResult]) -> pa.Table:
    """The union as one table."""
    import pyarrow as pa

    return pa.Table.from_batches(_batches(mine, results), _schema(mine))


def write_union(mine: MyTable, results: Sequence[UnionResult], path: str | Path) -> int:
    """Writes the union to a new file; gives the number of rows."""
    from lakejoin.joins.output import check_output, write

    check_output(path)
    write(_batches(mine, results), _schema(mine), path, over=False)
    return mine.rows() + sum(one.new_rows for one in results)
