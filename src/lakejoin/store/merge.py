"""Takes tables back out of a segment, as they were when they went in: what compaction merges."""

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
    """Every table of a segment that has not gone, ready to be added to a builder."""
    dead = set(segment.record.dead)
    for number in range(segment.record.tables):
        if number in dead:
            continue
        entry = segment.catalog.table(number)
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
    # The canonical values of all spellings are tokens of the column, written that way or not.
    spelled = distinct[distinct >= tokens]
    codes = distinct[distinct < tokens]
    owners = rows.codes_of(spelled)
    order = np.argsort(codes, kind="stable")
    place = np.searchsorted(codes[order], owners)
    missing = place >= len(codes)
    missing[~missing] = codes[order][place[~missing]] != owners[~missing]
    if missing.any():
        codes = np.concatenate([codes, np.unique(owners[missing])])
        order = np.argsort(codes, kind="stable")
        place = np.searchsorted(codes[order], owners)
    total = len(codes) + len(spelled)
    local = np.empty(len(distinct), dtype=np.uint32)
    local[distinct < tokens] = np.arange((distinct < tokens).sum(), dtype=np.uint32)
    local[distinct >= tokens] = np.arange(len(codes), total, dtype=np.uint32)
    return ColumnData(
        column.name,
        column.profile,
        segment.dictionary.texts.take(codes),
        rows.spellings.take(spelled - np.uint32(tokens)),
        order[place].astype(np.uint32),
        _renumbered(cells, local, total),
    )


def _localised(ids: Array) -> tuple[Array, Array]:
    """Value ids by row as (distinct value ids, number of each row's; nulls all bits set)."""
    distinct, inverse = np.unique(ids, return_inverse=True)
    cells = inverse.astype(np.uint32)
    if len(distinct) and distinct[-1] == NULL:
        cells[cells == len(distinct) - 1] = NULL
        distinct = distinct[:-1]
    return distinct, cells


def _renumbered(cells: Array, local: Array, total: int) -> Array:
    dtype = np.dtype(np.uint8 if total <= 0xFF else np.uint16 if total <= 0xFFFF else np.uint32)
    padded = np.append(local, np.uint32(0xFFFFFFFF)).astype(dtype)  # a null keeps all bits set
    return padded[np.minimum(cells, len(local))]
