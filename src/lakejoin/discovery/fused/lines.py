"""Texts of some columns of a table, as they are written: what programs are learned from.

One column gives each distinct text once, with the rows that hold it; several give rows, of which a
large table has more than are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.mine import NO_CELL, Originals

if TYPE_CHECKING:
    import pyarrow as pa

Array = np.ndarray[Any, Any]

MOST_ROWS = 50_000  # of several columns together


@dataclass(frozen=True, eq=False)
class Lines:
    """Texts by column; `rows[i]` is the first row of the table that line i stands for, and
    `weights[i]` how many it stands for."""

    table: pa.Table
    rows: Array
    weights: Array

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def first(self, places: Array) -> list[str]:
        """The texts of the first column of some lines; nothing for a null."""
        return [one or "" for one in self.table.column(0).take(places).to_pylist()]

    def take(self, places: Array) -> Lines:
        """Some of the lines."""
        return Lines(self.table.take(places), self.rows[places], self.weights[places])


def lines_of(columns: Mapping[str, Originals]) -> Lines:
    """The lines of some columns, by their names."""
    import pyarrow as pa

    if len(columns) > 1:
        return _rows_of(columns)
    ((name, only),) = columns.items()
    return Lines(pa.table({name: only.texts}), _first_rows(only), only.rows)


def _first_rows(column: Originals) -> Array:
    first = np.zeros(len(column.texts), np.int64)
    known = np.flatnonzero(column.cells != NO_CELL)[::-1]
    first[column.cells[known]] = known
    return first


def _rows_of(columns: Mapping[str, Originals]) -> Lines:
    import pyarrow as pa

    total = len(next(iter(columns.values())).cells)
    step = max(1, -(-total // MOST_ROWS))
    rows = np.arange(0, total, step)
    texts = {}
    for name, column in columns.items():
        cells = column.cells[rows]
        null = cells == NO_CELL
        texts[name] = column.texts.take(pa.array(np.where(null, 0, cells), mask=null))
    return Lines(pa.table(texts), rows, np.full(len(rows), float(step)))
