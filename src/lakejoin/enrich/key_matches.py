"""The distinct keys of a table, the rows of a lake table that match them, and what these hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.enrich.training_data import combine_column, parse_numbers
from lakejoin.errors import UnknownTable
from lakejoin.joins.row_keys import NO_KEY, spread_values
from lakejoin.model import Array, ValueRules, string_buffers
from lakejoin.ranking.row_agreement import find_rows
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rows import NULL
from lakejoin.values.column_encoder import encode_query

if TYPE_CHECKING:
    from lakejoin.enrich.text_similarity import TextMatcher
    from lakejoin.joins.learned.program_finder import LearnedJoin
    from lakejoin.store.catalog import ColumnEntry
    from lakejoin.store.distance_limits import DistanceLimit
    from lakejoin.store.snapshot import Snapshot

_MIN_NUMBERS = 0.9  # share of distinct values that must be numbers


@dataclass(frozen=True, eq=False)
class KeyMatches:
    """Rows of the lake table, the match (by index) that each belongs to, and the match of each key,
    `NO_KEY` for none. A match is the group of rows that match one key."""

    rows: Array
    match_of_row: Array
    by_key: Array

    @property
    def count(self) -> int:
        return int(self.match_of_row.max(initial=-1)) + 1

    @property
    def matched(self) -> Array:
        return self.by_key >= 0

    def fill(self, other: KeyMatches) -> KeyMatches:
        """Add matches that another join found, for the keys that have none yet."""
        count = self.count
        rest = np.where(other.by_key >= 0, other.by_key + count, NO_KEY)
        return KeyMatches(
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.match_of_row, other.match_of_row + count]),
            np.where(self.matched, self.by_key, rest),
        )


class LinkedTable:
    """A table in the lake by its name."""

    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self.name = name
        self.rules = snapshot.manifest.options.rules
        self._segment, self._entry = snapshot.table(name)
        self.columns: tuple[ColumnEntry, ...] = self._segment.catalog.columns_of(self._entry)

    @property
    def rows(self) -> int:
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
        return self._segment.rows.codes(self._number(name), self.rows)

    def distinct_codes(self, name: str) -> Array:
        return self._segment.rows.set_with_counts(self._number(name), self.rows)[0]

    def tokens(self, codes: Array) -> pa.LargeStringArray:
        return self._segment.dictionary.texts.take(codes)

    def texts(self, names: Sequence[str]) -> pa.Table:
        """The original texts of some columns."""
        columns = [self._segment.column_texts(self._number(name)) for name in names]
        return pa.Table.from_arrays(columns, names=list(names))

    def _number(self, name: str) -> int:
        return self.columns[self.column_index(name)].column_id

    # -- one value for each match ------------------------------------------------------------

    def mean_numbers(self, column_index: int, matches: KeyMatches) -> Array | None:
        """The mean number of each match's rows; None if the column is not numeric."""
        codes, distinct, inverse = self._cells(column_index, matches)
        numbers = parse_numbers(self.tokens(distinct), _MIN_NUMBERS)
        if numbers is None:
            return None
        known = codes != NULL
        values = numbers[inverse]
        known[known] = np.isfinite(values)
        values, which = values[np.isfinite(values)], matches.match_of_row[known]
        sums = np.bincount(which, values, matches.count)
        counts = np.bincount(which, minlength=matches.count)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / counts)

    def most_frequent(self, column_index: int, matches: KeyMatches) -> pa.LargeStringArray:
        """The most frequent value of each match's rows, as first written; among equally frequent
        values, the first in text order."""
        codes, distinct, inverse = self._cells(column_index, matches)
        rows = np.flatnonzero(codes != NULL)
        texts = self.tokens(distinct)
        order = np.empty(len(distinct), np.int64)
        order[np.argsort(texts.to_numpy(zero_copy_only=False))] = np.arange(len(distinct))
        value = order[inverse]
        pair = matches.match_of_row[rows] * (len(distinct) + 1) + value
        pairs, first, counts = np.unique(pair, return_index=True, return_counts=True)
        which = pairs // (len(distinct) + 1)
        best = np.lexsort((pairs, -counts, which))
        begin = np.flatnonzero(np.diff(which[best], prepend=-1))
        chosen = best[begin]
        at = np.full(matches.count, np.int64(-1))
        at[which[chosen]] = rows[first[chosen]]
        ids = self._ids(column_index)[matches.rows[at[at >= 0]]]
        written = self._segment.rows.texts(ids, self._segment.dictionary.texts)
        positions = np.where(at >= 0, np.cumsum(at >= 0) - 1, 0)
        return written.take(pa.array(positions, mask=at < 0))

    def distinct_pairs(self, column_index: int, matches: KeyMatches) -> Array:
        """The distinct (match, code) pairs of a column, as one integer each."""
        codes = self._segment.rows.codes_of(self._ids(column_index)[matches.rows])
        known = codes != NULL
        pairs = (matches.match_of_row[known].astype(np.int64) << 32) | codes[known]
        return np.asarray(np.unique(pairs))

    def _ids(self, place: int) -> Array:
        return self._segment.rows.value_ids(self.columns[place].column_id, self.rows)

    def _cells(self, place: int, matches: KeyMatches) -> tuple[Array, Array, Array]:
        """The codes of the matches' rows, the distinct ones, and the index of each non-null code
        among these."""
        codes = self._segment.rows.codes_of(self._ids(place)[matches.rows])
        distinct, inverse = np.unique(codes[codes != NULL], return_inverse=True)
        return codes, distinct, inverse


@dataclass(frozen=True)
class EqualKeys:
    """Joins keys whose canonical values are equal."""

    lake_columns: tuple[str, ...]
    kind: str = "equal"

    def matches(self, keys: DistinctKeys, table: LinkedTable) -> KeyMatches:
        key_codes = []
        for column in keys.table.columns:
            tokens, token_of = distinct_tokens(column, table.rules)
            codes = np.append(table.find(tokens), NOT_FOUND)
            key_codes.append(codes[token_of])
        return match_codes([table.codes(name) for name in self.lake_columns], key_codes)


@dataclass(frozen=True)
class RewrittenKeys:
    """Joins keys that are equal once programs have rewritten one or both sides."""

    lake_columns: tuple[str, ...]
    learned: LearnedJoin
    kind: str = "rewritten"

    def matches(self, keys: DistinctKeys, table: LinkedTable) -> KeyMatches:
        from lakejoin.joins.learned.program_finder import apply_learned

        rewritten = apply_learned(
            self.learned, _as_text(keys.table), table.texts(self.lake_columns), table.rules
        )
        left, right = rewritten.left, rewritten.right
        held = np.flatnonzero(right >= 0)
        exists = np.zeros(rewritten.count + 1, bool)
        exists[right[held]] = True
        return KeyMatches(held, right[held], np.where(exists[left], left, NO_KEY))


@dataclass(frozen=True)
class MeaningKeys:
    """Joins each key to the value nearest in meaning, within `tau`."""

    lake_columns: tuple[str, ...]
    tau: float
    encoder: str | None
    kind: str = "meaning"

    def matches(self, keys: DistinctKeys, table: LinkedTable) -> KeyMatches:
        from lakejoin.joins.nearest.nearest_meanings import find_nearest_meanings

        codes = table.distinct_codes(self.lake_columns[0])
        texts = _as_text(keys.table).column(0)
        near = find_nearest_meanings(texts, table.tokens(codes), self.tau, self.encoder)
        matched = np.full(len(keys), NOT_FOUND)
        matched[near.left_rows] = codes[near.right_rows]
        return match_codes([table.codes(self.lake_columns[0])], [matched])


@dataclass(frozen=True)
class SimilarKeys:
    """Joins each key to the most similar text, if it is similar enough."""

    lake_columns: tuple[str, ...]
    matcher: TextMatcher
    kind: str = "fuzzy"

    def matches(self, keys: DistinctKeys, table: LinkedTable) -> KeyMatches:
        codes = table.distinct_codes(self.lake_columns[0])
        tokens, token_of = distinct_tokens(keys.table.column(0), table.rules)
        nearest = self.matcher.match(tokens.to_pylist(), table.tokens(codes).to_pylist())
        matched = np.where(nearest >= 0, np.append(codes, NOT_FOUND)[nearest], NOT_FOUND)
        return match_codes(
            [table.codes(self.lake_columns[0])], [np.append(matched, NOT_FOUND)[token_of]]
        )


@dataclass(frozen=True)
class NearestPoints:
    """Joins each point to the nearest one, at most `within` away. In both tables the latitude comes
    first, or one column has both; this is not guessed again for other rows."""

    lake_columns: tuple[str, ...]
    within: DistanceLimit
    kind: str = "near"

    def matches(self, keys: DistinctKeys, table: LinkedTable) -> KeyMatches:
        from lakejoin.joins.nearest.nearest_rows import coordinates_of, find_nearest_coordinates

        points, others = (
            coordinates_of(side.columns) for side in (keys.table, table.texts(self.lake_columns))
        )
        near = find_nearest_coordinates(points, others, self.within)
        match_of = np.full(len(keys), np.int64(NO_KEY))
        rows, match_of[near.left_rows] = np.unique(near.right_rows, return_inverse=True)
        return KeyMatches(rows, np.arange(len(rows)), match_of)


# How the rows of keys are found; these can be pickled. `kind` is that of a search result.
KeyJoin = EqualKeys | RewrittenKeys | MeaningKeys | SimilarKeys | NearestPoints


def match_codes(table_codes: Sequence[Array], key_codes: Sequence[Array]) -> KeyMatches:
    """Find the matches of keys, given the codes of each column of the lake table and of the keys.

    >>> matches = match_codes([np.array([4, 7, 4])], [np.array([4, 9, 4], np.uint32)])
    >>> matches.rows.tolist(), matches.match_of_row.tolist(), matches.by_key.tolist()
    ([0, 2], [0, 0], [0, -1, 0])
    """
    known = np.flatnonzero(np.all([codes != NOT_FOUND for codes in key_codes], axis=0))
    combinations, inverse = np.unique(
        np.stack([codes[known] for codes in key_codes]), axis=1, return_inverse=True
    )
    rows, which = find_rows(table_codes, list(combinations))
    exists = np.zeros(combinations.shape[1], bool)
    exists[which] = True
    number = np.where(exists, np.cumsum(exists) - 1, NO_KEY)
    match_of = np.full(len(key_codes[0]), np.int64(NO_KEY))
    match_of[known] = number[inverse.reshape(-1)]
    return KeyMatches(rows, number[which], match_of)


def _as_text(table: pa.Table) -> pa.Table:
    return table.cast(pa.schema([(name, pa.large_string()) for name in table.column_names]))


@dataclass(frozen=True, eq=False)
class DistinctKeys:
    """The distinct combinations of some columns (`table`), and the index of each row's (`of_row`);
    `NO_KEY` if the row has a null in one of them."""

    table: pa.Table
    of_row: Array

    def __len__(self) -> int:
        return int(self.table.num_rows)


def distinct_keys(table: pa.Table, columns: Sequence[str]) -> DistinctKeys:
    """The distinct keys of a table, in order of first appearance.

    >>> keys = distinct_keys(pa.table({"town": ["Ulm", "Bern", None, "Ulm"]}), ["town"])
    >>> keys.table["town"].to_pylist(), keys.of_row.tolist()
    (['Ulm', 'Bern'], [0, 1, -1, 0])
    """
    ids = np.zeros(table.num_rows, np.int64)
    for name in columns:
        column = combine_column(table[name]).dictionary_encode(null_encoding="mask")
        cells = column.indices.fill_null(NO_KEY).to_numpy(zero_copy_only=False).astype(np.int64)
        missing = (cells < 0) | (ids < 0)
        ranked = np.unique(ids * (len(column.dictionary) + 1) + cells, return_inverse=True)[1]
        ids = np.where(missing, NO_KEY, ranked)
    rows = np.flatnonzero(ids >= 0)
    _, first, inverse = np.unique(ids[rows], return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # by first appearance
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    of_row = np.full(table.num_rows, np.int64(NO_KEY))
    of_row[rows] = position[inverse]
    return DistinctKeys(table.select(list(columns)).take(rows[first[order]]), of_row)


def distinct_tokens(
    column: pa.ChunkedArray | pa.Array, rules: ValueRules
) -> tuple[pa.LargeStringArray, Array]:
    """The distinct canonical values of a column, and the index of each row's (null: `NO_KEY`)."""
    data = encode_query(column, rules)
    return data.tokens, spread_values(data, np.arange(len(data.tokens)), NO_KEY)


def key_hashes(keys: DistinctKeys, rules: ValueRules) -> Array:
    """A hash of each key's canonical values, so that every table samples the same keys."""
    from lakejoin.kernels.hashes import hash_strings

    combined = np.zeros(len(keys), np.uint64)
    for column in keys.table.columns:
        tokens, token_of = distinct_tokens(column, rules)
        hashes = np.empty(len(tokens), np.uint64)
        offsets, data = string_buffers(tokens)
        hash_strings(offsets, data, np.uint64(0), hashes)
        with np.errstate(over="ignore"):
            combined *= np.uint64(0x9E3779B97F4A7C15)
            combined ^= np.append(hashes, np.uint64(0))[token_of]
            combined ^= combined >> np.uint64(29)
    return combined
