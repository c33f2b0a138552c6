"""Make texts canonical in one pass: case-fold, trim, collapse blanks, and rewrite numbers and
dates.

ASCII is handled here. Beyond ASCII, Unicode tables built by the caller say what a code point
becomes and whether Unicode's quick check still proves the result composed (NFC); a text for which
it does not is marked `SLOW` and left to the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lakejoin.kernels.canonical_dates import rewrite_date
from lakejoin.kernels.canonical_numbers import (
    BOOLEAN,
    EMPTY,
    LONGEST_PLAIN,
    TEXT,
    is_digit,
    rewrite_number,
)
from lakejoin.kernels.hashes import same_bytes, word_at
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

# Marks: the text differs from its canonical form; it needs normalising; it is a null word (of
# letters or of signs: unless the column says otherwise).
CHANGED, SLOW, NULL, NULL_LETTERS, NULL_SIGNS = 1, 2, 4, 8, 16

# In the `care` table, beside the combining classes (0..240).
UNSAFE = 255
# In the `replacement` table: the code point is white space.
WHITE = -1

_BLANK = 32
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_TOPS = np.uint64(0x8080808080808080)
_LETTERS = np.uint64(0x6161616161616161)
_FROM_BLANK = np.uint64(0x6060606060606060)
_BEYOND_BLANK = np.uint64(0x5F5F5F5F5F5F5F5F)
_FROM_A = np.uint64(0x3F3F3F3F3F3F3F3F)
_BEYOND_Z = np.uint64(0x2525252525252525)
_ROOM = LONGEST_PLAIN + 24
_TRUE = np.frombuffer(b"true", dtype=np.uint8).copy()
_FALSE = np.frombuffer(b"false", dtype=np.uint8).copy()


def _ascii_fold() -> Array:
    table = np.arange(256, dtype=np.uint8)
    table[65:91] += 32
    table[[9, 10, 11, 12, 13, 28, 29, 30, 31]] = _BLANK
    return table


_FOLD = _ascii_fold()


@kernel
def _code_point(data: Array, p: int, stop: int) -> tuple[int, int]:
    """Decode the UTF-8 sequence at `p`: its code point and its length."""
    b: Any = np.int64(data[p])
    if b < 0xE0 and p + 1 < stop:
        return ((b & 0x1F) << 6) | (np.int64(data[p + 1]) & 0x3F), 2
    if b < 0xF0 and p + 2 < stop:
        high = ((b & 0x0F) << 12) | ((np.int64(data[p + 1]) & 0x3F) << 6)
        return high | (np.int64(data[p + 2]) & 0x3F), 3
    if p + 3 < stop:
        high = ((b & 0x07) << 18) | ((np.int64(data[p + 1]) & 0x3F) << 12)
        return high | ((np.int64(data[p + 2]) & 0x3F) << 6) | (np.int64(data[p + 3]) & 0x3F), 4
    return 0xFFFD, stop - p


@kernel
def _fold_any(
    data: Array,
    p: int,
    stop: int,
    out: Array,
    start: int,
    replacement: Array,
    care: Array,
    folded_offsets: Array,
    folded_bytes: Array,
    check: bool,
) -> int:
    """Fold one text to `out[start:]`; return where it ends, or -1 if it needs normalising."""
    at = start
    blank = False
    last = 0
    while p < stop:
        byte = data[p]
        if byte < 128:
            folded = _FOLD[byte]
            p += 1
            last = 0
            if folded == _BLANK:
                blank = at > start
                continue
            if blank:
                out[at] = _BLANK
                at += 1
                blank = False
            out[at] = folded
            at += 1
            continue
        point, size = _code_point(data, p, stop)
        becomes = 0
        if point < replacement.shape[0]:
            becomes = replacement[point]
            if becomes == WHITE:
                blank = at > start
                last = 0
                p += size
                continue
            combining = care[point]
            if check:
                if combining == UNSAFE or (combining != 0 and combining < last):
                    return -1
                last = combining
        elif check and 0x2F800 <= point < 0x2FA20:  # compatibility ideographs decompose
            return -1
        if blank:
            out[at] = _BLANK
            at += 1
            blank = False
        if becomes > 0:
            for j in range(folded_offsets[becomes], folded_offsets[becomes + 1]):
                out[at] = folded_bytes[j]
                at += 1
        else:
            for j in range(p, p + size):
                out[at] = data[j]
                at += 1
        p += size
    return at


@njit(inline="always")
def _store_word(out: Array, p: int, word: np.uint64) -> None:
    """Store a word as eight bytes."""
    for j in range(8):
        out[p + j] = np.uint8((word >> np.uint64(8 * j)) & np.uint64(0xFF))


@njit(inline="always")
def _fold_plain(data: Array, p: int, stop: int, out: Array, at: int) -> int:
    """Fold an ASCII text without white space to collapse, eight bytes at a time.

    Returns 0 if nothing changed, 1 if something did, -1 if the text is not of that form. Writes up
    to seven bytes too many. The sums raise a byte's top bit where it is at or beyond a letter's
    code.
    """
    if data[p] <= _BLANK or data[stop - 1] <= _BLANK:
        return -1
    end = data.shape[0]
    changed = np.uint64(0)
    carry = np.uint64(0)
    while p < stop:
        left = stop - p
        if left >= 8:
            word = word_at(data, p)
        else:
            if p + 8 <= end:
                word = word_at(data, p)
            else:
                word = np.uint64(0)
                for j in range(left):
                    word |= np.uint64(data[p + j]) << np.uint64(8 * j)
            gone = np.uint64(8 * left)
            word = (word & ~(_ALL << gone)) | (_LETTERS << gone)
        if word & _TOPS:
            return -1
        if ~(word + _BEYOND_BLANK) & _TOPS:  # some byte is a blank or below
            if ~(word + _FROM_BLANK) & _TOPS:
                return -1
            blanks = ~(word + _BEYOND_BLANK) & _TOPS
            if blanks & ((blanks << np.uint64(8)) | carry):
                return -1
            carry = blanks >> np.uint64(56)
        else:
            carry = np.uint64(0)
        upper = (word + _FROM_A) & ~(word + _BEYOND_Z) & _TOPS
        changed |= upper
        _store_word(out, at, word | (upper >> np.uint64(2)))
        p += 8
        at += 8
    return 1 if changed else 0


@kernel
def fold_texts(
    offsets: Array,
    data: Array,
    begin: int,
    replacement: Array,
    care: Array,
    folded_offsets: Array,
    folded_bytes: Array,
    check: bool,
    word_firsts: Array,
    word_offsets: Array,
    words: Array,
    word_marks: Array,
    order: Array,
    evidence: Array,
    out_offsets: Array,
    out: Array,
    kinds: Array,
    marks: Array,
) -> int:
    """Fold the texts from `begin` on; return how many are done once `out` may be too small.

    The four arrays of null words come from the caller. A `SLOW` text comes out empty.
    """
    n = kinds.shape[0]
    for i in range(begin, n):
        p = offsets[i]
        stop = offsets[i + 1]
        start = out_offsets[i]
        # Folding at most triples a text; rewriting adds at most _ROOM.
        if start + 3 * (stop - p) + _ROOM > out.shape[0]:
            return i
        plain = 0
        end = start
        if p < stop:
            plain = _fold_plain(data, p, stop, out, start)
            end = start + stop - p
        if plain < 0:
            end = _fold_any(
                data, p, stop, out, start, replacement, care, folded_offsets, folded_bytes, check
            )
            if end < 0:
                out_offsets[i + 1] = start
                kinds[i] = TEXT
                marks[i] = SLOW | CHANGED
                continue
        kind = TEXT
        folded = end
        if end == start:
            kind = EMPTY
        else:
            first = out[start]
            if is_digit(first) or first in (43, 45, 46):
                end, kind = rewrite_number(out, start, folded)
                if kind == TEXT and is_digit(first):
                    end, kind = rewrite_date(out, start, folded, order, evidence)
            elif 97 <= first <= 122:
                length = end - start
                if (length == 4 and same_bytes(out, start, _TRUE, 0, 4)) or (
                    length == 5 and same_bytes(out, start, _FALSE, 0, 5)
                ):
                    kind = BOOLEAN
                elif is_digit(out[end - 1]) or out[end - 1] in (109, 122, 99, 116):
                    # A date by month name ends with a digit, or with am, pm, z, utc or gmt.
                    end, kind = rewrite_date(out, start, end, order, evidence)
        mark = 0
        if end > start:
            for w in range(word_firsts[out[start]], word_firsts[np.int64(out[start]) + 1]):
                size = word_offsets[w + 1] - word_offsets[w]
                if size == end - start and same_bytes(words, word_offsets[w], out, start, size):
                    mark = word_marks[w]
        if plain >= 0 and kind in (TEXT, BOOLEAN):
            changed = plain == 1
        else:
            changed = end - start != stop - p or not same_bytes(out, start, data, p, end - start)
        if changed:
            mark |= CHANGED
        out_offsets[i + 1] = end
        kinds[i] = kind
        marks[i] = mark
    return n
