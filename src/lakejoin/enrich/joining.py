"""Joins the chosen lake columns onto any rows, keeping the number and order of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.enrich.gathering import Column
from lakejoin.enrich.lines import KeyLines, lines_of
from lakejoin.enrich.linking import Link
from lakejoin.enrich.their_table import TheirTable

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.enrich.partners import Partners
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]


def joined_columns(
    snapshot: Snapshot, links: Sequence[Link], columns: Sequence[Column], mine: pa.Table
) -> list[pa.Array]:
    """The value of each column for each row; null if the row has no partner."""
    keys: dict[tuple[str, ...], KeyLines] = {}
    joined: dict[int, tuple[TheirTable, Partners]] = {}
    arrays = []
    for column in columns:
        link = links[column.link]
        if link.mine not in keys:
            keys[link.mine] = lines_of(mine, link.mine)
        if column.link not in joined:
            table = TheirTable(snapshot, link.table)
            joined[column.link] = table, link.partners(keys[link.mine], table)
        table, partners = joined[column.link]
        of_row = np.append(partners.of_line, -1)[keys[link.mine].of_row]
        arrays.append(_at_rows(column, table, partners, of_row))
    return arrays


def _at_rows(column: Column, table: TheirTable, partners: Partners, of_row: Array) -> pa.Array:
    import pyarrow as pa

    rows = pa.array(np.maximum(of_row, 0), mask=of_row < 0)
    values: pa.Array
    if column.made == "rows":
        counts = np.bincount(partners.which, minlength=partners.count)
        values = pa.array(counts.astype(np.float64))
    elif column.made == "mean":
        index = table.place_of(column.place, column.name)
        numbers = table.numbers(index, partners)
        # The column has numbers, but perhaps not for these few partners.
        empty = np.full(partners.count, np.nan)
        values = pa.array(empty if numbers is None else numbers, from_pandas=True)
        values = values.cast(pa.float64())
    else:
        index = table.place_of(column.place, column.name)
        values = table.most_frequent(index, partners)
    return values.take(rows)


def used(links: Sequence[Link], columns: Sequence[Column]) -> tuple[list[Link], list[Column]]:
    """The links that some columns use, and these columns with the indexes of these links."""
    from dataclasses import replace

    indexes = list(dict.fromkeys(column.link for column in columns))
    renumbered = [replace(column, link=indexes.index(column.link)) for column in columns]
    return [links[index] for index in indexes], renumbered
