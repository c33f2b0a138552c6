"""The columns that the lake can add: gathered for sampled rows, joined onto any rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from lakejoin.enrich.key_matches import (
    DistinctKeys,
    KeyMatches,
    LinkedTable,
    distinct_keys,
    key_hashes,
)
from lakejoin.enrich.links import Link
from lakejoin.enrich.training_data import number_texts
from lakejoin.joins.join_inputs import table_subject
from lakejoin.model import Array
from lakejoin.store.snapshot import Snapshot
from lakejoin.values.column_names import make_names_unique

ROWS = "rows"  # the column with the number of rows of a match
_MAX_COLUMNS = 100  # examined per table
_COVERED, _FEWEST = 0.05, 10  # share and number of sampled rows that must get a value
_MAX_UNIQUENESS = 0.5  # distinct texts per row: one that occurs once says nothing of other rows


@dataclass(frozen=True)
class LakeColumn:
    """A column of a table that joins: how it is aggregated ("mean", "most frequent", "rows"), and
    its name in the result. `link` is the index of its link, `column_index` its column index."""

    link: int
    table: str
    column_index: int
    name: str
    made: str
    called: str


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The values of a column for the sampled keys: numbers, NaN if missing. For texts they are
    positions in `texts`, the most frequent first."""

    column: LakeColumn
    by_key: Array
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class GatheredColumns:
    """The columns that the lake could add, for the sampled `rows` of the query table.

    `keys` has the key of each sampled row, for the folds. `keys_of_rows` has, for each set of query
    columns that tables join on, the distinct key of each sampled row.
    """

    links: tuple[Link, ...]
    rows: Array
    keys: Array
    keys_of_rows: dict[tuple[str, ...], Array]
    values: tuple[ColumnValues, ...]
    matched: dict[int, Array]  # by link, whether each sampled row has a match

    def joined_on(self, values: ColumnValues) -> tuple[str, ...]:
        return self.links[values.column.link].query_columns

    def at_rows(self, values: ColumnValues) -> Array:
        """The values of a column for the sampled rows."""
        return np.append(values.by_key, np.nan)[self.keys_of_rows[self.joined_on(values)]]

    @cached_property
    def matrix(self) -> Array:
        """All columns for the sampled rows."""
        columns = [self.at_rows(values) for values in self.values]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.rows), 0))


def gather_columns(
    snapshot: Snapshot,
    query: pa.Table,
    links: Sequence[Link],
    on: Sequence[str] | None,
    most: int = 2_000,
) -> GatheredColumns:
    """Gather the columns that the linked tables could add, for at most `most` rows."""
    if on is None:
        on = links[0].query_columns if links else query.column_names
    rows, row_keys = sample_keys(query, on, snapshot, most)
    sample = query.take(rows)
    keys_on = {
        on: distinct_keys(sample, on) for on in dict.fromkeys(link.query_columns for link in links)
    }
    values: list[ColumnValues] = []
    matched = {}
    taken = set(query.column_names)
    for index, link in enumerate(links):
        table = LinkedTable(snapshot, link.table)
        matches = link.matches(keys_on[link.query_columns], table)
        matched[index] = np.append(matches.matched, False)[keys_on[link.query_columns].of_row]
        reader = _Reader(index, link, table, matches, keys_on[link.query_columns])
        values += reader.columns(taken)
    of_rows = {on: keys.of_row for on, keys in keys_on.items()}
    return GatheredColumns(tuple(links), rows, row_keys, of_rows, tuple(values), matched)


def sample_keys(
    query: pa.Table, on: Sequence[str], snapshot: Snapshot, most: int
) -> tuple[Array, Array]:
    """Sample rows, ascending, of the keys with the lowest hashes; returns them with their keys. A
    row without a key counts as a key of its own."""
    keys = distinct_keys(query, on)
    row_keys = keys.of_row.copy()
    row_keys[row_keys < 0] = len(keys) + np.arange(int((row_keys < 0).sum()))
    if query.num_rows <= most:
        return np.arange(query.num_rows), row_keys
    hashes = np.append(key_hashes(keys, snapshot.manifest.options.rules), np.uint64(2**64 - 1))
    order = np.argsort(hashes[keys.of_row], kind="stable")
    rows = np.sort(order[:most])
    return rows, row_keys[rows]


class _Reader:
    """Reads the columns of one table for the sampled keys."""

    def __init__(
        self, index: int, link: Link, table: LinkedTable, matches: KeyMatches, keys: DistinctKeys
    ) -> None:
        self._index = index
        self._link = link
        self._table = table
        self._matches = matches
        self._rows_of_key = np.bincount(keys.of_row[keys.of_row >= 0], minlength=len(keys))
        counts = np.bincount(matches.match_of_row, minlength=matches.count)
        self._counts = counts.astype(np.float64)
        self._several = bool((counts > 1).any())

    def columns(self, taken: set[str]) -> list[ColumnValues]:
        """The columns that may be useful; `taken` are the names already in use."""
        columns = []
        if self._several:
            columns.append(self._values(-1, ROWS, ROWS, self._counts))
        for index, column in enumerate(self._table.columns[:_MAX_COLUMNS]):
            if column.name not in self._link.lake_columns and column.profile.distinct > 1:
                columns.append(self._column(index, column.name))
        useful = [column for column in columns if self._is_useful(column)]
        return [_named(column, self._several, taken) for column in useful]

    def _column(self, index: int, name: str) -> ColumnValues:
        numbers = self._table.mean_numbers(index, self._matches)
        if numbers is not None:
            return self._values(index, name, "mean", numbers)
        texts = self._table.most_frequent(index, self._matches)
        numbers, names = number_texts(texts)
        return self._values(index, name, "most frequent", numbers, names)

    def _values(
        self, index: int, name: str, made: str, of_match: Array, texts: tuple[str, ...] = ()
    ) -> ColumnValues:
        column = LakeColumn(self._index, self._link.table, index, name, made, name)
        return ColumnValues(column, np.append(of_match, np.nan)[self._matches.by_key], texts)

    def _is_useful(self, values: ColumnValues) -> bool:
        present = ~np.isnan(values.by_key)
        rows = int(self._rows_of_key[present].sum())
        if rows < max(_FEWEST, _COVERED * int(self._rows_of_key.sum())):
            return False
        distinct = len(np.unique(values.by_key[present]))
        return distinct > 1 and not (
            values.texts and distinct > _MAX_UNIQUENESS * int(present.sum())
        )


def _named(values: ColumnValues, several: bool, taken: set[str]) -> ColumnValues:
    """Name a column after its table and itself, with a name that is not taken."""
    column = values.column
    made = {"mean": "_mean", "most frequent": "_mode"}.get(column.made, "") if several else ""
    base = f"{table_subject(column.table)}.{column.name}{made}"
    (called,) = make_names_unique([base], taken, rename="{}_{}".format)
    taken.add(called)
    return replace(values, column=replace(column, called=called))


def join_columns(
    snapshot: Snapshot, links: Sequence[Link], columns: Sequence[LakeColumn], query: pa.Table
) -> list[pa.Array]:
    """The value of each column for each row; null if the row has no match."""
    keys: dict[tuple[str, ...], DistinctKeys] = {}
    joined: dict[int, tuple[LinkedTable, KeyMatches]] = {}
    arrays = []
    for column in columns:
        link = links[column.link]
        if link.query_columns not in keys:
            keys[link.query_columns] = distinct_keys(query, link.query_columns)
        if column.link not in joined:
            table = LinkedTable(snapshot, link.table)
            joined[column.link] = table, link.matches(keys[link.query_columns], table)
        table, matches = joined[column.link]
        of_row = np.append(matches.by_key, -1)[keys[link.query_columns].of_row]
        arrays.append(_at_rows(column, table, matches, of_row))
    return arrays


def _at_rows(
    column: LakeColumn, table: LinkedTable, matches: KeyMatches, of_row: Array
) -> pa.Array:
    rows = pa.array(np.maximum(of_row, 0), mask=of_row < 0)
    if column.made == ROWS:
        counts = np.bincount(matches.match_of_row, minlength=matches.count)
        return pa.array(counts, pa.float64()).take(rows)
    index = table.find_column_index(column.column_index, column.name)
    if column.made != "mean":
        return table.most_frequent(index, matches).take(rows)
    numbers = table.mean_numbers(index, matches)
    if numbers is None:  # the column has numbers, but perhaps not for these few matches
        numbers = np.full(matches.count, np.nan)
    return pa.array(numbers, pa.float64(), from_pandas=True).take(rows)


def used_links(
    links: Sequence[Link], columns: Sequence[LakeColumn]
) -> tuple[list[Link], list[LakeColumn]]:
    """The links that some columns use, and these columns with the indexes of these links."""
    indexes = list(dict.fromkeys(column.link for column in columns))
    renumbered = [replace(column, link=indexes.index(column.link)) for column in columns]
    return [links[index] for index in indexes], renumbered
