"""Joins the chosen lake columns onto any rows, keeping the number and order of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.enrich.lake_columns import LakeColumn
from lakejoin.enrich.lines import DistinctKeys, distinct_keys
from lakejoin.enrich.links import Link
from lakejoin.enrich.partner_table import PartnerTable

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.enrich.key_partners import Partners
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]


def join_columns(
    snapshot: Snapshot, links: Sequence[Link], columns: Sequence[LakeColumn], mine: pa.Table
) -> list[pa.Array]:
    """The value of each column for each row; null if the row has no partner."""
    keys: dict[tuple[str, ...], DistinctKeys] = {}
    joined: dict[int, tuple[PartnerTable, Partners]] = {}
    arrays = []
    for column in columns:
        link = links[column.link]
        if link.mine not in keys:
            keys[link.mine] = distinct_keys(mine, link.mine)
        if column.link not in joined:
            table = PartnerTable(snapshot, link.table)
            joined[column.link] = table, link.partners(keys[link.mine], table)
        table, partners = joined[column.link]
        of_row = np.append(partners.of_line, -1)[keys[link.mine].of_row]
        arrays.append(_at_rows(column, table, partners, of_row))
    return arrays


def _at_rows(column: LakeColumn, table: PartnerTable, partners: Partners, of_row: Array) -> pa.Array:
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


def used_links(links: Sequence[Link], columns: Sequence[LakeColumn]) -> tuple[list[Link], list[LakeColumn]]:
    """The links that some columns use, and these columns with the indexes of these links."""
    from dataclasses import replace

    indexes = list(dict.fromkeys(column.link for column in columns))
    renumbered = [replace(column, link=indexes.index(column.link)) for column in columns]
    return [links[index] for index in indexes], renumbered
