"""Find tables by a text in their name, column names or values, for the page's search box."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from lakejoin.server.table_output import cut_text

if TYPE_CHECKING:
    from lakejoin.lake import Lake
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot

_MAX_VALUES = 50  # matching values per segment whose tables are looked up


@dataclass(frozen=True, slots=True)
class TableHit:
    """A table, and where it contains the text."""

    segment: Segment
    table_index: int
    where: str
    column: str | None
    match: str

    def to_dict(self) -> dict[str, Any]:
        row = self.segment.catalog.tables.slice(self.table_index, 1).to_pylist()[0]
        table = {"table": row["name"], "rows": row["rows"], "columns": row["width"]}
        match = {"where": self.where, "column": self.column, "match": self.match}
        return {"id": f"lake:{row['name']}", **table, **match}


def find_by_text(lake: Lake, text: str, limit: int, seconds: float = 0.5) -> dict[str, Any]:
    """At most `limit` tables: first those whose name contains the text, then by column names, then
    by values. `complete` is false if time ran out before all values were searched.

    Time grows with the bytes of names and then of values, up to `seconds`.
    """
    hits: dict[tuple[str, int], TableHit] = {}
    complete = True
    for hit in (
        _hits(lake.snapshot, text.strip(), time.monotonic() + seconds) if text.strip() else ()
    ):
        if hit is None:
            complete = False
            break
        hits.setdefault((hit.segment.record.id, hit.table_index), hit)
        if len(hits) >= limit:
            break
    return {"tables": [hit.to_dict() for hit in hits.values()], "complete": complete}


def _hits(snapshot: Snapshot, text: str, deadline: float) -> Iterator[TableHit | None]:
    """Tables with the text, by name, by column and by value; None once the time is up."""
    for find_hits in (_by_name, _by_column):
        for segment in snapshot.segments:
            yield from find_hits(segment, text)
    folded = text.lower() if snapshot.manifest.options.rules.fold else text  # like indexed values
    for segment in snapshot.segments:
        yield from _by_value(segment, folded, deadline)


def _by_name(segment: Segment, text: str) -> Iterator[TableHit]:
    """Tables whose file name contains the text first, then other names, short ones first."""
    names = segment.catalog.tables["name"]
    dead = set(segment.record.dead)
    matching = np.flatnonzero(pc.match_substring(names, text, ignore_case=True)).tolist()
    tables = [(names[table].as_py(), table) for table in matching if table not in dead]
    low = text.lower()
    tables.sort(key=lambda t: (low not in t[0].lower().rpartition("/")[2], len(t[0]), t[0]))
    for name, table in tables:
        yield TableHit(segment, table, "name", None, name)


def _by_column(segment: Segment, text: str) -> Iterator[TableHit]:
    names = segment.catalog.columns["name"]
    columns = np.flatnonzero(pc.match_substring(names, text, ignore_case=True))
    for column in columns.tolist():
        table = _table_index(segment, column)
        if table not in segment.record.dead:
            name = names[column].as_py()
            yield TableHit(segment, table, "column", name, name)


def _by_value(segment: Segment, text: str, deadline: float) -> Iterator[TableHit | None]:
    """Tables with a value that contains the text; None once the time is up."""
    texts = segment.dictionary.texts
    codes = texts.find_containing(text.encode(), deadline - time.monotonic())
    for code in islice(codes, _MAX_VALUES):
        if code is None:
            yield None
            return
        for column in _columns_of(segment, code):
            table = _table_index(segment, column)
            if table not in segment.record.dead:
                value = texts.take(np.array([code]))[0].as_py()
                name = segment.catalog.columns["name"][column].as_py()
                yield TableHit(segment, table, "value", name, cut_text(value))


def _columns_of(segment: Segment, code: int) -> list[int]:
    """The columns that contain a value; empty if only unindexed columns do."""
    group = int(np.searchsorted(segment.postings.group_start(), code, side="right")) - 1
    if not 0 <= group < segment.postings.groups:
        return []
    columns: list[int] = segment.postings.columns_of(group).tolist()
    return columns


def _table_index(segment: Segment, column: int) -> int:
    """The index of the table that a column belongs to."""
    first = segment.catalog.tables["first"].to_numpy()
    return int(np.searchsorted(first, column, side="right")) - 1
