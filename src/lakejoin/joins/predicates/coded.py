"""Every cell of some tables as a number: equal numbers are equal values, in whichever table.

A null, and a value that only one table holds, joins nothing and is `NO_VALUE`; the other values are
numbered densely. Time and memory are linear in the cells: 4 bytes a cell stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.model import ValueRules, null_id

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.sides import Side
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]

NO_VALUE = -1
_MOST_ROWS = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """A table: for each of its columns the code of every row, as 32-bit integers."""

    columns: tuple[str, ...]
    codes: Array

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.codes.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class CodedTables:
    """Tables whose codes are numbers below `count`."""

    tables: tuple[CodedTable, ...]
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class _Local:
    """A column before the shared values are known: a number for each of its own ids.

    `cells` are ids, beyond the last where a cell is null; None: `numbers` has one for each row.
    """

    name: str
    numbers: Array
    cells: Array | None


def coded_tables(tables: Sequence[pa.Table], rules: ValueRules | None = None) -> CodedTables:
    """Tables that are at hand, by the canonical values of their cells.

    >>> import pyarrow as pa
    >>> mine = pa.table({"town": ["Bern", "Ulm", None], "no": [7, 8, 9]})
    >>> found = coded_tables([mine, pa.table({"place": ["ulm ", "Bonn"], "x": ["9.0", "0"]})])
    >>> [codes.tolist() for table in found.tables for codes in table.codes]
    [[-1, 0, -1], [-1, -1, 1], [0, -1], [1, -1]]
    """
    from lakejoin.lake.columns import encode_query
    from lakejoin.lake.texts import TextTable

    dictionary = TextTable()
    local = []
    for table in tables:
        columns = []
        for name, cells in zip(table.column_names, table.columns, strict=True):
            data = encode_query(cells, rules)
            numbers = dictionary.add(data.tokens)
            numbers = np.concatenate([numbers, numbers[data.spelling_token]])
            columns.append(_Local(name, numbers, data.cells))
        local.append(columns)
    return _shared([table.num_rows for table in tables], local, dictionary.count)


def coded_from_lake(tables: Sequence[tuple[Segment, TableEntry]]) -> CodedTables:
    """Tables of an index, from its codes: no text is read where all lie in one segment."""
    alone = len({id(segment) for segment, _ in tables}) == 1
    local = [_of_segment(segment, entry) for segment, entry in tables]
    if alone:
        count = len(tables[0][0].dictionary)
    else:
        local, count = _in_one_dictionary(tables, local)
    return _shared([entry.rows for _, entry in tables], local, count)


def coded_sides(sides: Sequence[Side], rules: ValueRules) -> CodedTables:
    """The tables as codes: those of the index where all lie in it, else made from the rows."""
    stored = [side.stored for side in sides if side.stored is not None]
    if len(stored) == len(sides):
        return coded_from_lake(stored)
    return coded_tables([side.rows for side in sides], rules)


def _of_segment(segment: Segment, entry: TableEntry) -> list[_Local]:
    columns = []
    for column in segment.catalog.columns_of(entry):
        cells, ids = segment.rows.local(column.number, entry.rows)
        columns.append(_Local(column.name, segment.rows.codes_of(ids), cells))
    return columns


def _in_one_dictionary(
    tables: Sequence[tuple[Segment, TableEntry]], local: list[list[_Local]]
) -> tuple[list[list[_Local]], int]:
    """The columns of several segments in the numbers of one dictionary, by their texts."""
    from lakejoin.lake.texts import TextTable

    dictionary = TextTable()
    renumbered = []
    for (segment, _), columns in zip(tables, local, strict=True):
        size = len(segment.dictionary)
        used = np.zeros(size, np.bool_)
        for column in columns:
            used[column.numbers[column.numbers < size]] = True
        codes = np.flatnonzero(used)
        numbers = np.full(size, null_id(np.dtype(np.uint32)), np.uint32)
        numbers[codes] = dictionary.add(segment.dictionary.texts.take(codes))
        renumbered.append(
            [_Local(one.name, _picked(numbers, one.numbers), one.cells) for one in columns]
        )
    return renumbered, dictionary.count


def _picked(numbers: Array, places: Array) -> Array:
    """The numbers at these places; beyond the last, nulls."""
    padded = np.append(numbers, null_id(np.dtype(np.uint32))).astype(np.uint32)
    return np.asarray(padded[np.minimum(places, len(numbers))])


def _shared(rows: Sequence[int], local: Sequence[Sequence[_Local]], count: int) -> CodedTables:
    """The columns in the numbers of the values that at least two tables hold."""
    held = np.zeros(count, np.uint8)
    for columns in local:
        mine = np.zeros(count, np.bool_)
        for column in columns:
            mine[column.numbers[column.numbers < count]] = True
        held = np.minimum(held + mine, 2).astype(np.uint8)
    shared = np.flatnonzero(held >= 2)
    code = np.full(count + 1, NO_VALUE, np.int32)
    code[shared] = np.arange(len(shared), dtype=np.int32)
    tables = tuple(_coded(columns, size, code) for columns, size in zip(local, rows, strict=True))
    return CodedTables(tables, len(shared))


def _coded(columns: Sequence[_Local], rows: int, code: Array) -> CodedTable:
    if rows > _MOST_ROWS:
        raise InputError(f"a table of {rows:,} rows is too large: {_MOST_ROWS:,} are the most")
    codes = np.empty((len(columns), rows), np.int32)
    for column, of_rows in zip(columns, codes, strict=True):
        by_id = code[np.minimum(column.numbers, len(code) - 1)]
        if column.cells is None:
            of_rows[:] = by_id
        else:
            by_id = np.append(by_id, np.int32(NO_VALUE))
            np.take(by_id, np.minimum(column.cells, len(by_id) - 1), out=of_rows)
    return CodedTable(tuple(column.name for column in columns), codes)
