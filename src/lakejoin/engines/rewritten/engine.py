"""Find lake columns that may hold the query's values in another spelling, by shared rare tokens.

Transformations tend to keep words and numbers whole, so a column that joins once its values are
rewritten shares many tokens (`kernels/text_tokens.py`), and tokens that few columns hold say the
most. A query value *matches* a column if both hold a token that is rare in both.

The score of a column is a log likelihood ratio, in nats. In an unrelated column, a token occurs
with the probability of any column; in a related one, each value matches with the same probability,
estimated as the share q of query values that do. Each matching value adds the log of (columns /
columns that hold its rarest shared token); each sampled value costs the entropy of q. A large
column indexes only some of its tokens, and the score is extrapolated to the rest. Columns are
ranked by score per query value, because numbers that are in many columns by chance add up in a long
column.

A column that holds the values unchanged shares all their tokens, and there may be hundreds of them;
columns where rewriting would not clearly match more values are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakejoin.engines.query import CACHED_VALUES, locate_codes
from lakejoin.kernels.rare_token_samples import (
    MAX_COUNTED,
    MAX_HOLDERS,
    add_matches,
    count_holding_columns,
    find_token_holders,
    sample_text_tokens,
)
from lakejoin.kernels.text_tokens import token_ranks
from lakejoin.model import Array, ColumnType, string_buffers
from lakejoin.quoting import lakejoin_command
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.rare_tokens import EXCLUDED_TYPES, RareTokensComponent

if TYPE_CHECKING:
    from lakejoin.engines.hits import ExcludedColumns
    from lakejoin.engines.query import Query, QueryTable
    from lakejoin.store.segment import Segment

_VALUES = 1 << 17  # values of the query column to sample
_SAMPLED_TOKENS = 8192  # tokens of them to look up
_UNSEEN = 100  # imaginary columns without any token, so that tokens are rare in a small lake too
_DOUBT = 10  # values: scores of fewer values count less
_COMPARED = 256  # query values to look up unchanged
_MORE = 1.25  # times as many values must match by tokens as match unchanged
_PLAIN = (ColumnType.INTEGER, ColumnType.DATE)  # columns of these types match unchanged


@dataclass(frozen=True, slots=True)
class LikelyColumn:
    """A lake column that may join with a query column once values are rewritten.

    `column_index` is the query column, `segment_index` the segment and `column` the column there.
    Of the `values` query values with rare tokens, `sampled` have one that the column would index,
    and `matched` share one with it.
    """

    column_index: int
    segment_index: int
    column: int
    sampled: int
    matched: int
    nats: float
    values: int

    @property
    def pair(self) -> tuple[int, int, int]:
        return self.column_index, self.segment_index, self.column

    @property
    def per_value(self) -> float:
        """The score per query value, discounted for few values."""
        return self.nats / (self.values + _DOUBT)


def find_rewritable_columns(
    query_table: QueryTable,
    column_indexes: Sequence[int],
    segments: Sequence[Segment],
    excluded: ExcludedColumns,
    most: int = 40,
    known: Collection[tuple[int, int, int]] = (),
) -> list[LikelyColumn]:
    """The lake columns that share the most with some query columns, at most `most`, best first.

    `known` are (column index, segment index, column) to leave out. Segments without tokens are not
    searched: see `missing_rare_tokens_note`.
    """
    lists = _TokenLists(segments, excluded)
    likely: list[LikelyColumn] = []
    for column_index in column_indexes:
        if query_table.profile(column_index).type in EXCLUDED_TYPES:
            continue
        query = query_table.query(column_index)
        sample = _Sample.of(query.tokens)
        if sample is not None:
            likely += lists.likely(column_index, query, sample)
    left_out = set(known)
    likely = [column for column in likely if column.pair not in left_out]
    likely.sort(key=lambda column: (-column.per_value, *column.pair))
    return likely[:most]


def missing_rare_tokens_note(segments: Sequence[Segment]) -> str:
    """A note if an index, or part of it, has no rare tokens yet."""
    lack = sum(not _has_rare_tokens(segment) for segment in segments)
    if not lack:
        return ""
    part = "this index" if lack == len(segments) else f"{lack} of {len(segments)} segments"
    return (
        f"{part} cannot be searched for columns that join once values are rewritten; update with: "
        f"{lakejoin_command('index', segments[0].index)}"
    )


def _has_rare_tokens(segment: Segment) -> bool:
    record = segment.record.components.get(RareTokensComponent.name)
    return record is not None and record.version >= RareTokensComponent.version


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """Rare tokens of a query column. `values`, ascending, hold the tokens at `token_positions`;
    `lowest` are the lowest ranks of the values, ascending. `compared` are the positions of some of
    the values in the query."""

    tokens: Array
    values: Array
    token_positions: Array
    lowest: Array
    compared: Array

    @classmethod
    def of(cls, texts: pa.LargeStringArray) -> _Sample | None:
        if not len(texts):
            return None
        offsets, data = string_buffers(texts)
        numbers = _sample_indexes(len(texts), _VALUES)
        tokens, holders, _ = sample_text_tokens(
            offsets, data, numbers, _SAMPLED_TOKENS, MAX_COUNTED
        )
        token, which = np.nonzero(holders >= 0)
        values = holders[token, which]
        order = np.argsort(values, kind="stable")
        values, token_positions = values[order], token[order]
        begins = np.flatnonzero(np.diff(values, prepend=-1))
        if not len(begins):
            return None
        lowest = np.minimum.reduceat(token_ranks(tokens)[token_positions], begins)
        compared = numbers[values[begins[_sample_indexes(len(begins), _COMPARED)]]]
        return cls(tokens, values, token_positions, np.sort(lowest), compared)


def _sample_indexes(values: int, most: int) -> Array:
    """The indexes of all values, or of a fixed sample of them."""
    if values <= most:
        return np.arange(values)
    return np.sort(np.random.default_rng(0).choice(values, most, replace=False))


class _TokenLists:
    """The rare tokens of all segments that have them, and the columns to leave out."""

    def __init__(self, segments: Sequence[Segment], excluded: ExcludedColumns) -> None:
        self._segments = {
            index: segment for index, segment in enumerate(segments) if _has_rare_tokens(segment)
        }
        self._left_out: dict[int, Array] = {}
        self._columns = 0
        for number, segment in self._segments.items():
            left_out = segment.rare_tokens.limit == 0
            left_out[excluded.columns[number]] = True
            self._left_out[number] = left_out
            self._columns += len(left_out) - int(left_out.sum())

    def likely(self, column_index: int, query: Query, sample: _Sample) -> list[LikelyColumn]:
        """The columns that share tokens with a sample of a query column."""
        spans = {
            i: segment.rare_tokens.find(sample.tokens) for i, segment in self._segments.items()
        }
        holders = np.zeros(len(sample.tokens), dtype=np.int64)
        for segment_index, (span, columns) in spans.items():
            count_holding_columns(span, columns, self._left_out[segment_index], holders)
        weights = np.log((_UNSEEN + self._columns) / np.maximum(1, holders))
        likely_columns = []
        for segment_index, (span, columns) in spans.items():
            segment = self._segments[segment_index]
            matched = np.zeros(segment.column_count, dtype=np.int64)
            nats = np.zeros(segment.column_count)
            add_matches(
                sample.values, sample.token_positions, weights, span, columns, matched, nats
            )
            matched[self._left_out[segment_index]] = 0
            some = np.flatnonzero(matched)
            if not len(some):
                continue
            sampled = np.searchsorted(sample.lowest, segment.rare_tokens.limit[some], side="right")
            worth = extrapolate_scores(nats[some], matched[some], sampled, len(sample.lowest))
            kept = worth > 0
            if kept.any():
                kept &= ~_same_plain_type(segment, query.type)[some]
            if not kept.any():  # as in most segments of a large lake
                continue
            some, sampled, worth = some[kept], sampled[kept], worth[kept]
            codes = _find_compared(query, sample, segment_index, segment)
            as_they_are = _share_unchanged(codes, segment, some)
            good = matched[some] / sampled > _MORE * as_they_are
            for index in np.flatnonzero(good).tolist():
                column = int(some[index])
                figures = int(sampled[index]), int(matched[column]), float(worth[index])
                likely_columns.append(
                    LikelyColumn(column_index, segment_index, column, *figures, len(sample.lowest))
                )
        return likely_columns


def _find_compared(query: Query, sample: _Sample, segment_index: int, segment: Segment) -> Array:
    """The codes of the values that are compared unchanged: those of the whole query, if it is so
    small that they are known from the search for equal values."""
    if len(query) <= CACHED_VALUES:
        return locate_codes(query, segment_index, segment)[sample.compared]
    return segment.dictionary.find(query.tokens.take(sample.compared))


def _share_unchanged(codes: Array, segment: Segment, columns: Array) -> Array:
    """The share of some values, given by their codes, that each of some columns holds unchanged."""
    postings = segment.postings
    begin, length = postings.spans(codes[codes != NOT_FOUND])
    entries = postings.entries(begin, length)
    at = np.repeat(begin - (np.cumsum(length) - length), length) + np.arange(length.sum())
    counts = np.bincount(entries[at], minlength=segment.column_count)
    return np.asarray(counts[postings.size_ranks(columns)] / len(codes))


def _same_plain_type(segment: Segment, kind: ColumnType) -> Array:
    """Mask of the columns of the query's type, if that type has one spelling: equal values are
    found without tokens, and fragments of numbers match by chance."""
    if kind not in _PLAIN:
        return np.zeros(segment.column_count, dtype=bool)
    import pyarrow.compute as pc

    return np.asarray(pc.equal(segment.catalog.columns["type"], str(kind)))


def extrapolate_scores(nats: Array, matched: Array, sampled: Array, values: int) -> Array:
    """Extrapolate scores to whole columns: `matched` of the `sampled` values share tokens worth
    `nats`, and `values` have tokens at all.

    >>> matched, sampled = np.array([10, 10, 1]), np.array([10, 20, 1])
    >>> extrapolate_scores(np.array([80.0, 80.0, 8.0]), matched, sampled, 20)
    array([120.        ,  66.13705639,  21.81818182])
    """
    share = matched / sampled
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    net = nats - sampled * np.where(share < 1, entropy, 0.0)
    return np.asarray(net * (values + _DOUBT) / (sampled + _DOUBT))


def pair_by_rare_tokens(
    left: pa.LargeStringArray, right: pa.LargeStringArray, most: int = 1000
) -> tuple[Array, Array]:
    """Pairs (i, j) of left and right values that share a token that is rare on both sides, at most
    `most`, those that share the most first; a token in n left and m right values counts 1 / (n m).
    Each left value keeps only its best matches.

    >>> import pyarrow as pa
    >>> left = pa.array(["Ada Lovelace", "Alan Turing"], pa.large_string())
    >>> right = pa.array(["turing, a. m.", "lovelace, ada", "hopper, g."], pa.large_string())
    >>> [[int(i) for i in side] for side in pair_by_rare_tokens(left, right)]
    [[0, 1], [1, 0]]
    """
    none = np.zeros(0, dtype=np.int64)
    if not len(left) or not len(right):
        return none, none
    numbers = np.arange(len(left))
    tokens, left_holders, limit = sample_text_tokens(
        *string_buffers(_no_nulls(left)), numbers, max(_SAMPLED_TOKENS, 4 * most), MAX_COUNTED
    )
    count = np.zeros(len(tokens), dtype=np.int64)
    holders = np.empty((len(tokens), MAX_HOLDERS), dtype=np.int64)
    rank = np.uint64(limit)  # the kernel returns an int
    find_token_holders(*string_buffers(_no_nulls(right)), tokens, rank, count, holders)
    rare = (count > 0) & (count <= MAX_HOLDERS)  # few tokens are on both sides
    left_holders, holders = left_holders[rare], holders[rare]
    weight = 1 / ((left_holders >= 0).sum(axis=1) * count[rare])
    i = np.repeat(left_holders, MAX_HOLDERS, axis=1).ravel().astype(np.int64)
    j = np.tile(holders, (1, MAX_HOLDERS)).ravel()
    pairs = (i >= 0) & (j >= 0)
    return _best_pairs(
        i[pairs], j[pairs], np.repeat(weight, MAX_HOLDERS * MAX_HOLDERS)[pairs], most
    )


def _no_nulls(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    return texts.fill_null("") if texts.null_count else texts


def _best_pairs(i: Array, j: Array, weight: Array, most: int) -> tuple[Array, Array]:
    """The distinct pairs by falling total weight, keeping only the best of each left value."""
    if not len(i):
        return i, j
    width = int(j.max()) + 1
    pairs, which = np.unique(i * width + j, return_inverse=True)
    both = np.stack([pairs // width, pairs % width])
    total = np.bincount(which, weight)
    best = np.zeros(int(both[0].max()) + 1)
    np.maximum.at(best, both[0], total)
    chosen = np.flatnonzero(total >= best[both[0]] * (1 - 1e-9))
    chosen = chosen[np.argsort(-total[chosen], kind="stable")][:most]
    return both[0][chosen], both[1][chosen]
