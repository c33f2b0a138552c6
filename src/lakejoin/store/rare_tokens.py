"""Rare tokens: an inverted index from words and numbers to the columns where they are rare.

A join that rewrites values mostly leaves their words and numbers intact (`kernels/text_tokens.py`
defines a token). So for every searched column this stores a sample of the tokens that occur in only
one or two of its values, inverted: from token to columns. Decimal and boolean columns have none.

The sample of a column contains its tokens up to a rank limit. The limit is stored, so a search can
tell a missing token from one that was not sampled. Texts are split column by column, and a bounded
number of tokens per column is counted by dropping high ranks. Building needs the samples (20 bytes
per token; three tokens per value, at least 64), 8 bytes per value of the segment and a few MB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lakejoin.model import Array, ColumnType
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, Limits
from lakejoin.store.dictionary import open_directory

if TYPE_CHECKING:
    from lakejoin.store.dictionary import Texts
    from lakejoin.store.segment import Segment

MOST = 2048  # tokens per column at most
FEW = 64  # allowed for every column
PER_VALUE = 3  # allowed per value
EXCLUDED_TYPES = (ColumnType.DECIMAL, ColumnType.BOOLEAN, ColumnType.EMPTY)
_SLICE = 1 << 20
_RANGES = 16  # of hashes, sorted one after another
_LOW = np.uint64(0xFFFFFFFF)


class RareTokensComponent:
    name: ClassVar[str] = "pieces"
    version: ClassVar[int] = 1
    made_with: ClassVar[str] = ""

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        for name, array in _arrays(source).items():
            out.add(name, array)


def _arrays(source: Segment) -> dict[str, Array]:
    from lakejoin.kernels.rare_token_samples import MAX_COUNTED, sample_column_tokens

    columns = columns_with_rare_tokens(source)
    group_start, set_start, groups = source.group_sets()
    group_start = group_start.astype(np.int64)
    most = _most(columns, group_start, set_start, groups)
    offsets, data = _texts(source.dictionary.texts)
    tokens = np.empty(int(most.sum()), dtype=np.uint64)
    limits, counts = np.empty(len(columns), np.uint64), np.empty(len(columns), np.int64)
    total = sample_column_tokens(
        columns,
        set_start,
        groups,
        group_start,
        offsets,
        data,
        most,
        MAX_COUNTED,
        limits,
        counts,
        tokens,
    )
    limit = np.zeros(source.column_count, dtype=np.uint64)
    limit[columns] = limits
    narrow = np.uint16 if source.column_count <= 1 << 16 else np.uint32
    column_of_token = np.repeat(columns.astype(narrow), counts)
    return {"limit": limit, **_by_token(tokens[:total], column_of_token)}


def columns_with_rare_tokens(source: Segment) -> Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    excluded: Any = pc.is_in(
        source.catalog.columns["type"], value_set=pa.array(map(str, EXCLUDED_TYPES))
    )
    return np.asarray(np.flatnonzero(source.indexed & ~np.asarray(excluded)))


def _most(columns: Array, group_start: Array, set_start: Array, groups: Array) -> Array:
    before = np.concatenate(([0], np.cumsum(np.diff(group_start)[groups])))
    sizes = (before[set_start[1:]] - before[set_start[:-1]])[columns]
    return np.asarray(np.clip(PER_VALUE * sizes, FEW, MOST))


def _texts(texts: Texts) -> tuple[Array, Array]:
    """(offsets, bytes) of all texts."""
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    data = np.zeros(0, dtype=np.uint8)
    for begin in range(0, len(texts), _SLICE):
        span = texts.spans(np.arange(begin, min(begin + _SLICE, len(texts))))
        offsets[begin + 1 : begin + 1 + len(span)] = span[:, 1]
        data = texts.bytes_at(span)
    return offsets, data


def _by_token(tokens: Array, columns: Array) -> dict[str, Array]:
    """Arrange (token, column) pairs as a directory: buckets by the top bits of a hash, in each
    bucket the low 32 bits, ascending, and the columns."""
    from lakejoin.kernels.hashes import directory_bits

    bits = np.uint64(directory_bits(len(tokens)))
    start = np.zeros((1 << int(bits)) + 1, dtype=np.uint32)
    tag = np.empty(len(tokens), dtype=np.uint32)
    column = np.empty_like(columns)
    begin = 0
    for top_bits in range(_RANGES):
        chosen = np.flatnonzero(tokens >> np.uint64(60) == top_bits)
        hashes = tokens[chosen]
        bucket = hashes >> (np.uint64(64) - bits)
        order = np.argsort((bucket << np.uint64(32)) | (hashes & _LOW), kind="stable")
        end = begin + len(chosen)
        tag[begin:end] = (hashes & _LOW)[order]
        column[begin:end] = columns[chosen[order]]
        start[1:] += np.bincount(bucket, minlength=len(start) - 1).astype(np.uint32)
        begin = end
    np.cumsum(start, out=start)
    return {"bucket": start, "tag": tag, "column": column}


class RareTokens:
    """The opened tokens of a segment; `limit` is the highest rank in each column's sample."""

    def __init__(self, file: ArrayFile, columns: int) -> None:
        self.file = file
        self._tag = file.array("tag", None, "u4")
        self._bucket = open_directory(file, len(self._tag))
        self._column = file.array("column", Limits(columns), "u2 u4")
        self.limit = file.array("limit", None, "u8").all()
        file.require(len(self._tag) == len(self._column))
        file.require(len(self.limit) == columns)

    def __len__(self) -> int:
        return len(self._tag)

    def find(self, tokens: Array) -> tuple[Array, Array]:
        """(spans, columns): the columns with token i are `columns[span[i, 0] : span[i, 1]]`.

        A token is identified by its bucket and 32 bits; confusing two is practically impossible.
        """
        from lakejoin.kernels.hashes import find_bucket_spans
        from lakejoin.kernels.rare_token_samples import find_tag_spans

        bucket = np.empty((len(tokens), 2), dtype=np.int64)
        find_bucket_spans(self._bucket.all(), tokens, bucket)
        span = np.empty_like(bucket)
        tags = self._tag.touch(bucket[:, 0], bucket[:, 1])
        find_tag_spans(bucket, tags, tokens, span)
        return span, self._column.touch(span[:, 0], span[:, 1])


def rare_tokens_agree(source: Segment, stored: RareTokens) -> bool:
    expected, file = _arrays(source), stored.file
    return all(np.array_equal(array, file.array(name).all()) for name, array in expected.items())
