"""Texts of some columns as spelled in a table, to learn programs from, and their join by keys.

A single column gives each distinct text once, with the number of rows that hold it; several columns
give rows, sampled in a large table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.engines.query import NO_CELL, ColumnSpellings
from lakejoin.joins.row_keys import NO_KEY, Keys
from lakejoin.model import Array

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 50_000  # of several columns
NO_ENTRY = -1


@dataclass(frozen=True, eq=False)
class ColumnTexts:
    """Texts by column; entry i stands for `weights[i]` rows of the table, the first of which is
    `rows[i]`. `entries` has the entry of every row, `NO_ENTRY` for rows without one."""

    table: pa.Table
    rows: Array
    weights: Array
    entries: Array

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def first_texts(self, positions: Array) -> list[str]:
        """The texts of the first column at some positions; empty for a null."""
        return [text or "" for text in self.table.column(0).take(positions).to_pylist()]

    def take(self, positions: Array) -> ColumnTexts:
        """The texts at some positions."""
        entries = np.full(len(self) + 1, NO_ENTRY)
        entries[positions] = np.arange(len(positions))
        return ColumnTexts(
            self.table.take(positions),
            self.rows[positions],
            self.weights[positions],
            entries[self.entries],
        )


def read_column_texts(columns: Mapping[str, ColumnSpellings]) -> ColumnTexts:
    """The texts of some columns, by name."""
    import pyarrow as pa

    if len(columns) > 1:
        return _rows_of(columns)
    ((name, only),) = columns.items()
    entries = np.where(only.cells == NO_CELL, NO_ENTRY, only.cells.astype(np.int64))
    return ColumnTexts(pa.table({name: only.texts}), _first_rows(only), only.rows, entries)


def _first_rows(column: ColumnSpellings) -> Array:
    first = np.zeros(len(column.texts), np.int64)
    known = np.flatnonzero(column.cells != NO_CELL)[::-1]
    first[column.cells[known]] = known
    return first


def _rows_of(columns: Mapping[str, ColumnSpellings]) -> ColumnTexts:
    import pyarrow as pa

    total = len(next(iter(columns.values())).cells)
    step = max(1, -(-total // MOST_ROWS))
    rows = np.arange(0, total, step)
    texts = {}
    for name, column in columns.items():
        cells = column.cells[rows]
        null = cells == NO_CELL
        texts[name] = column.texts.take(pa.array(np.where(null, 0, cells), mask=null))
    entries = np.full(total, NO_ENTRY)
    entries[rows] = np.arange(len(rows))
    return ColumnTexts(pa.table(texts), rows, np.full(len(rows), float(step)), entries)


@dataclass(frozen=True, eq=False)
class JoinedTexts:
    """The texts of both sides joined by their keys."""

    keys: Keys
    left: ColumnTexts
    right: ColumnTexts

    @cached_property
    def _their_rows_by_key(self) -> Array:
        """The number of lake rows with each key; the last entry is for no key."""
        held = self.keys.right >= 0
        rows = np.zeros(self.keys.count + 1)
        np.add.at(rows, self.keys.right[held], self.right.weights[held])
        return rows

    @cached_property
    def _is_matched(self) -> Array:
        return self._their_rows_by_key[self.keys.left] > 0

    @property
    def matched(self) -> int:
        """The number of query texts with a match."""
        return int(self._is_matched.sum())

    @property
    def shared(self) -> int:
        """The number of keys of both sides."""
        return len(np.unique(self.keys.left[self._is_matched]))

    @property
    def their_keys(self) -> int:
        """The number of keys of the lake side."""
        return int((self._their_rows_by_key > 0).sum())

    @property
    def rows_matched(self) -> float:
        """The number of query rows with a match."""
        return float(self.left.weights[self._is_matched].sum())

    @property
    def pairs(self) -> float:
        """The number of rows of the join."""
        return float((self.left.weights * self._their_rows_by_key[self.keys.left]).sum())

    @property
    def row_keys(self) -> Keys:
        """The keys of the rows of both tables."""
        left, right = (
            np.append(keys, NO_KEY)[texts.entries]
            for keys, texts in ((self.keys.left, self.left), (self.keys.right, self.right))
        )
        return Keys(left, right, self.keys.count)

    def sample_pairs(self, most: int) -> tuple[Array, Array]:
        """Matching positions of both sides, one pair per key, spread over all."""
        first = np.full(self.keys.count + 1, -1)
        held = np.flatnonzero(self.keys.right >= 0)[::-1]
        first[self.keys.right[held]] = held
        matched = np.flatnonzero(self._is_matched)
        _, once = np.unique(self.keys.left[matched], return_index=True)
        matched = matched[np.sort(once)]
        if len(matched) > most:
            matched = matched[np.linspace(0, len(matched) - 1, most).astype(np.int64)]
        return matched, first[self.keys.left[matched]]
