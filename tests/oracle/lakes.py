"""Brute force over small lakes: what the arrays of a segment must say, by plain Python sets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lakejoin.model import ColumnData, TableData
from lakejoin.values.column_encoder import ColumnEncoder

Cells = Sequence[str | None]


@dataclass(frozen=True)
class PlainTable:
    """A table as Python lists: `columns[name]` are its cells."""

    name: str
    columns: dict[str, Cells]

    @property
    def rows(self) -> int:
        return len(next(iter(self.columns.values()), ()))


def encode_table(names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> tuple[ColumnData, ...]:
    """The columns of a table that arrives in batches; the names may repeat."""
    encoders = [ColumnEncoder(name) for name in names]
    for batch in batches:
        for encoder, column in zip(encoders, batch.columns, strict=True):
            encoder.append(column)
    return tuple(encoder.finish() for encoder in encoders)


def encoded(table: PlainTable) -> TableData:
    """The table as the pipeline would hand it to a builder."""
    arrays = [pa.array(cells, pa.string()) for cells in table.columns.values()]
    names = list(table.columns)
    batch = pa.RecordBatch.from_arrays(arrays, names=names)
    return TableData(table.name, table.name, table.rows, encode_table(names, [batch]))


def canonical_columns(data: TableData) -> list[list[str | None]]:
    """Each column's cells as canonical values, worked out cell by cell."""
    columns = []
    for column in data.columns:
        tokens = column.tokens.to_pylist()
        spelling = column.spelling_token.tolist()
        null = 2 ** (8 * column.cells.itemsize) - 1
        cells: list[str | None] = []
        for cell in column.cells.tolist():
            if cell == null:
                cells.append(None)
            elif cell < len(tokens):
                cells.append(tokens[cell])
            else:
                cells.append(tokens[spelling[cell - len(tokens)]])
        columns.append(cells)
    return columns


def counts(cells: Cells) -> Counter[str]:
    """In how many rows each value occurs."""
    return Counter(cell for cell in cells if cell is not None)


def posting_lists(sets: Sequence[set[str] | None]) -> dict[str, tuple[int, ...]]:
    """Which columns hold each value; None is a column that is not indexed."""
    lists: dict[str, list[int]] = defaultdict(list)
    for number, values in enumerate(sets):
        for value in values or ():
            lists[value].append(number)
    return {value: tuple(columns) for value, columns in lists.items()}
