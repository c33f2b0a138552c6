"""Map words to table rows by byte-pair merges or fastText's subwords; scan word-vector files."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.hashes import finish
from lakejoin.kernels.jit import kernel, njit
from lakejoin.kernels.word_kernels import LONGEST_WORD, code_point, utf8_width
from lakejoin.model import Array

# The bytes of LONGEST_WORD unknown code points, and the mark before them.
_ROOM = 4 * LONGEST_WORD + 1
_NO_MERGE = np.int32(0x7FFFFFFF)
_FNV_START = np.uint64(2166136261)
_FNV_PRIME = np.uint64(16777619)
_SIGN = np.uint64(0xFFFFFF00)  # what sign extension of a byte above 127 adds
_LOW = np.uint64(0xFFFFFFFF)
_U32 = np.uint64(32)
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def fill_merges(left: Array, right: Array, keys: Array, values: Array) -> None:
    """Fill the hash table of merges: the pair of symbols is the key, its rank the value.

    Of two merges of the same pair the first counts. `keys` starts as all ones.
    """
    mask = np.uint64(keys.shape[0] - 1)
    for rank in range(left.shape[0]):
        key = (np.uint64(left[rank]) << _U32) | np.uint64(right[rank])
        at = finish(key) & mask
        while keys[at] != _EMPTY and keys[at] != key:
            at = (at + np.uint64(1)) & mask
        if keys[at] == _EMPTY:
            keys[at] = key
            values[at] = rank


@njit(inline="always")
def _rank(keys: Array, values: Array, left: int, right: int) -> np.int32:
    """Return the rank of merging two symbols."""
    mask = np.uint64(keys.shape[0] - 1)
    key = (np.uint64(left) << _U32) | np.uint64(right)
    at = finish(key) & mask
    while keys[at] != _EMPTY:
        if keys[at] == key:
            return values[at]
        at = (at + np.uint64(1)) & mask
    return _NO_MERGE


@kernel
def _merge(keys: Array, values: Array, merged: Array, symbols: Array, ranks: Array, n: int) -> int:
    """Merge `symbols[:n]` pair by pair, the lowest rank first, leftmost of equals; return how many
    stay.

    `ranks[i]` is the rank of symbols i and i + 1: a merge changes only its neighbours' ranks.
    """
    for i in range(n - 1):
        ranks[i] = _rank(keys, values, symbols[i], symbols[i + 1])
    while n > 1:
        best = 0
        for i in range(1, n - 1):
            if ranks[i] < ranks[best]:
                best = i
        if ranks[best] == _NO_MERGE:
            break
        symbols[best] = merged[ranks[best]]
        n -= 1
        for i in range(best + 1, n):
            symbols[i] = symbols[i + 1]
            ranks[i - 1] = ranks[i]
        if best + 1 < n:
            ranks[best] = _rank(keys, values, symbols[best], symbols[best + 1])
        if best > 0:
            ranks[best - 1] = _rank(keys, values, symbols[best - 1], symbols[best])
    return n


@kernel
def _symbols(
    data: Array, p: int, stop: int, singles: Array, capitals: Array, mark: int, out: Array
) -> int:
    """Write the symbols that merging starts from: a mark, then characters, or their bytes."""
    out[0] = mark
    n = 1
    first = True
    while p < stop:
        c = code_point(data, p)
        step = utf8_width(data, p)
        shown = c
        if first and c < capitals.shape[0]:
            shown = np.int64(capitals[c])
        first = False
        symbol = singles[shown] if shown < singles.shape[0] else np.int32(-1)
        if symbol >= 0:
            out[n] = symbol
            n += 1
        else:  # the vocabulary begins with <unk>, <s>, </s>, then the 256 bytes
            for j in range(step):
                out[n] = np.int32(3) + np.int32(data[p + j])
                n += 1
        p += step
    return n


@kernel
def merge_words(
    offsets: Array,
    data: Array,
    singles: Array,
    capitals: Array,
    mark: int,
    keys: Array,
    values: Array,
    merged: Array,
    row_offsets: Array,
    rows: Array,
) -> int:
    """Write the tokens of each word, as it is or capitalised, whichever are fewer; return how many.

    Canonical values are in lower case, but the vocabulary has names with their capitals.
    """
    plain = np.empty(_ROOM, np.int32)
    capitalised = np.empty(_ROOM, np.int32)
    ranks = np.empty(_ROOM, np.int32)
    nothing = np.empty(0, capitals.dtype)
    at = 0
    row_offsets[0] = 0
    for w in range(offsets.shape[0] - 1):
        p, stop = offsets[w], offsets[w + 1]
        n = _symbols(data, p, stop, singles, nothing, mark, plain)
        n = _merge(keys, values, merged, plain, ranks, n)
        chosen = plain
        c = code_point(data, p) if stop > p else np.int64(0)
        if n > 1 and c < capitals.shape[0] and np.int64(capitals[c]) != c:
            m = _symbols(data, p, stop, singles, capitals, mark, capitalised)
            m = _merge(keys, values, merged, capitalised, ranks, m)
            if m < n:
                n = m
                chosen = capitalised
        for j in range(n):
            rows[at + j] = chosen[j]
        at += n
        row_offsets[w + 1] = at
    return at


@kernel
def hash_subwords(
    offsets: Array,
    data: Array,
    known: Array,
    words: int,
    shortest: int,
    longest: int,
    buckets: int,
    row_offsets: Array,
    rows: Array,
) -> int:
    """Write fastText's rows of each word: its own if it is known, and those of its hashed subwords.

    A subword is `shortest` to `longest` code points of `<word>`, but not a mark alone. The hash is
    fastText's: FNV-1a over the bytes, each taken as signed. Returns how many rows are needed;
    writes them only if `rows` has room.
    """
    marked = np.empty(4 * LONGEST_WORD + 2, np.uint8)
    at = 0
    row_offsets[0] = 0
    write = rows.shape[0] > 0
    for w in range(offsets.shape[0] - 1):
        if known[w] >= 0:
            if write:
                rows[at] = known[w]
            at += 1
        size = offsets[w + 1] - offsets[w] + 2
        marked[0] = 60
        for j in range(size - 2):
            marked[j + 1] = data[offsets[w] + j]
        marked[size - 1] = 62
        begin = 0
        while begin < size and buckets > 0:
            h = _FNV_START
            p = begin
            for n in range(1, longest + 1):
                if p >= size:
                    break
                for _ in range(utf8_width(marked, p)):
                    byte = np.uint64(marked[p])
                    if byte > 127:
                        byte |= _SIGN
                    h = ((h ^ byte) * _FNV_PRIME) & _LOW
                    p += 1
                if n >= shortest and not (n == 1 and (begin == 0 or p == size)):
                    if write:
                        rows[at] = words + np.int64(h % np.uint64(buckets))
                    at += 1
            begin += utf8_width(marked, begin)
        row_offsets[w + 1] = at
    return at


_NEWLINE, _BLANK, _NUL = 10, 32, 0


@kernel
def find_word2vec_entries(data: Array, at: int, size: int, begins: Array, ends: Array) -> int:
    """Find where each word begins and ends; its vector of `size` bytes begins one byte later.

    Returns the offset after the last entry, or -1 if the file ends too early.
    """
    for i in range(begins.shape[0]):
        while at < data.shape[0] and data[at] == _NEWLINE:
            at += 1
        begins[i] = at
        while at < data.shape[0] and data[at] != _BLANK:
            at += 1
        ends[i] = at
        at += 1 + size
        if at > data.shape[0]:
            return -1
    return at


@kernel
def find_fasttext_entries(data: Array, at: int, begins: Array, ends: Array, labels: Array) -> int:
    """Find where each word of a fastText dictionary begins and ends, and whether it is a label.

    Returns the offset after the last entry, or -1 if the file ends too early.
    """
    for i in range(begins.shape[0]):
        begins[i] = at
        while at < data.shape[0] and data[at] != _NUL:
            at += 1
        ends[i] = at
        at += 1 + 8 + 1  # the end of the word, its count, its type
        if at > data.shape[0]:
            return -1
        labels[i] = data[at - 1]
    return at


@kernel
def copy_spans(data: Array, begins: Array, lengths: Array, out: Array) -> None:
    """Copy spans of bytes to `out`, end to end."""
    at = 0
    for i in range(begins.shape[0]):
        for j in range(lengths[i]):
            out[at + j] = data[begins[i] + j]
        at += lengths[i]
