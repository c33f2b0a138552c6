"""Which tables does a person mean who types a few letters? By their names, columns and values."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from lakejoin.opened import Lake
    from lakejoin.store.segment import Segment

_VALUES = 50  # values that are followed to their tables, of a segment
_SHOWN = 80

Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Hit:
    """A table, and what of it holds the text."""

    segment: Segment
    number: int
    where: str
    column: str | None
    match: str

    def to_dict(self) -> Told:
        """As JSON has it."""
        row = self.segment.catalog.tables.slice(self.number, 1).to_pylist()[0]
        told = {"table": row["name"], "rows": row["rows"], "columns": row["width"]}
        found = {"where": self.where, "column": self.column, "match": self.match}
        return {"id": f"lake:{row['name']}", **told, **found}


def find(lake: Lake, text: str, limit: int, seconds: float = 0.5) -> Told:
    """At most so many tables, those whose names hold the text first, then by columns, then by
    values; `complete` is false if there was no time to look at all values.

    Time grows with the bytes of names, and then of values, until the time is up.
    """
    text = text.strip()
    hits: dict[tuple[int, int], Hit] = {}
    until = time.monotonic() + seconds
    complete = True
    if not text:
        return {"tables": [], "complete": True}
    segments = lake.snapshot.segments
    folded = text.lower() if lake.snapshot.manifest.options.rules.fold else text  # as values are
    for look in (_by_name, _by_column):
        for place, segment in enumerate(segments):
            for hit in look(segment, text):
                hits.setdefault((place, hit.number), hit)
            if len(hits) >= limit:
                break
    for place, segment in enumerate(segments):
        if len(hits) >= limit:
            break
        for found in _by_value(segment, folded, until):
            if found is None:
                complete = False
                break
            hits.setdefault((place, found.number), found)
            if len(hits) >= limit:
                break
    shown = list(hits.values())[:limit]
    return {"tables": [hit.to_dict() for hit in shown], "complete": complete}


def _by_name(segment: Segment, text: str) -> Iterator[Hit]:
    """Those where the text is in the last part of the name first, then short names."""
    import pyarrow.compute as pc

    names = segment.catalog.tables["name"]
    dead = set(segment.record.dead)
    places = np.flatnonzero(pc.match_substring(names, text, ignore_case=True))
    found = [(int(place), names[int(place)].as_py()) for place in places if int(place) not in dead]
    low = text.lower()
    found.sort(key=lambda one: (low not in one[1].lower().rpartition("/")[2], len(one[1]), one[1]))
    for place, name in found:
        yield Hit(segment, place, "name", None, name)


def _by_column(segment: Segment, text: str) -> Iterator[Hit]:
    import pyarrow.compute as pc

    names = segment.catalog.columns["name"]
    places = np.flatnonzero(pc.match_substring(names, text, ignore_case=True))
    for place in places.tolist():
        number = table_of_column(segment, place)
        if number not in segment.record.dead:
            name = names[place].as_py()
            yield Hit(segment, number, "column", name, name)


def _by_value(segment: Segment, text: str, until: float) -> Iterator[Hit | None]:
    """Tables that hold a value in which the text is; None once the time is up."""
    texts = segment.dictionary.texts
    found = texts.holding(text.encode(), until - time.monotonic())
    for code in islice(found, _VALUES):
        if code is None:
            yield None
            return
        for column in _columns_of(segment, code):
            number = table_of_column(segment, column)
            if number not in segment.record.dead:
                value = texts.take(np.array([code]))[0].as_py()
                name = segment.catalog.columns["name"][column].as_py()
                yield Hit(segment, number, "value", name, _short(value))


def _columns_of(segment: Segment, code: int) -> list[int]:
    """The columns that hold a value; none where it is only in columns that are not searched."""
    group = int(np.searchsorted(segment.postings.group_start(), code, side="right")) - 1
    if not 0 <= group < segment.postings.groups:
        return []
    found: list[int] = segment.postings.columns_of(group).tolist()
    return found


def table_of_column(segment: Segment, column: int) -> int:
    """The number of the table whose column it is."""
    first = segment.catalog.tables["first"].to_numpy()
    return int(np.searchsorted(first, column, side="right")) - 1


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
