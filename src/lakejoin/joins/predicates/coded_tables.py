"""Tables as integer codes: equal codes are equal values, across all tables.

A null, or a value of only one table, joins nothing and is `NO_VALUE`; the other values have dense
codes. Time and memory are linear in the number of cells: 4 bytes per cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lakejoin.errors import InputError
from lakejoin.joins.join_inputs import JoinInput
from lakejoin.model import Array, ValueRules, null_id
from lakejoin.store.catalog import TableEntry
from lakejoin.store.segment import Segment
from lakejoin.values.column_encoder import encode_query
from lakejoin.values.text_arrays import TextTable

NO_VALUE = -1
_MOST_ROWS = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """A table as 32-bit codes, one array per column."""

    columns: tuple[str, ...]
    codes: Array

    @property
    def rows(self) -> int:
        return int(self.codes.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class CodedTables:
    """Tables with a common set of codes, all below `count`."""

    tables: tuple[CodedTable, ...]
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class _LocalColumn:
    """A column before shared values are known: a dictionary code for each of its own ids.

    `cells` are ids, beyond the last for a null; if None, `codes` has one code per row.
    """

    name: str
    codes: Array
    cells: Array | None


def encode_tables(tables: Sequence[pa.Table], rules: ValueRules | None = None) -> CodedTables:
    """Code tables in memory by the canonical values of their cells.

    >>> left = pa.table({"town": ["Bern", "Ulm", None], "no": [7, 8, 9]})
    >>> coded = encode_tables([left, pa.table({"city": ["ulm ", "Bonn"], "x": ["9.0", "0"]})])
    >>> [codes.tolist() for table in coded.tables for codes in table.codes]
    [[-1, 0, -1], [-1, -1, 1], [0, -1], [1, -1]]
    """
    dictionary = TextTable()
    local = []
    for table in tables:
        columns = []
        for name, cells in zip(table.column_names, table.columns, strict=True):
            data = encode_query(cells, rules)
            codes = dictionary.add(data.tokens)
            codes = np.concatenate([codes, codes[data.spelling_token]])
            columns.append(_LocalColumn(name, codes, data.cells))
        local.append(columns)
    return _share_codes([table.num_rows for table in tables], local, dictionary.count)


def encode_stored_tables(tables: Sequence[tuple[Segment, TableEntry]]) -> CodedTables:
    """Code tables of an index from its own codes; no text is read if all are in one segment."""
    one_segment = len({id(segment) for segment, _ in tables}) == 1
    local = [_read_columns(segment, entry) for segment, entry in tables]
    if one_segment:
        count = len(tables[0][0].dictionary)
    else:
        local, count = _merge_dictionaries(tables, local)
    return _share_codes([entry.rows for _, entry in tables], local, count)


def encode_sides(sides: Sequence[JoinInput], rules: ValueRules) -> CodedTables:
    """Code the tables from the index if all are in it, else from their rows."""
    stored = [side.stored for side in sides if side.stored is not None]
    if len(stored) == len(sides):
        return encode_stored_tables(stored)
    return encode_tables([side.rows for side in sides], rules)


def _read_columns(segment: Segment, entry: TableEntry) -> list[_LocalColumn]:
    columns = []
    for column in segment.catalog.columns_of(entry):
        cells, ids = segment.rows.local(column.column_id, entry.rows)
        columns.append(_LocalColumn(column.name, segment.rows.codes_of(ids), cells))
    return columns


def _merge_dictionaries(
    tables: Sequence[tuple[Segment, TableEntry]], local: list[list[_LocalColumn]]
) -> tuple[list[list[_LocalColumn]], int]:
    """Recode the columns of several segments in one dictionary, by their texts."""
    dictionary = TextTable()
    recoded = []
    for (segment, _), columns in zip(tables, local, strict=True):
        size = len(segment.dictionary)
        used = np.zeros(size, np.bool_)
        for column in columns:
            used[column.codes[column.codes < size]] = True
        old_codes = np.flatnonzero(used)
        new_codes = np.full(size + 1, null_id(np.dtype(np.uint32)), np.uint32)  # nulls are last
        new_codes[old_codes] = dictionary.add(segment.dictionary.texts.take(old_codes))
        recoded.append(
            [
                _LocalColumn(column.name, new_codes[np.minimum(column.codes, size)], column.cells)
                for column in columns
            ]
        )
    return recoded, dictionary.count


def _share_codes(
    rows: Sequence[int], local: Sequence[Sequence[_LocalColumn]], count: int
) -> CodedTables:
    """Give dense codes to the values that at least two tables contain."""
    table_count = np.zeros(count, np.uint8)
    for columns in local:
        used = np.zeros(count, np.bool_)
        for column in columns:
            used[column.codes[column.codes < count]] = True
        table_count = np.minimum(table_count + used, 2).astype(np.uint8)
    shared = np.flatnonzero(table_count >= 2)
    code = np.full(count + 1, NO_VALUE, np.int32)
    code[shared] = np.arange(len(shared), dtype=np.int32)
    tables = tuple(
        _encode_table(columns, size, code) for columns, size in zip(local, rows, strict=True)
    )
    return CodedTables(tables, len(shared))


def _encode_table(columns: Sequence[_LocalColumn], rows: int, code: Array) -> CodedTable:
    if rows > _MOST_ROWS:
        raise InputError(f"a table of {rows:,} rows is too large: the limit is {_MOST_ROWS:,}")
    codes = np.empty((len(columns), rows), np.int32)
    for column, row_codes in zip(columns, codes, strict=True):
        by_id = code[np.minimum(column.codes, len(code) - 1)]
        if column.cells is None:
            row_codes[:] = by_id
        else:
            by_id = np.append(by_id, np.int32(NO_VALUE))
            np.take(by_id, np.minimum(column.cells, len(by_id) - 1), out=row_codes)
    return CodedTable(tuple(column.name for column in columns), codes)
