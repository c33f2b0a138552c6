"""Builds a segment from tables, and reads tables back from segments for compaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.errors import BuildFailed
from lakejoin.locations import Location
from lakejoin.model import Array, ColumnData, ColumnType, TableData, string_buffers
from lakejoin.store.arrayfile import ArrayFileWriter
from lakejoin.store.catalog import CatalogWriter, ColumnEntry
from lakejoin.store.dictionary import write_directory, write_texts
from lakejoin.store.index_records import ComponentRecord, SegmentRecord
from lakejoin.store.rows import NULL, ArrayLoader, RowsWriter, Spill
from lakejoin.store.segment import Component, Segment, add_components

if TYPE_CHECKING:
    from lakejoin.kernels.token_groups import TokenGroups


# Decimals (measures) and booleans join by coincidence: searched only with --all-columns.
SEARCHED_TYPES = frozenset({ColumnType.TEXT, ColumnType.INTEGER, ColumnType.DATE, ColumnType.MIXED})
PAIR_BYTES = 48  # measured peak per (column, value) pair while grouping and writing
COLUMN_BYTES = 768  # a column's signature of 128 entries, and sorting them
_SEEDS = 8
_MOST = (1 << 32) - 2  # value ids have 32 bits, and all bits set is a null


class TextBuffer:
    """Collects strings from many Arrow arrays, then joins them into one buffer."""

    def __init__(self, spill: Spill) -> None:
        self._spill = spill
        self._buffers: list[tuple[ArrayLoader, ArrayLoader]] = []
        self.count = 0
        self.bytes = 0

    def add(self, texts: pa.LargeStringArray) -> None:
        offsets, data = string_buffers(texts)
        used = data[int(offsets[0]) : int(offsets[-1])]
        lengths = np.diff(offsets).astype(np.uint32)
        self._buffers.append((self._spill.keep(lengths), self._spill.keep(used)))
        self.count += len(lengths)
        self.bytes += len(used)

    def join(self) -> tuple[Array, Array]:
        """(offsets, bytes) of all strings; releases the collected ones."""
        offsets = np.zeros(self.count + 1, dtype=np.int64)
        data = np.empty(self.bytes, dtype=np.uint8)
        row = at = 0
        for load_lengths, load_bytes in self._buffers:
            lengths, used = load_lengths(), load_bytes()
            offsets[row + 1 : row + 1 + len(lengths)] = lengths
            data[at : at + len(used)] = used
            row, at = row + len(lengths), at + len(used)
        self._buffers.clear()
        np.cumsum(offsets, out=offsets)
        return offsets, data


@dataclass(slots=True)
class _Counts:
    tables: int = 0
    rows: int = 0
    cells: int = 0
    searched: int = 0


class SegmentBuilder:
    """Collects tables and writes them as one segment to the folder `location`."""

    def __init__(self, location: Location, all_columns: bool = False) -> None:
        location.make_folder()
        self._location = location
        self._searched = frozenset(ColumnType) if all_columns else SEARCHED_TYPES
        self._counts = _Counts()
        self._catalog = CatalogWriter()
        self._spill = Spill()
        self._tokens = TextBuffer(self._spill)
        self._spellings = TextBuffer(self._spill)
        self._token_counts: list[int] = []
        self._spelling_token: list[ArrayLoader] = []
        self._indexed: list[bool] = []
        self._rows_file = ArrayFileWriter(location / "rows.lj")
        self._rows = RowsWriter(self._rows_file, self._spill)

    @property
    def columns(self) -> int:
        return len(self._indexed)

    @property
    def memory(self) -> int:
        """The estimated peak memory of `finish`, in bytes."""
        runs = (self._tokens, self._spellings)
        sketching = self._counts.searched * COLUMN_BYTES
        return max(sketching, *(run.count * PAIR_BYTES + run.bytes for run in runs))

    def add(self, table: TableData) -> int:
        """Add a table; returns its number of cells."""
        width = 0
        for column in table.columns:
            self._add_column(column)
            width += 1
        self._catalog.add_table(table, width)
        self._counts.tables += 1
        self._counts.rows += table.rows
        self._counts.cells += table.rows * width
        return table.rows * width

    def _add_column(self, column: ColumnData) -> None:
        indexed = column.profile.type in self._searched and column.profile.distinct > 0
        self._catalog.add_column(column, indexed)
        self._indexed.append(indexed)
        self._counts.searched += indexed
        self._tokens.add(column.tokens)
        self._spellings.add(column.spellings)
        self._token_counts.append(len(column.tokens))
        self._spelling_token.append(self._spill.keep(column.spelling_token))
        self._rows.add(column)

    def finish(self, components: Iterable[Component]) -> SegmentRecord:
        """Assign the codes and write all files; returns the record of the segment."""
        if self._tokens.count + self._spellings.count >= _MOST:
            raise BuildFailed(
                f"segment {self._location.name} would exceed {_MOST:,} values: a table is too large"
            )
        column_start = np.zeros(len(self._token_counts) + 1, dtype=np.int64)
        np.cumsum(self._token_counts, out=column_start[1:])
        offsets, data = self._tokens.join()
        indexed = np.array(self._indexed, dtype=bool)
        seed, groups = group_texts(offsets, data, column_start, indexed)
        values = len(groups.first_pair)
        with ArrayFileWriter(self._location / "dictionary.lj") as dictionary:
            write_directory(dictionary, seed, groups.token_hash)
            groups = replace(groups, token_hash=groups.token_hash[:0])
            write_texts(dictionary, "text", offsets, data, groups.first_pair)
        del offsets, data
        groups = replace(groups, first_pair=groups.first_pair[:0])
        with self._rows_file:
            self._write_rows(column_start, groups.pair_code, values)
        self._spill.close()
        with ArrayFileWriter(self._location / "catalog.lj") as catalog:
            self._catalog.write(catalog)
        core = {"catalog": catalog, "dictionary": dictionary, "rows": self._rows_file}
        record = SegmentRecord(
            id=self._location.name,
            tables=self._counts.tables,
            columns=len(self._indexed),
            rows=self._counts.rows,
            cells=self._counts.cells,
            values=values,
            pairs=int(np.diff(column_start)[indexed].sum()) if len(indexed) else 0,
            components={
                name: ComponentRecord(1, f"{name}.lj", out.record.bytes, out.record.checksum)
                for name, out in core.items()
            },
        )
        lists = (groups.group_start, groups.list_start, groups.list_columns)
        del groups
        return add_components(Segment(self._location, record, fresh_lists=lists), components)

    def abandon(self) -> None:
        self._rows_file.__exit__(RuntimeError, None, None)
        self._spill.close()
        self._location.remove()

    def _write_rows(self, column_start: Array, pair_code: Array, values: int) -> None:
        spelled = np.empty(self._spellings.count, dtype=np.uint32)
        start = [0]
        for column, load_tokens in enumerate(self._spelling_token):
            tokens = load_tokens()
            end = start[-1] + len(tokens)
            spelled[start[-1] : end] = pair_code[column_start[column] + tokens]
            start.append(end)
        offsets, data = self._spellings.join()
        spelling_id, first = number_spellings(offsets, data, spelled)
        value_ids = (
            np.concatenate(
                [
                    pair_code[column_start[c] : column_start[c + 1]],
                    spelling_id[start[c] : start[c + 1]] + np.uint32(values),
                ]
            )
            for c in range(len(start) - 1)
        )
        self._rows.finish(value_ids, spelled[first])
        write_texts(self._rows_file, "spelling", offsets, data, first)


def group_texts(
    offsets: Array, data: Array, column_start: Array, indexed: Array
) -> tuple[int, TokenGroups]:
    """The hash seed, and the codes, groups and posting lists of all (column, text) pairs.

    If two different texts share a hash under one seed, the next seed is tried.
    """
    from lakejoin.kernels.hashes import hash_strings
    from lakejoin.kernels.token_groups import find_first_mismatch, group_pairs

    def hashes(seed: int) -> Array:
        out = np.empty(len(offsets) - 1, dtype=np.uint64)
        hash_strings(offsets, data, np.uint64(seed), out)
        return out

    for seed in _seeds():
        groups = group_pairs(partial(hashes, seed), column_start, indexed)
        if find_first_mismatch(offsets, data, groups.pair_code, groups.first_pair) < 0:
            return seed, groups
    raise BuildFailed(f"two different values have the same hash under {_SEEDS} seeds")


def _seeds() -> Iterator[int]:
    """The usual seed, then unpredictable ones."""
    yield 0
    for _ in range(_SEEDS - 1):
        yield secrets.randbits(64)


def number_spellings(offsets: Array, data: Array, codes: Array) -> tuple[Array, Array]:
    """Number the distinct (code, text) pairs; returns the id of each, and a pair for each id.

    One text can spell two values: `01/02/2020` is a different day in different columns.
    """
    from lakejoin.kernels.hashes import hash_strings
    from lakejoin.kernels.token_groups import find_first_mismatch, group_pairs

    def hashes(seed: int) -> Array:
        out = np.empty(len(codes), dtype=np.uint64)
        hash_strings(offsets, data, np.uint64(seed), out)
        out ^= (codes + np.uint64(seed) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        return out

    everything = np.array([0, len(codes)], dtype=np.int64)
    for seed in _seeds():
        groups = group_pairs(partial(hashes, seed), everything, np.array([False]))
        same_code = np.array_equal(codes[groups.first_pair[groups.pair_code]], codes)
        if (
            same_code
            and find_first_mismatch(offsets, data, groups.pair_code, groups.first_pair) < 0
        ):
            return groups.pair_code, groups.first_pair
    raise BuildFailed(f"two different spellings have the same hash under {_SEEDS} seeds")


def live_tables(segment: Segment) -> Iterator[TableData]:
    """Every live table of a segment, ready for a segment builder."""
    dead = set(segment.record.dead)
    for table_id in range(segment.record.tables):
        if table_id in dead:
            continue
        entry = segment.catalog.table(table_id)
        columns = (_column(segment, column) for column in segment.catalog.columns_of(entry))
        yield TableData(
            entry.name,
            entry.source,
            entry.rows,
            columns,
            entry.format,
            entry.dialect,
            entry.losses,
            entry.notes,
            entry.composition,
            entry.declared,
        )


def _column(segment: Segment, column: ColumnEntry) -> ColumnData:
    rows = segment.rows
    tokens = rows.tokens
    cells, ids = rows.local(column.column_id, column.profile.rows)
    if cells is None:
        distinct, cells = _localised(ids)
    else:
        distinct = ids
    # The canonical value of every spelling is a token of the column, even if no cell has it.
    spelled = distinct[distinct >= tokens]
    codes = distinct[distinct < tokens]
    owners = rows.codes_of(spelled)
    order = np.argsort(codes, kind="stable")
    position = np.searchsorted(codes[order], owners)
    missing = position >= len(codes)
    missing[~missing] = codes[order][position[~missing]] != owners[~missing]
    if missing.any():
        codes = np.concatenate([codes, np.unique(owners[missing])])
        order = np.argsort(codes, kind="stable")
        position = np.searchsorted(codes[order], owners)
    total = len(codes) + len(spelled)
    local = np.empty(len(distinct), dtype=np.uint32)
    local[distinct < tokens] = np.arange((distinct < tokens).sum(), dtype=np.uint32)
    local[distinct >= tokens] = np.arange(len(codes), total, dtype=np.uint32)
    return ColumnData(
        column.name,
        column.profile,
        segment.dictionary.texts.take(codes),
        rows.spellings.take(spelled - np.uint32(tokens)),
        order[position].astype(np.uint32),
        _renumbered(cells, local, total),
    )


def _localised(ids: Array) -> tuple[Array, Array]:
    """Split value ids by row into (distinct value ids, index of each row's; nulls all bits set)."""
    distinct, inverse = np.unique(ids, return_inverse=True)
    cells = inverse.astype(np.uint32)
    if len(distinct) and distinct[-1] == NULL:
        cells[cells == len(distinct) - 1] = NULL
        distinct = distinct[:-1]
    return distinct, cells


def _renumbered(cells: Array, local: Array, total: int) -> Array:
    dtype = np.dtype(np.uint8 if total <= 0xFF else np.uint16 if total <= 0xFFFF else np.uint32)
    padded = np.append(local, np.uint32(0xFFFFFFFF)).astype(dtype)  # a null stays all bits set
    return padded[np.minimum(cells, len(local))]
