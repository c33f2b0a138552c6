"""A column of mine, ready to be searched for: its distinct values and in how many rows each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from lakejoin.model import ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import ColumnData, ValueRules
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot

Array = np.ndarray[Any, Any]

SMALL = 1_000  # values


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One column to search for.

    `tokens` are its distinct canonical values, `counts[i]` the number of my rows that hold
    `tokens[i]`, `rows` all my rows (nulls too). `shown[i]` is how I wrote `tokens[i]` first.
    `home` is (segment number, column number) where the column is one of the lake. `known` is for
    `locate`.
    """

    table: str
    column: str
    tokens: pa.LargeStringArray
    counts: Array
    rows: int
    shown: pa.LargeStringArray
    home: tuple[int, int] | None = None
    type: ColumnType = ColumnType.TEXT
    known: WeakKeyDictionary[Segment, Array] = field(
        init=False, repr=False, default_factory=WeakKeyDictionary
    )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column, as a composite key has several."""
        return (self.column,)

    def written(self, places: Array) -> list[pa.LargeStringArray]:
        """The values at some places as I wrote them, by column."""
        return [self.shown.take(places)]


def locate(query: Query, number: int, segment: Segment) -> Array:
    """The code of each of the query's tokens in a segment, `NOT_FOUND` where it has none.

    What was found for a small query is kept: a look-up costs something however few values it is
    for, and a search needs the codes again for the evidence.
    """
    if len(query) > SMALL:
        return _located(query, number, segment)
    codes = query.known.get(segment)
    if codes is None:
        codes = query.known[segment] = _located(query, number, segment)
    return codes


def _located(query: Query, number: int, segment: Segment) -> Array:
    if query.home is not None and query.home[0] == number and segment.indexed[query.home[1]]:
        return np.asarray(segment.postings.codes_of(query.home[1]))
    return segment.dictionary.find(query.tokens)


def query_of_array(
    table: str, column: str, array: pa.Array | pa.ChunkedArray, rules: ValueRules
) -> Query:
    """The query that an Arrow column makes; `rules` are those of the index.

    >>> import pyarrow as pa
    >>> from lakejoin.model import ValueRules
    >>> query = query_of_array("t", "c", pa.array(["Bern", None, "bern ", "Oslo"]), ValueRules())
    >>> query.tokens.to_pylist(), query.shown.to_pylist(), query.counts.tolist(), query.rows
    (['bern', 'oslo'], ['Bern', 'Oslo'], [2, 1], 4)
    """
    from lakejoin.lake.columns import encode_query

    return query_of_data(table, column, encode_query(array, rules))


def query_of_data(table: str, column: str, data: ColumnData) -> Query:
    """The query that an encoded column makes."""
    ids = len(data.tokens) + len(data.spellings)
    rows = len(data.cells)
    by_id = np.bincount(np.minimum(data.cells, ids), minlength=ids + 1)[:ids]
    counts = by_id[: len(data.tokens)].astype(np.int64)
    np.add.at(counts, data.spelling_token, by_id[len(data.tokens) :])
    shown = _first_written(data)
    return Query(table, column, data.tokens, counts, rows, shown, None, data.profile.type)


def _first_written(data: ColumnData) -> pa.LargeStringArray:
    """Each token as its first row has it."""
    import pyarrow as pa

    tokens, spellings = len(data.tokens), len(data.spellings)
    if not spellings:
        return data.tokens
    rows = len(data.cells)
    first = np.full(tokens + spellings + 1, rows, dtype=np.int64)
    first[np.minimum(data.cells, tokens + spellings)[::-1]] = np.arange(rows)[::-1]
    # The spellings stand in the order of their rows, so that the first of each token is found.
    spelled, place = np.unique(data.spelling_token, return_index=True)
    chosen = np.arange(tokens)
    earlier = first[tokens + place] < first[spelled]
    chosen[spelled[earlier]] = tokens + place[earlier]
    return pa.chunked_array([data.tokens, data.spellings]).take(chosen).combine_chunks()


def query_of_lake_column(snapshot: Snapshot, number: int, column: int, table: str) -> Query:
    """The query that a column of the lake makes: segment `number`, column `column` in it."""
    segment = snapshot.segments[number]
    rows = int(segment.column_rows[column])
    if segment.indexed[column]:
        codes = np.asarray(segment.postings.codes_of(column))
        counts = np.asarray(segment.postings.repeats_of(column), dtype=np.int64)
    else:
        codes, counts = segment.rows.set_with_counts(column, rows)
    tokens = segment.dictionary.texts.take(codes)
    profile = segment.catalog.columns.slice(column, 1)
    return Query(
        table,
        profile["name"][0].as_py(),
        tokens,
        counts,
        rows,
        _first_in_rows(segment, column, rows, tokens),
        (number, column),
        ColumnType(profile["type"][0].as_py()),
    )


def _first_in_rows(
    segment: Segment, column: int, rows: int, tokens: pa.LargeStringArray
) -> pa.LargeStringArray:
    """As `_first_written`, from the rows of the index."""
    from lakejoin.store.rows import NULL

    cells, known = segment.rows.local(column, rows)
    if not ((known >= segment.rows.tokens) & (known != NULL)).any():
        return tokens
    if cells is None:  # one value id a row
        first = np.flatnonzero(known != NULL)
        ids = known[first]
    else:
        first = np.full(len(known) + 1, rows, dtype=np.int64)
        first[np.minimum(cells, len(known))[::-1]] = np.arange(rows)[::-1]
        used = np.flatnonzero(first[:-1] < rows)
        first, ids = first[used], known[used]
    codes = segment.rows.codes_of(ids)
    order = np.lexsort((first, codes))
    begins = np.flatnonzero(np.diff(codes[order], prepend=NULL))
    return segment.rows.texts(ids[order[begins]], segment.dictionary.texts)
