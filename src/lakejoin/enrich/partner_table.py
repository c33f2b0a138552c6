"""Reads single columns of a lake table from the codes of the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.enrich.key_partners import Partners
from lakejoin.errors import UnknownTable
from lakejoin.model import Array
from lakejoin.store.rows import NULL

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.catalog import ColumnEntry
    from lakejoin.store.snapshot import Snapshot

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


class PartnerTable:
    """A table of the lake by its name."""

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self.name = name
        self.rules = snapshot.manifest.options.rules
        self._segment, self._entry = snapshot.table(name)
        self.columns: list[ColumnEntry] = self._segment.catalog.columns_of(self._entry)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self._entry.rows

    def column_index(self, name: str) -> int:
        """The index of the first column with this name."""
        for index, column in enumerate(self.columns):
            if column.name == name:
                return index
        raise UnknownTable(
            f"the lake table {self.name} no longer has a column {name!r}: fit the joiner again"
        )

    def find_column_index(self, place: int, name: str) -> int:
        """The index of a column seen before; the same one if names repeat."""
        if place < len(self.columns) and self.columns[place].name == name:
            return place
        return self.column_index(name)

    def find(self, tokens: pa.LargeStringArray) -> Array:
        """The codes of canonical values."""
        return self._segment.dictionary.find(tokens)

    def codes(self, name: str) -> Array:
        """The code of each row of a column."""
        return self._segment.rows.codes(self._number(name), self.rows)

    def distinct_codes(self, name: str) -> Array:
        """The distinct codes of a column."""
        return self._segment.rows.set_with_counts(self._number(name), self.rows)[0]

    def tokens(self, codes: Array) -> pa.LargeStringArray:
        """The canonical values of codes."""
        return self._segment.dictionary.texts.take(codes)

    def texts(self, names: Sequence[str]) -> pa.Table:
        """The original texts of some columns."""
        import pyarrow as pa

        columns = [self._segment.column_texts(self._number(name)) for name in names]
        return pa.Table.from_arrays(columns, names=list(names))

    def _number(self, name: str) -> int:
        return self.columns[self.column_index(name)].column_id

    # -- one value for each partner ------------------------------------------------------------

    def mean_numbers(self, column_index: int, partners: Partners) -> Array | None:
        """The mean number of each partner's rows; None if the column is not numeric."""
        codes, distinct, inverse = self._cells(column_index, partners)
        numbers = _as_numbers(self.tokens(distinct))
        if numbers is None:
            return None
        known = codes != NULL
        values = numbers[inverse]
        known[known] = np.isfinite(values)
        values, which = values[np.isfinite(values)], partners.partner_of_row[known]
        sums = np.bincount(which, values, partners.count)
        counts = np.bincount(which, minlength=partners.count)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / counts)

    def most_frequent(self, column_index: int, partners: Partners) -> pa.LargeStringArray:
        """The most frequent value of each partner's rows, as first written; among equally frequent
        values, the first in text order."""
        import pyarrow as pa

        codes, distinct, inverse = self._cells(column_index, partners)
        rows = np.flatnonzero(codes != NULL)
        texts = self.tokens(distinct)
        order = np.empty(len(distinct), np.int64)
        order[np.argsort(texts.to_numpy(zero_copy_only=False))] = np.arange(len(distinct))
        value = order[inverse]
        pair = partners.partner_of_row[rows] * (len(distinct) + 1) + value
        pairs, first, counts = np.unique(pair, return_index=True, return_counts=True)
        which = pairs // (len(distinct) + 1)
        best = np.lexsort((pairs, -counts, which))
        begin = np.flatnonzero(np.diff(which[best], prepend=-1))
        chosen = best[begin]
        at = np.full(partners.count, np.int64(-1))
        at[which[chosen]] = rows[first[chosen]]
        ids = self._ids(column_index)[partners.rows[at[at >= 0]]]
        written = self._segment.rows.texts(ids, self._segment.dictionary.texts)
        positions = np.where(at >= 0, np.cumsum(at >= 0) - 1, 0)
        return written.take(pa.array(positions, mask=at < 0))

    def distinct_pairs(self, column_index: int, partners: Partners) -> Array:
        """The distinct (partner, code) pairs of a column, as one integer each."""
        codes = self._segment.rows.codes_of(self._ids(column_index)[partners.rows])
        known = codes != NULL
        pairs = (partners.partner_of_row[known].astype(np.int64) << 32) | codes[known]
        return np.asarray(np.unique(pairs))

    def _ids(self, place: int) -> Array:
        return self._segment.rows.value_ids(self.columns[place].column_id, self.rows)

    def _cells(self, place: int, partners: Partners) -> tuple[Array, Array, Array]:
        """The codes of the partners' rows, the distinct ones, and the index of each non-null code
        among these."""
        codes = self._segment.rows.codes_of(self._ids(place)[partners.rows])
        distinct, inverse = np.unique(codes[codes != NULL], return_inverse=True)
        return codes, distinct, inverse


_MOSTLY = 0.9  # share of distinct values that must be numbers


def _as_numbers(texts: pa.LargeStringArray) -> Array | None:
    """The numbers of texts, NaN for others; None if many are not numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fits = pc.match_substring_regex(texts, _NUMBER)
    if not len(texts) or pc.sum(fits).as_py() < _MOSTLY * len(texts):
        return None
    numbers = pc.if_else(fits, texts, pa.scalar(None, texts.type)).cast(pa.float64())
    return np.asarray(numbers.to_numpy(zero_copy_only=False))
