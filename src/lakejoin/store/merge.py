"""Reads tables back from a segment as they were added, for compaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lakejoin.model import ColumnData, TableData
from lakejoin.store.catalog import ColumnEntry
from lakejoin.store.rows import NULL
from lakejoin.store.segment import Segment

Array = np.ndarray[Any, Any]


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
        )


def _column(segment: Segment, column: ColumnEntry) -> ColumnData:
    rows = segment.rows
    tokens = rows.tokens
    cells, ids = rows.local(column.number, column.profile.rows)
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
