"""Samples of rows to learn from, and the rows in them that may match.

Rows may match if they share a substring that is rare in both columns. If a substring occurs n times
in one column and m times in the other, its rows match with a probability of about 1/(n*m) (thesis,
section 4.4.1). One scan of a suffix array over both columns finds the best substring of every
source text.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakejoin.codegen.arrow_programs import Applier
from lakejoin.codegen.programs import Extract, Program, Runs
from lakejoin.errors import MissingDependency
from lakejoin.joins.learned.substrings import Examples, RewriteCache, build_examples, fold_case
from lakejoin.kernels.shared_substrings import (
    compute_common_prefixes,
    find_favoured_texts,
    find_rare_pairs,
    find_rarest_substrings,
    join_texts,
)
from lakejoin.model import Array
from lakejoin.values.text_arrays import TextTable, read_only, text_buffers

_PIECES = 4  # of a text, to pair rows by
_LISTED = 2000  # largest number of rows whose texts are cached


@dataclass(eq=False)
class TextColumn:
    array: pa.LargeStringArray

    def __len__(self) -> int:
        return len(self.array)

    @cached_property
    def distinct(self) -> DistinctTexts:
        return distinct_texts(self.array)

    def texts(self, rows: list[int]) -> list[str]:
        """The texts of some rows, empty for null."""
        if len(self) > _LISTED:
            return [text or "" for text in self.array.take(rows).to_pylist()]
        return [self._texts[row] for row in rows]

    def folded_texts(self, rows: list[int]) -> list[str]:
        """The texts of some rows in lower case, empty for null."""
        if len(self) > _LISTED:
            return [fold_case(text) for text in self.texts(rows)]
        return [self._folded[row] for row in rows]

    @cached_property
    def _texts(self) -> list[str]:
        return [text or "" for text in self.array.to_pylist()]

    @cached_property
    def _folded(self) -> list[str]:
        return [fold_case(text) for text in self._texts]

    def without(self, rows: Array) -> TextColumn:
        return TextColumn(self.array.filter(pa.array(~rows))) if rows.any() else self


@dataclass(eq=False)
class Sample:
    """Rows of a table of text columns."""

    table: pa.Table
    memory: RewriteCache = field(default_factory=RewriteCache)  # of its rewritten texts

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def columns(self) -> dict[str, TextColumn]:
        table = self.table
        return {n: TextColumn(table[n].combine_chunks()) for n in table.column_names}

    @cached_property
    def applier(self) -> Applier:
        """Applies programs to these rows, and caches their parts."""
        return Applier(self.table)

    def pairer(self, target: TextColumn) -> RowPairer:
        return RowPairer([column.distinct for column in self.columns.values()], target.distinct)

    def piece_pairer(self, column: int, target: TextColumn) -> RowPairer:
        """A pairer of the first words and numbers of one column, as if they were columns.

        >>> sample = Sample(pa.table({"day": ["1967-03-25", "1967-04-25", "1968-03-25"]}))
        >>> target = TextColumn(pa.array(["25/04/67", "25/03/68", "25/03/67"]))
        >>> pairs = sample.piece_pairer(0, target).of_several()
        >>> [(pair.source, pair.target) for pair in pairs]
        [(0, 2), (1, 0), (2, 1)]
        """
        name = self.table.column_names[column]
        parts = (Extract(name, ((Runs.WORDS, index),)) for index in range(_PIECES))
        pieces = [distinct_texts(self.applier.apply(Program((part,)))) for part in parts]
        return RowPairer(pieces, target.distinct)

    def examples(self, target: TextColumn, pairs: list[RowPair]) -> Examples:
        source_rows, target_rows = [pair.source for pair in pairs], [pair.target for pair in pairs]
        columns = {name: column.folded_texts(source_rows) for name, column in self.columns.items()}
        return build_examples(columns, target.folded_texts(target_rows), target.texts(target_rows))

    def without(self, rows: Array) -> Sample:
        if not rows.any():
            return self
        return Sample(self.table.filter(pa.array(~rows)), self.memory)


PARTICIPATION = 0.01  # the assumed share of rows that match
# Matching pairs that samples contain on average, so that at least 4 are nearly always in them.
EXPECTED_PAIRS = 20.0


def sample_sizes(source: int, target: int, participation: float) -> tuple[int, int]:
    """The number of rows needed of each table; all of them for small tables.

    >>> sample_sizes(1_000_000, 1_000_000, 0.1)
    (14143, 14143)
    >>> sample_sizes(100, 50, 0.01)
    (100, 50)
    >>> sample_sizes(1_000_000, 5_000, 0.01)
    (400000, 5000)
    """
    if not source or not target:
        return source, target
    needed = EXPECTED_PAIRS / participation * source  # the product of both sizes
    each = math.sqrt(needed)
    source_size = min(source, math.ceil(max(each, needed / target)))
    target_size = min(target, math.ceil(max(each, needed / source)))
    return source_size, target_size


def sample_rows(rows: int, size: int, seed: int) -> Array:
    """A sorted random sample of row indexes; the same for the same seed."""
    if size >= rows:
        return np.arange(rows, dtype=np.int64)
    return np.sort(np.random.default_rng(seed).choice(rows, size, replace=False))


SHORTEST = 3  # bytes of a substring: shorter ones are everywhere
SHORTEST_OF_SEVERAL = 2  # if several columns must agree
_LEAST_RARE = 16  # largest product of the occurrences in both columns
_CACHED = 1 << 24  # largest size in bytes of texts whose suffix array is cached
_THREADS = "OMP_NUM_THREADS"
LONGEST_TEXT = 2000  # characters of a text to use: longer texts are not keys


@dataclass(frozen=True, slots=True)
class RowPair:
    """Two rows that may match, with the probability from the substring that they share."""

    source: int
    target: int
    score: float
    shared: float  # the share of the target text that the substring makes up


@dataclass(eq=False)
class RowPairer:
    """Finds pairs of rows of some source columns and a target; suffixes are sorted once."""

    columns: Sequence[DistinctTexts]
    target: DistinctTexts
    _sorted: dict[int, _Suffixes] = field(default_factory=dict)

    def of_column(self, column: int, most: int) -> list[RowPair]:
        """The best pairs of rows of a source column and the target, best first; each text once.

        Case is ignored. Pairs with a probability below 1/16 are dropped.

        >>> votes = pa.array(["Barack Obama", "George W. Bush", "Bill Clinton"])
        >>> ratings = pa.array(["Clinton, Bill(1946-)", "Obama, Barack(1961-)", None])
        >>> pairs = RowPairer([distinct_texts(votes)], distinct_texts(ratings)).of_column(0, 100)
        >>> [(pair.source, pair.target, pair.score) for pair in pairs]
        [(2, 0, 1.0), (0, 1, 1.0)]
        """
        source, target = self.columns[column], self.target
        if not len(source) or not len(target):
            return []
        suffixes = self._suffixes(column)
        product, length, begin, end = suffixes.best(several=False)
        texts = np.flatnonzero((product > 0) & (product <= _LEAST_RARE))
        texts = texts[np.lexsort((texts, -length[texts], product[texts]))]
        source_texts, target_texts = find_rare_pairs(
            texts, begin, end, suffixes.owners, len(source), most
        )
        scores, shares = (
            1.0 / product[source_texts],
            length[source_texts] / target.sizes[target_texts],
        )
        source_rows, target_rows = source.rows[source_texts], target.rows[target_texts]
        order = np.lexsort((target_rows, source_rows, -shares, -scores))[:most]
        columns = (values[order].tolist() for values in (source_rows, target_rows, scores, shares))
        return [RowPair(*pair) for pair in zip(*columns, strict=True)]

    def of_several(self, most: int = 60) -> list[RowPair]:
        """Pairs of rows that only several columns together identify, from evenly spread rows.

        Each column's best substring occurs in m of N target texts, which is evidence of log(N/m)
        for each of them, less if it is only a part of the column's text. A row's match is the
        target with the most evidence, if it is the only one and has evidence of two columns.

        >>> columns = [pa.array(["07", "07", "19"]), pa.array(["30", "45", "30"])]
        >>> target = distinct_texts(pa.array(["19:30", "07:30", "07:45"]))
        >>> pairs = RowPairer([distinct_texts(column) for column in columns], target).of_several()
        >>> [(pair.source, pair.target) for pair in pairs]
        [(0, 1), (1, 2), (2, 0)]
        """
        filled = [column for column, texts in enumerate(self.columns) if len(texts)]
        if not len(self.target) or not filled:
            return []
        count = len(self.columns[0].text_of_row)
        rows = np.unique(np.linspace(0, count - 1, most).astype(np.int64))
        begins, ends, parts, owners = [], [], [], []
        before = 0
        for column in filled:
            suffixes, texts = self._suffixes(column), self.columns[column]
            _, length, begin, end = suffixes.best(several=True)
            of = texts.text_of_row[rows]
            there = of >= 0  # no text: no substring
            begins.append(np.where(there, begin[of], 0) + before)
            ends.append(np.where(there, end[of], 0) + before)
            parts.append(length[of] / texts.sizes[of])
            owners.append(suffixes.owners)
            before += len(suffixes.owners)
        best = find_favoured_texts(
            np.stack(begins, axis=1), np.stack(ends, axis=1), np.stack(parts, axis=1),
            np.concatenate(owners), np.array([len(self.columns[column]) for column in filled]),
            len(self.target),
        )  # fmt: skip
        alone = np.flatnonzero(best >= 0)
        pairs = zip(rows[alone].tolist(), self.target.rows[best[alone]].tolist(), strict=True)
        return [RowPair(source, target, 1.0, 1.0) for source, target in pairs]

    def _suffixes(self, column: int) -> _Suffixes:
        if column in self._sorted:
            return self._sorted[column]
        suffixes = _suffixes(self.columns[column], self.target)
        if len(suffixes.data) <= _CACHED:
            self._sorted[column] = suffixes
        return suffixes


@dataclass(frozen=True, slots=True, eq=False)
class DistinctTexts:
    """The distinct texts of a column in lower case."""

    offsets: Array
    data: Array
    rows: Array  # the first row of each
    text_of_row: Array  # the text of every row, -1 for none

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def sizes(self) -> Array:
        """The size of each in bytes."""
        return np.diff(self.offsets)


def distinct_texts(column: pa.Array | pa.ChunkedArray) -> DistinctTexts:
    """A column's distinct texts; empty ones are dropped and long ones truncated.

    >>> texts = distinct_texts(pa.array(["Ulm", None, "", "ULM", "Bern"]))
    >>> texts.data.tobytes(), texts.rows.tolist(), texts.text_of_row.tolist()
    (b'ulmbern', [0, 4], [0, -1, -1, 0, 1])
    """
    table = TextTable()
    codes = table.add(_lower(column)).astype(np.int32).astype(np.int64)
    texts = text_buffers(table.texts())
    offsets = texts.offsets
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty):  # at most one
        codes[codes == empty[0]] = -1
        codes -= codes > empty[0]
        offsets = np.delete(offsets, empty[0])
    rows = np.empty(len(offsets) - 1, np.int64)
    there = np.flatnonzero(codes >= 0)[::-1]
    rows[codes[there]] = there  # backwards, so that the first row is written last
    return DistinctTexts(offsets, texts.data, rows, codes)


@dataclass(frozen=True, eq=False)
class _Suffixes:
    """The sorted suffixes of two columns' texts."""

    data: Array
    sa: Array
    common: Array
    owner: Array
    owners: Array  # of the suffixes in their order
    firsts: int

    @cached_property
    def _best(self) -> tuple[Array, Array, Array, Array]:
        bounds = np.array((SHORTEST, SHORTEST_OF_SEVERAL))
        return find_rarest_substrings(
            self.data, self.sa, self.common, self.owner, self.firsts, bounds
        )

    def best(self, several: bool) -> tuple[Array, Array, Array, Array]:
        """The best substring of each source text, see `find_rarest_substrings`."""
        product, length, begin, end = self._best
        bound = int(several)
        return product[bound], length[bound], begin[bound], end[bound]


def _suffixes(source: DistinctTexts, target: DistinctTexts) -> _Suffixes:
    data, owner = join_texts(
        read_only(source.offsets), source.data, read_only(target.offsets), target.data
    )
    sa = np.asarray(_divsufsort()(data), np.int32)
    return _Suffixes(data, sa, compute_common_prefixes(data, sa), owner, owner[sa], len(source))


@cache
def _divsufsort() -> Callable[[Array], Array]:
    """The function that sorts suffixes, on one thread.

    Threads gain nothing at our sizes, and starting them takes 16 ms while a small column takes
    0.2. The library reads their number from the environment when it is loaded.
    """
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        from pydivsufsort import divsufsort
    except ImportError as error:
        raise MissingDependency(
            "learned joins need pydivsufsort: pip install 'lakejoin[join]'"
        ) from error
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before
    sort_suffixes: Callable[[Array], Array] = divsufsort
    return sort_suffixes


def _lower(column: pa.Array | pa.ChunkedArray) -> pa.LargeStringArray:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    lower = pc.utf8_lower(column.cast(pa.large_string()))
    if np.diff(text_buffers(lower).offsets).max(initial=0) <= LONGEST_TEXT:
        return lower
    return pc.utf8_slice_codeunits(lower, 0, LONGEST_TEXT)
