"""Columns of an index with their values rewritten: who asks with them ought to find the originals.

They are asked alone (`cases`), or in a table of which the other columns stay as they are and make
noise (`table_cases`). Every kind of rewriting is a function of one value, which gives None for
values that it does not suit; a column is taken for a kind that suits at least half of its values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa

from lakejoin.store.catalog import TableEntry
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.segment import Segment
from lakejoin.store.segment_tables import SegmentTables
from lakejoin.store.snapshot import Snapshot

Rewriting = Callable[[str], str | None]

VALUES = 400  # of a column, at most
FEWEST = 25
SAME = 0.9  # of the values that are asked for: a column that holds so many is the original too
_TYPES = ("text", "mixed", "integer", "date")


def _words(value: str, least: int, most: int) -> list[str]:
    words = value.replace(",", "").split()
    return words if least <= len(words) <= most else []


def _name(value: str, least: int, most: int) -> list[str]:
    words = _words(value, least, most)
    return words if all(word.isalpha() for word in words) else []


def _dated(value: str, form: str) -> str | None:
    try:
        return date.fromisoformat(value[:10]).strftime(form)
    except ValueError:
        return None


def _surname_first(value: str) -> str | None:
    words = _words(value, 2, 3)
    return f"{' '.join(words[1:])}, {words[0]}" if words else None


def _mail(value: str) -> str | None:
    words = _name(value, 2, 3)
    return f"{'.'.join(words)}@example.org" if words else None


def _login(value: str) -> str | None:
    words = _name(value, 2, 2)
    return words[0][0] + words[1] if words else None


KINDS: dict[str, Rewriting] = {
    "a prefix": lambda v: f"REF/2024/{v}",
    "zeros in front": lambda v: v.zfill(9) if v.isdigit() else None,
    "thousands": lambda v: f"{int(v):,}" if v.isdigit() and 3 < len(v) < 19 else None,
    "in a URL": lambda v: f"https://data.example.org/item/{v.replace(' ', '-')}.html",
    "in brackets": lambda v: f"{('north', 'south', 'east')[len(v) % 3]} ({v})",
    "without blanks": lambda v: "".join(v.split()) if _words(v, 2, 99) else None,
    "last, first": _surname_first,
    "e-mail": _mail,
    "login (jsmith)": _login,
    "first 12 letters": lambda v: v[:12] if len(v) > 15 else None,
    "on 31.01.2014": lambda v: _dated(v, "report of %d.%m.%Y"),
    "x_20140131.csv": lambda v: _dated(v, "file_%Y%m%d.csv"),
    "31 January 2014": lambda v: _dated(v, "week of %d %B %Y"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Values of a column, how they were rewritten, and the columns that hold them as they were."""

    kind: str
    rewritten: pa.LargeStringArray
    originals: frozenset[tuple[int, int]]


def cases(segments: Sequence[Segment], each: int, seed: int = 0) -> Iterator[Case]:
    """So many cases of each kind, as far as columns suit, in an order that the seed decides."""
    chance = random.Random(seed)
    left = dict.fromkeys(KINDS, each)
    for number, column in _columns(segments, chance):
        wanted = [kind for kind, more in left.items() if more]
        if not wanted:
            return
        texts = _some_values(segments[number], column)
        for kind in wanted:
            pairs = [(v, w) for v in texts if (w := KINDS[kind](v)) and w != v]
            if len(pairs) < max(FEWEST, len(texts) / 2):
                continue
            left[kind] -= 1
            values = pa.array([v for v, _ in pairs], pa.large_string())
            rewritten = pa.array(sorted({w.lower() for _, w in pairs}), pa.large_string())
            yield Case(kind, rewritten, holding(segments, values))


@dataclass(frozen=True, slots=True, eq=False)
class TableCase:
    """A table of the index with one column rewritten; the (segment, table) that held its values."""

    name: str
    kind: str
    place: int
    table: pa.Table
    home: tuple[int, int]
    tables: frozenset[tuple[int, int]]


def table_cases(snapshot: Snapshot, most: int, seed: int = 0) -> Iterator[TableCase]:
    """Tables of at least four columns, of which one that other tables hold too is rewritten."""
    chance = random.Random(seed)
    segments = snapshot.segments
    places = [SegmentTables(segment) for segment in segments]
    number_of = {id(segment): number for number, segment in enumerate(segments)}
    every = [(number_of[id(segment)], entry) for segment, entry in snapshot.tables()]
    chance.shuffle(every)
    for number, entry in every:
        if most <= 0:
            return
        if entry.width < 4 or not FEWEST <= entry.rows <= 10 * VALUES:
            continue
        for column in chance.sample(range(entry.width), entry.width):
            values = _searched_texts(segments[number], entry.first + column)
            home = number, entry.table_id
            found = {(n, places[n].table_of(c)) for n, c in holding(segments, values)} - {home}
            kind = _suiting(values.to_pylist(), chance) if found else None
            if kind is not None:
                table = _rewritten(segments[number], entry, column, KINDS[kind])
                yield TableCase(entry.name, kind, column, table, home, frozenset(found))
                most -= 1
                break


def _searched_texts(segment: Segment, column: int) -> pa.LargeStringArray:
    """The values of a column of text or dates; none of another."""
    kind = segment.catalog.columns["type"][column].as_py()
    codes = segment.postings.codes_of(column) if kind in ("text", "date") else []
    return segment.dictionary.texts.take(np.asarray(codes if len(codes) >= FEWEST else [], int))


def _suiting(texts: Sequence[str], chance: random.Random) -> str | None:
    """A kind of rewriting that suits most texts."""
    for kind in chance.sample(list(KINDS), len(KINDS)):
        suits = sum((w := KINDS[kind](v)) is not None and w != v for v in texts)
        if suits >= 0.8 * len(texts):
            return kind
    return None


def _rewritten(segment: Segment, entry: TableEntry, place: int, rewrite: Rewriting) -> pa.Table:
    table = segment.to_arrow(entry)
    tokens, codes = segment.dictionary.texts, segment.rows.codes(entry.first + place, entry.rows)
    known = codes != NOT_FOUND
    distinct, number = np.unique(codes[known], return_inverse=True)
    texts = pa.array([rewrite(v) or v for v in tokens.take(distinct).to_pylist()])
    cells = np.full(len(codes), -1)
    cells[known] = number
    column = texts.take(pa.array(cells, mask=~known))
    return table.set_column(place, table.column_names[place], column)


def _columns(segments: Sequence[Segment], chance: random.Random) -> list[tuple[int, int]]:
    found = []
    for number, segment in enumerate(segments):
        types = segment.catalog.columns["type"].to_pylist()
        for column in np.flatnonzero(segment.postings.set_sizes() >= FEWEST).tolist():
            if types[column] in _TYPES:
                found.append((number, column))
    chance.shuffle(found)
    return found


def _some_values(segment: Segment, column: int) -> list[str]:
    codes = segment.postings.codes_of(column)
    some = np.random.default_rng(column).choice(codes, min(len(codes), VALUES), replace=False)
    return list(segment.dictionary.texts.take(np.sort(some)).to_pylist())


def holding(segments: Sequence[Segment], values: pa.LargeStringArray) -> frozenset[tuple[int, int]]:
    """The columns that hold nearly all of some values."""
    found = []
    for number, segment in enumerate(segments):
        codes = segment.dictionary.find(values)
        begin, length = segment.postings.spans(codes[codes != NOT_FOUND])
        lists = segment.postings.entries(begin, length)
        stands = [lists[b : b + n] for b, n in zip(begin.tolist(), length.tolist(), strict=True)]
        if stands:
            held = np.bincount(np.concatenate(stands), minlength=segment.column_count)
            columns = segment.postings.columns_at(np.flatnonzero(held >= SAME * len(values)))
            found += [(number, int(column)) for column in columns]
    return frozenset(found)
