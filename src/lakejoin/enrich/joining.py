"""The chosen columns of the lake for any rows: the same number of rows, in the same order."""

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
    """A value for each row of mine in each of these columns; null where a row has no partner."""
    lines: dict[tuple[str, ...], KeyLines] = {}
    found: dict[int, tuple[TheirTable, Partners]] = {}
    made = []
    for column in columns:
        link = links[column.link]
        if link.mine not in lines:
            lines[link.mine] = lines_of(mine, link.mine)
        if column.link not in found:
            table = TheirTable(snapshot, link.table)
            found[column.link] = table, link.partners(lines[link.mine], table)
        table, partners = found[column.link]
        of_row = np.append(partners.of_line, -1)[lines[link.mine].of_row]
        made.append(_at_rows(column, table, partners, of_row))
    return made


def _at_rows(column: Column, table: TheirTable, partners: Partners, of_row: Array) -> pa.Array:
    import pyarrow as pa

    rows = pa.array(np.maximum(of_row, 0), mask=of_row < 0)
    values: pa.Array
    if column.made == "rows":
        counts = np.bincount(partners.which, minlength=partners.count)
        values = pa.array(counts.astype(np.float64))
    elif column.made == "mean":
        place = table.place_of(column.place, column.name)
        numbers = table.numbers(place, partners)
        # None of these few values may be a number, though the column holds numbers.
        empty = np.full(partners.count, np.nan)
        values = pa.array(empty if numbers is None else numbers, from_pandas=True)
        values = values.cast(pa.float64())
    else:
        place = table.place_of(column.place, column.name)
        values = table.most_frequent(place, partners)
    return values.take(rows)


def used(links: Sequence[Link], columns: Sequence[Column]) -> tuple[list[Link], list[Column]]:
    """The links that some columns come by, and these columns with the numbers of these links."""
    from dataclasses import replace

    numbers = list(dict.fromkeys(column.link for column in columns))
    kept = [replace(column, link=numbers.index(column.link)) for column in columns]
    return [links[number] for number in numbers], kept
