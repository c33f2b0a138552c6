"""A query column with its values, the protocol of a query table, and where SQL reads its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from lakejoin.model import Array, ColumnProfile, ColumnType, Dialect
from lakejoin.quoting import lakejoin_command

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.model import ColumnData
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.dictionary import HashedTexts
    from lakejoin.store.segment import Segment
    from lakejoin.store.snapshot import Snapshot


CACHED_VALUES = 1_000  # values


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """One column to search for.

    `tokens` are the distinct canonical values, `counts[i]` the number of rows that hold
    `tokens[i]`, `rows` the number of all rows (nulls too). `shown[i]` is the first spelling of
    `tokens[i]`. `home` is (segment index, column index) if the column is in the index. `code_cache`
    and `hash_cache`, by seed, are caches of `locate_codes`.
    """

    table: str
    column: str
    tokens: pa.LargeStringArray
    counts: Array
    rows: int
    spellings: pa.LargeStringArray
    home: tuple[int, int] | None = None
    type: ColumnType = ColumnType.TEXT
    code_cache: WeakKeyDictionary[Segment, Array] = field(
        init=False, repr=False, default_factory=WeakKeyDictionary
    )
    hash_cache: dict[int, HashedTexts] = field(init=False, repr=False, default_factory=dict)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, in a tuple as for composite keys."""
        return (self.column,)

    def texts_of(self, positions: Array) -> list[pa.LargeStringArray]:
        """The values at some positions as the query table spells them, by column."""
        return [self.spellings.take(positions)]


def locate_codes(query: Query, segment_index: int, segment: Segment) -> Array:
    """The code of each query token in a segment, `NOT_FOUND` if the segment lacks it.

    Cached for small queries: a lookup has a fixed cost, and the evidence needs the codes again.
    """
    if len(query) > CACHED_VALUES:
        return _look_up(query, segment_index, segment)
    codes = query.code_cache.get(segment)
    if codes is None:
        codes = query.code_cache[segment] = _look_up(query, segment_index, segment)
    return codes


def _look_up(query: Query, segment_index: int, segment: Segment) -> Array:
    if query.home is not None and query.home[0] == segment_index and segment.indexed[query.home[1]]:
        return np.asarray(segment.postings.codes_of(query.home[1]))
    dictionary = segment.dictionary
    hashed = query.hash_cache.get(dictionary.seed)
    if hashed is None:  # dictionaries nearly always have the same seed
        hashed = query.hash_cache[dictionary.seed] = dictionary.hash(query.tokens)
    return dictionary.find(query.tokens, hashed)


def make_query(table: str, column: str, data: ColumnData) -> Query:
    """Make a query from an encoded column.

    >>> import pyarrow as pa
    >>> from lakejoin.values.column_encoder import encode_query
    >>> query = make_query("t", "c", encode_query(pa.array(["Bern", None, "bern ", "Oslo"])))
    >>> query.tokens.to_pylist(), query.spellings.to_pylist(), query.counts.tolist(), query.rows
    (['bern', 'oslo'], ['Bern', 'Oslo'], [2, 1], 4)
    """
    ids = len(data.tokens) + len(data.spellings)
    rows = len(data.cells)
    by_id = np.bincount(np.minimum(data.cells, ids), minlength=ids + 1)[:ids]
    counts = by_id[: len(data.tokens)].astype(np.int64)
    np.add.at(counts, data.spelling_token, by_id[len(data.tokens) :])
    shown = _first_written(data)
    return Query(table, column, data.tokens, counts, rows, shown, None, data.profile.type)


def _first_written(data: ColumnData) -> pa.LargeStringArray:
    """The first spelling of each token."""
    import pyarrow as pa

    tokens, spellings = len(data.tokens), len(data.spellings)
    if not spellings:
        return data.tokens
    rows = len(data.cells)
    first = np.full(tokens + spellings + 1, rows, dtype=np.int64)
    first[np.minimum(data.cells, tokens + spellings)[::-1]] = np.arange(rows)[::-1]
    # Spellings are in row order, so the first one of each token is its earliest.
    spelled, first_spelling = np.unique(data.spelling_token, return_index=True)
    chosen = np.arange(tokens)
    earlier = first[tokens + first_spelling] < first[spelled]
    chosen[spelled[earlier]] = tokens + first_spelling[earlier]
    return pa.chunked_array([data.tokens, data.spellings]).take(chosen).combine_chunks()


def make_lake_query(snapshot: Snapshot, segment_index: int, column: int, table: str) -> Query:
    segment = snapshot.segments[segment_index]
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
        (segment_index, column),
        ColumnType(profile["type"][0].as_py()),
    )


def _first_in_rows(
    segment: Segment, column: int, rows: int, tokens: pa.LargeStringArray
) -> pa.LargeStringArray:
    """The first spelling of each token, from the rows of the index."""
    from lakejoin.store.rows import NULL

    cells, ids_of_column = segment.rows.local(column, rows)
    if not ((ids_of_column >= segment.rows.tokens) & (ids_of_column != NULL)).any():
        return tokens
    if cells is None:  # one value id per row
        first = np.flatnonzero(ids_of_column != NULL)
        ids = ids_of_column[first]
    else:
        first = np.full(len(ids_of_column) + 1, rows, dtype=np.int64)
        first[np.minimum(cells, len(ids_of_column))[::-1]] = np.arange(rows)[::-1]
        used = np.flatnonzero(first[:-1] < rows)
        first, ids = first[used], ids_of_column[used]
    codes = segment.rows.codes_of(ids)
    order = np.lexsort((first, codes))
    begins = np.flatnonzero(np.diff(codes[order], prepend=NULL))
    return segment.rows.texts(ids[order[begins]], segment.dictionary.texts)


NO_CELL = np.uint32(0xFFFFFFFF)
ABSENT = -2  # equals no code of a segment; unlike a null, it differs from them


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSpellings:
    """The distinct texts of a column as spelled in the table, with their canonical values and row
    counts. `cells` has the text id of each row (`NO_CELL` for a null)."""

    texts: pa.LargeStringArray
    find_tokens: Callable[[], pa.LargeStringArray]
    rows: Array
    cells: Array

    @property
    def tokens(self) -> pa.LargeStringArray:
        """The canonical value of each text."""
        return self.find_tokens()


class QueryTable(Protocol):
    """A table whose columns can be searched for.

    `name` is shown in the answer, `column_names` may repeat, and `home` is (segment index, table
    index) if the table is in the index.
    """

    name: str
    column_names: Sequence[str]
    home: tuple[int, int] | None = None

    @property
    def origin(self) -> TableOrigin:
        """Where SQL can read the rows."""

    def rows(self) -> int:
        """The number of rows."""

    def notes(self) -> tuple[str, ...]:
        """Notes about how the table was read."""
        return ()

    def profiles(self) -> Sequence[ColumnProfile]:
        """The profiles of all columns."""

    def profile(self, column_index: int) -> ColumnProfile:
        """The profile of one column."""
        return self.profiles()[column_index]

    def read(self, column_indexes: Sequence[int]) -> None:
        """Encode some columns together, so that a file is read only once."""
        del column_indexes  # a table of the index is encoded already

    def query(self, column_index: int) -> Query:
        """One column as a query."""

    def cells(self, column_index: int) -> tuple[pa.LargeStringArray, Array]:
        """The tokens of a column, and the token id of each row (`NO_CELL` for a null)."""

    def texts_at(
        self, column_indexes: Sequence[int], rows: Array
    ) -> tuple[pa.LargeStringArray, Array]:
        """The values of some rows: texts, and which of them each cell has, a line for each column;
        -1 for a null."""
        import pyarrow as pa

        self.read(column_indexes)  # together, so that a file is read once
        texts, lines = [pa.array([], pa.large_string())], []
        start = 0
        for column_index in column_indexes:
            tokens, cells = self.cells(column_index)
            known = cells[rows] != NO_CELL
            distinct, which = np.unique(cells[rows][known], return_inverse=True)
            line = np.full(len(rows), -1)
            line[known] = start + which
            texts.append(tokens.take(distinct))
            lines.append(line)
            start += len(distinct)
        return pa.concat_arrays(texts), np.array(lines, np.int64).reshape(-1, len(rows))

    def codes_at(self, segment: Segment, column_indexes: Sequence[int], rows: Array) -> Array:
        """The codes of some rows in a segment, a line for each column: -1 for a null, `ABSENT` for
        any value that the segment lacks."""
        texts, cells = self.texts_at(column_indexes, rows)
        # One lookup for all columns, as a lookup has a fixed cost.
        return np.append(find_codes(segment, texts), -1)[cells]

    def first_rows(self, column_index: int, query: Query) -> Array:
        """The first row of each value of a query for a column."""
        import pyarrow.compute as pc

        tokens, cells = self.cells(column_index)
        known = np.flatnonzero(cells != NO_CELL)
        first = np.zeros(len(tokens), np.int64)
        first[cells[known][::-1]] = known[::-1]
        return np.asarray(first[pc.index_in(query.tokens, value_set=tokens).to_numpy()])

    def is_text(self, column_index: int) -> bool:
        """Whether a column is stored as text in its source."""

    def types(self) -> Sequence[pa.DataType]:
        """The column types in the source; a table of the index is all text."""

    def spellings(self, column_index: int) -> ColumnSpellings:
        """The distinct texts of a column as spelled in the table."""

    def release(self) -> None:
        """Drop encoded columns; they are encoded again on demand."""


def find_codes(segment: Segment, texts: pa.LargeStringArray) -> Array:
    """The codes of texts in a segment, `ABSENT` for those that it lacks."""
    from lakejoin.store.dictionary import NOT_FOUND

    found = segment.dictionary.find(texts)
    return np.where(found == NOT_FOUND, np.int64(ABSENT), found.astype(np.int64))


def read_spellings(segment: Segment, column: int) -> ColumnSpellings:
    """The distinct texts of a lake column as spelled in its table."""
    from lakejoin.store.rows import NULL

    total = int(segment.column_rows[column])
    local, ids = segment.rows.local(column, total)
    if local is None:
        present = ids != NULL
        distinct, indexes, rows = np.unique(ids[present], return_inverse=True, return_counts=True)
        cells = np.full(total, NO_CELL)
        cells[present] = indexes
    else:  # the column's ids are distinct: only they are sorted
        counts = np.bincount(np.minimum(local, len(ids)), minlength=len(ids) + 1)[:-1]
        order = np.argsort(ids)
        order = order[counts[order] > 0]
        distinct, rows = ids[order], counts[order]
        rank = np.full(len(ids) + 1, NO_CELL)
        rank[order] = np.arange(len(order))
        cells = rank[np.minimum(local, len(ids))]
    texts = segment.rows.texts(distinct, segment.dictionary.texts)
    return ColumnSpellings(
        texts, lambda: segment.dictionary.texts.take(segment.rows.codes_of(distinct)), rows, cells
    )


def unsearched_note(column: str, kind: ColumnType, all_columns: bool, index: str) -> list[str]:
    """A note if the `index` does not search columns of this type."""
    if is_searched(kind, all_columns):
        return []
    command = lakejoin_command("index --all-columns --full", index)
    return [
        f"{column!r} has type {kind}, which this index does not search, so only columns of other "
        f"types can match; add the rest with: {command}"
    ]


def is_searched(kind: ColumnType, all_columns: bool) -> bool:
    from lakejoin.store.segment_builder import SEARCHED_TYPES

    return kind is not ColumnType.EMPTY and (all_columns or kind in SEARCHED_TYPES)


DELIMITED = ("csv", "tsv")
_WORDS = (ColumnType.TEXT, ColumnType.MIXED)


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """A file with its format and dialect; `path` is empty for a table without a file of its own.

    `plain` if other readers see the same rows and names, as nothing was left out or renamed.
    """

    path: str = ""
    format: str = ""
    dialect: Dialect | None = None
    plain: bool = True


def find_origin(lakes: Sequence[str], entry: TableEntry) -> TableOrigin:
    """The file of a lake table; without a path if it is in a container, one of several or no longer
    there."""
    from lakejoin.sources.lake_files import find_file

    single = entry.name == entry.source and entry.composition is None
    location = find_file(lakes, entry.source) if single else None
    plain = not entry.losses and not entry.notes
    return TableOrigin("" if location is None else location.uri, entry.format, entry.dialect, plain)


def is_stored_as_text(origin: TableOrigin, kind: ColumnType) -> bool:
    """Whether a column is stored as text in its file, not as a typed number or date."""
    return origin.format in DELIMITED or kind in _WORDS
