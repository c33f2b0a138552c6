"""The words of rows of the query table and of lake tables, as sets of hashes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from lakejoin.model import Array, string_buffers
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.engines.query import Query, QueryTable
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.segment import Segment

_COLUMNS = 40  # columns whose words are compared
_POINTS = 0x40000  # code points to look at: no letters are beyond
_SMALL = 40_000  # cells of a table that is read as a whole


@dataclass(frozen=True, slots=True, eq=False)
class WordSets:
    """The distinct words of rows: row r has the hashes `words[starts[r]:starts[r + 1]]`,
    ascending. A word has at least two letters, digits or underscores."""

    starts: Array
    words: Array

    def __len__(self) -> int:
        return len(self.starts) - 1

    def slice(self, begin: int, end: int) -> WordSets:
        """The rows [begin, end)."""
        return WordSets(self.starts[begin : end + 1], self.words)

    def take(self, rows: Array) -> WordSets:
        """Some rows, in this order."""
        sizes = (self.starts[1:] - self.starts[:-1])[rows]
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(sizes, out=starts[1:])
        jump = np.repeat(self.starts[:-1][rows] - starts[:-1], sizes)
        return WordSets(starts, self.words[jump + np.arange(starts[-1])])


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutWords:
    """Words that do not count, by row, such as those of the joined values: hashes as in `WordSets`,
    `bare` if leading zeros are ignored."""

    starts: Array
    hashes: Array
    bare: bool


def leave_out(texts: Sequence[pa.LargeStringArray], bare: bool = False) -> LeftOutWords:
    """Leave out some texts and their words; each array has a text for every row."""
    import pyarrow as pa

    from lakejoin.kernels.word_sets import hash_texts_and_words

    rows = len(texts[0])
    joined = pa.concat_arrays(texts)
    if len(texts) > 1:  # row by row
        joined = joined.take(np.arange(len(joined)).reshape(len(texts), rows).T.ravel())
    starts, hashes = hash_texts_and_words(*string_buffers(joined), word_characters(), bare)
    return LeftOutWords(np.ascontiguousarray(starts[:: len(texts)]), hashes, bare)


@cache
def word_characters() -> Array:
    """For each code point, whether it is part of a word."""
    points = np.zeros(_POINTS, np.uint8)
    text = np.arange(_POINTS, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for run in re.finditer(r"\w+", text):
        points[run.start() : run.end()] = 1
    return points


_NOTHING = LeftOutWords(np.zeros(1, np.int64), np.zeros(0, np.uint64), False)


def _collect(data: Array, spans: Array, rows: int, left_out: LeftOutWords | None) -> WordSets:
    from lakejoin.kernels.word_sets import collect_words

    known = left_out or _NOTHING
    return WordSets(
        *collect_words(
            data, spans, rows, word_characters(), (known.starts, known.hashes), known.bare
        )
    )


def read_lake_words(
    segment: Segment,
    entry: TableEntry,
    joined: Sequence[int],
    rows: Array,
    left_out: LeftOutWords | None = None,
) -> WordSets:
    """The words of some rows of a lake table, without the joined columns. Words are left out of the
    first rows only, if there are more rows."""
    columns = range(entry.first, entry.first + entry.width)
    others = np.array([column for column in columns if column not in joined][:_COLUMNS], np.int64)
    codes = segment.rows.codes_at(others, rows, entry.rows).ravel()
    known = np.flatnonzero(codes != NULL)
    texts = segment.dictionary.texts
    spans = np.zeros((len(codes), 2), np.int64)
    spans[known] = texts.spans(codes[known])
    return _collect(texts.bytes_at(spans), spans, len(rows), left_out)


class RowWords:
    """The words of query rows, without the joined columns."""

    def __init__(self, query_table: QueryTable, joined: Sequence[int]) -> None:
        self._query_table = query_table
        self._others = [i for i in range(len(query_table.column_names)) if i not in joined][
            :_COLUMNS
        ]

    def at(self, rows: Array, left_out: LeftOutWords | None = None) -> WordSets:
        """The words of some rows."""
        table = self._query_table
        whole = _known.get(table)
        if whole is None and table.rows() * len(table.column_names) <= _SMALL:
            every = range(len(table.column_names))
            whole = _known[table] = _read_spans(table, every, np.arange(table.rows()))
        if whole is None:
            data, spans = _read_spans(table, self._others, rows)
        else:
            data, spans = whole[0], whole[1][np.array(self._others, np.int64)[:, None], rows]
        return _collect(data, np.ascontiguousarray(spans).reshape(-1, 2), len(rows), left_out)


def _read_spans(
    query_table: QueryTable, column_indexes: Sequence[int], rows: Array
) -> tuple[Array, Array]:
    """The values of some rows: their bytes, and where each begins and ends, a line for each column;
    a null has no bytes."""
    texts, cells = query_table.texts_at(column_indexes, rows)
    offsets, data = string_buffers(texts)
    ends = np.stack([offsets[:-1], offsets[1:]], axis=1)
    return data, np.append(ends, [[0, 0]], axis=0)[cells]


# The values of small query tables: their rows are compared with many candidates.
_known: WeakKeyDictionary[QueryTable, tuple[Array, Array]] = WeakKeyDictionary()


class QueryWords:
    """The words of query rows, by the values of the joined column."""

    def __init__(self, query_table: QueryTable, column_index: int, query: Query) -> None:
        self._words = RowWords(query_table, (column_index,))
        self._row = query_table.first_rows(column_index, query)

    def of(self, positions: Array, left_out: LeftOutWords) -> WordSets:
        """The words of the first row of some query values, given by position."""
        return self._words.at(self._row[positions], left_out)
