"""Texts of some columns of a table, as they are written: what programs are learned from.

One column gives each distinct text once, with the rows that hold it; several give rows, of which a
large table has more than are needed. Lines of two tables that have a key meet where it is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.search.mine import NO_CELL, Originals

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.joins.keys import Keys

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


@dataclass(frozen=True, eq=False)
class Meeting:
    """Lines of both sides by their keys."""

    keys: Keys
    left: Lines
    right: Lines

    @cached_property
    def _of_key(self) -> Array:
        """How many rows of theirs hold each key; the last is for none."""
        held = self.keys.right >= 0
        rows = np.zeros(self.keys.count + 1)
        np.add.at(rows, self.keys.right[held], self.right.weights[held])
        return rows

    @cached_property
    def _met(self) -> Array:
        return self._of_key[self.keys.left] > 0

    @property
    def matched(self) -> int:
        """My lines that find a partner."""
        return int(self._met.sum())

    @property
    def shared(self) -> int:
        """The keys that both have."""
        return len(np.unique(self.keys.left[self._met]))

    @property
    def their_keys(self) -> int:
        """The keys that theirs have."""
        return int((self._of_key > 0).sum())

    @property
    def rows_matched(self) -> float:
        """My rows that find a partner."""
        return float(self.left.weights[self._met].sum())

    @property
    def pairs(self) -> float:
        """The rows of the join."""
        return float((self.left.weights * self._of_key[self.keys.left]).sum())

    def some(self, most: int) -> tuple[Array, Array]:
        """Lines of mine and of theirs that meet, one for each key, spread over all."""
        first = np.full(self.keys.count + 1, -1)
        held = np.flatnonzero(self.keys.right >= 0)[::-1]
        first[self.keys.right[held]] = held
        met = np.flatnonzero(self._met)
        _, once = np.unique(self.keys.left[met], return_index=True)
        met = met[np.sort(once)]
        if len(met) > most:
            met = met[np.linspace(0, len(met) - 1, most).astype(np.int64)]
        return met, first[self.keys.left[met]]
