"""Canonical texts: case-folds, trims and collapses texts and rewrites numbers and dates, in a pass.

ASCII is done here outright. Beyond ASCII the Unicode tables (made by `lake/unicode.py`) say what a
code point becomes and whether Unicode's quick check still proves the result to be composed (NFC);
a text for which it does not is marked `SLOW` and left to the caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.dates import rewrite_date
from lakejoin.kernels.hashing import load_word
from lakejoin.kernels.numbers import BOOLEAN, EMPTY, LONGEST_PLAIN, TEXT, is_digit, rewrite_number

Array = np.ndarray[Any, Any]

# Marks: the text differs from its canonical form; it may be a null word; it needs normalising.
CHANGED, NULLISH, SLOW = 1, 2, 4

# Beside combining classes (0..240) in the table of cares.
UNSAFE = 255
# Instead of a replacement's number: the code point is white space.
WHITE = -1

_BLANK = 32
_ROOM = LONGEST_PLAIN + 24
_TRUE = np.frombuffer(b"true", dtype=np.uint8).copy()
_FALSE = np.frombuffer(b"false", dtype=np.uint8).copy()


def _ascii_fold() -> Array:
    table = np.arange(256, dtype=np.uint8)
    table[65:91] += 32
    table[[9, 10, 11, 12, 13, 28, 29, 30, 31]] = _BLANK
    return table


_FOLD = _ascii_fold()


@njit(inline="always")
def _code_point(data: Array, p: int, stop: int) -> tuple[int, int]:
    """The code point of the UTF-8 sequence at `p`, and its length."""
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


@njit(cache=True, nogil=True)
def _fold_one(
    data: Array,
    p: int,
    stop: int,
    out: Array,
    start: int,
    replacement: Array,
    care: Array,
    piece_offsets: Array,
    pieces: Array,
    check: bool,
) -> int:
    """Folds one text to `out[start:]`; where it ends, or -1 where it needs normalising."""
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
            here = care[point]
            if check:
                if here == UNSAFE or (here != 0 and here < last):
                    return -1
                last = here
        elif check and 0x2F800 <= point < 0x2FA20:  # compatibility ideographs decompose
            return -1
        if blank:
            out[at] = _BLANK
            at += 1
            blank = False
        if becomes > 0:
            for j in range(piece_offsets[becomes], piece_offsets[becomes + 1]):
                out[at] = pieces[j]
                at += 1
        else:
            for j in range(p, p + size):
                out[at] = data[j]
                at += 1
        p += size
    return at


@njit(inline="always")
def _equal(a: Array, p: int, b: Array, q: int, length: int) -> bool:
    i = 0
    while i + 8 <= length:
        if load_word(a, p + i) != load_word(b, q + i):
            return False
        i += 8
    while i < length:
        if a[p + i] != b[q + i]:
            return False
        i += 1
    return True


@njit(cache=True, nogil=True)
def fold_texts(
    offsets: Array,
    data: Array,
    begin: int,
    replacement: Array,
    care: Array,
    piece_offsets: Array,
    pieces: Array,
    check: bool,
    null_starts: Array,
    order: Array,
    evidence: Array,
    out_offsets: Array,
    out: Array,
    kinds: Array,
    marks: Array,
) -> int:
    """Canonical forms of texts `begin` and on; how many are done when `out` may be too small.

    `null_starts[b]` is the length of the longest null word that starts with byte b. A `SLOW`
    text comes out empty.
    """
    n = kinds.shape[0]
    for i in range(begin, n):
        p = offsets[i]
        stop = offsets[i + 1]
        start = out_offsets[i]
        # Folding makes a text at most three times as long; rewriting adds at most _ROOM.
        if start + 3 * (stop - p) + _ROOM > out.shape[0]:
            return i
        end = _fold_one(data, p, stop, out, start, replacement, care, piece_offsets, pieces, check)
        if end < 0:
            out_offsets[i + 1] = start
            kinds[i] = TEXT
            marks[i] = SLOW | CHANGED
            continue
        kind = TEXT
        mark = 0
        if end == start:
            kind = EMPTY
        else:
            first = out[start]
            if is_digit(first) or first in (43, 45, 46):
                folded = end
                end, kind = rewrite_number(out, start, folded)
                if kind == TEXT and is_digit(first):
                    end, kind = rewrite_date(out, start, folded, order, evidence)
            elif 97 <= first <= 122:
                length = end - start
                if (length == 4 and _equal(out, start, _TRUE, 0, 4)) or (
                    length == 5 and _equal(out, start, _FALSE, 0, 5)
                ):
                    kind = BOOLEAN
                elif is_digit(out[end - 1]) or out[end - 1] in (109, 122, 99, 116):
                    # A date by month name ends with a digit, or with am, pm, z, utc or gmt.
                    end, kind = rewrite_date(out, start, end, order, evidence)
            if end - start <= null_starts[out[start]]:
                mark |= NULLISH
        if end - start != stop - p or not _equal(out, start, data, p, end - start):
            mark |= CHANGED
        out_offsets[i + 1] = end
        kinds[i] = kind
        marks[i] = mark
    return n
