"""XASH (MATE, section 5.3): a text's rarest characters, their positions and its length, as bits.

The bits of a hash are numbered from the left: bit i is bit i % 64 (of value 2 ** (i % 64)) of word
i // 64. First comes the *length segment* of L bits, all in word 0; then the 37 *character segments*
of β bits each: 0-9, a-z, blank. A text of l characters sets

- bit l mod L;
- for each of its α - 1 least frequent characters bit x of the character's segment, where
  x = ceil(average position * β / l) counts from one; then all character segments together are
  rotated by l to the left.

| symbol | here             | meaning                                                         |
| ------ | ---------------- | --------------------------------------------------------------- |
| α      | `rarest` + 1     | the most ones a hash has (equation 5)                           |
| β      | `beta`           | bits of a character's segment (equation 6)                      |
| L      | `length_segment` | bits of the length segment: all bits but 37 β                   |
| l      | `length`         | the length of the text, in code points                          |
| c      | `class_of`       | the class of a character, of 37                                 |
| x      | `_shade` + 1     | which of β equal parts of the text a character is in on average |

Every character belongs to one of 37 *classes*: upper-case letters to those of the lower-case ones,
and anything but these letters, digits and blanks to class (code point mod 37). Positions and
lengths count code points. The empty text sets only bit 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lakejoin.kernels.jit import intrinsic, kernel, njit
from lakejoin.model import Array

CLASSES = 37
CLASS_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyz "  # one character per class

_END = 38  # stands for a rank: nothing is left to choose
_FOREIGN = 39  # stands for a rank: a byte of a character that is not ASCII
_SLOTS = 40
_LONG = 255  # characters: up to this length the sum of all positions fits into 16 bits
_U0 = np.uint64(0)
_U1 = np.uint64(1)
_U2 = np.uint64(2)
_U3 = np.uint64(3)
_U4 = np.uint64(4)
_NO_RANK = np.uint64(_END)
_END_BIT = np.uint64(1 << _END)
_FOREIGN_BIT = np.uint64(1 << _FOREIGN)
_LOW = np.uint32(0xFFFF)
_HALF = np.uint32(16)
_ONE = np.uint32(1)
_FIRST = np.uint32(0x10001)  # an occurrence (upper half) at position 1 (lower half)


class XashParameters(NamedTuple):
    """The parameters of the hash. `rank_of` has the rank of each class, the rarest being 0.

    `beta` is the length of a character's segment and `shades` how many of its bits tell locations;
    `rarest` characters count. `length_segment` bits come first and are used if `with_length` is
    one; `turn` is one if the character segments are rotated.
    """

    rank_of: Array
    beta: int
    shades: int
    rarest: int
    length_segment: int
    with_length: int
    turn: int


@intrinsic
def _lowest(typing_context: Any, word: Any) -> Any:
    """Return the index of the lowest bit that is set, of a word that is not zero."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@njit(inline="always")
def class_of(point: int) -> int:
    """Return the class of a character, given as its code point."""
    if 48 <= point < 58:
        return point - 48
    if 97 <= point < 123:
        return point - 87
    if 65 <= point < 91:
        return point - 55
    if point == 32:
        return 36
    return point % CLASSES


@njit
def _next(data: Array, p: int) -> tuple[int, int]:
    """Decode the code point at byte p of valid UTF-8; return it and how many bytes it takes."""
    first = np.int64(data[p])
    if first < 0x80:
        return first, 1
    if first < 0xE0:
        return (first & 31) << 6 | (data[p + 1] & 63), 2
    if first < 0xF0:
        return (first & 15) << 12 | (data[p + 1] & 63) << 6 | (data[p + 2] & 63), 3
    high = (first & 7) << 18 | (np.int64(data[p + 1]) & 63) << 12
    return high | (data[p + 2] & 63) << 6 | (data[p + 3] & 63), 4


@kernel
def count_classes(offsets: Array, data: Array, counts: Array) -> None:
    """Add to `counts` how many characters of each class the texts have."""
    by_byte = np.zeros(256, dtype=np.int64)
    p, stop = offsets[0], offsets[offsets.shape[0] - 1]
    while p < stop:
        if data[p] < 0x80:
            by_byte[data[p]] += 1
            p += 1
        else:
            point, size = _next(data, p)
            counts[class_of(point)] += 1
            p += size
    for byte in range(128):
        counts[class_of(byte)] += by_byte[byte]


@njit(inline="always")
def _look(data: Array, begin: int, end: int, rank: Array, seen_at: Array) -> np.uint64:
    """Return which ranks a text has, as bits.

    `seen_at` gets for each how often (upper half) and the sum of positions (lower half). Unsigned
    indices avoid a test for negative ones.
    """
    seen_at[:] = 0
    here = _FIRST
    seen = _U0
    p, stop = np.uint64(begin), np.uint64(end)
    while p + _U4 <= stop:
        a = rank[data[p]]
        b = rank[data[p + _U1]]
        c = rank[data[p + _U2]]
        d = rank[data[p + _U3]]
        seen_at[a] += here
        seen_at[b] += here + np.uint32(1)
        seen_at[c] += here + np.uint32(2)
        seen_at[d] += here + np.uint32(3)
        here += np.uint32(4)
        seen |= (_U1 << np.uint64(a)) | (_U1 << np.uint64(b))
        seen |= (_U1 << np.uint64(c)) | (_U1 << np.uint64(d))
        p += _U4
    while p < stop:
        a = rank[data[p]]
        seen_at[a] += here
        here += _ONE
        seen |= _U1 << np.uint64(a)
        p += _U1
    return seen


@njit(inline="always")
def _shade(seen: np.uint32, length: int, shades: int) -> np.int64:
    """Return in which of the equal parts of a text a character is on average, from 0 on."""
    whole = (seen >> _HALF) * np.uint32(length)
    weighted = (seen & _LOW) * np.uint32(shades)
    if shades == 3:  # comparing is faster than dividing
        return np.int64(weighted > whole) + np.int64(weighted > whole + whole)
    return np.int64((max(weighted, _ONE) - _ONE) // max(whole, _ONE))


class _Tables(NamedTuple):
    """Look-up tables: by byte the rank of its class; by rank where its segment begins; by length
    its bit and its rotation.
    """

    rank: Array
    base: Array
    length_bit: Array
    turn: Array


@njit
def _tables(xash: XashParameters) -> _Tables:
    """Build the look-up tables."""
    rank = np.empty(256, dtype=np.uint8)
    base = np.zeros(_SLOTS, dtype=np.int64)
    length_bit = np.zeros(_LONG + 1, dtype=np.uint64)
    turn = np.zeros(_LONG + 1, dtype=np.int64)
    for byte in range(256):
        rank[byte] = xash.rank_of[class_of(byte)] if byte < 128 else _FOREIGN
    for c in range(CLASSES):
        base[xash.rank_of[c]] = c * xash.beta
    for length in range(_LONG + 1):
        if xash.with_length:
            length_bit[length] = _U1 << np.uint64(length % xash.length_segment)
        turn[length] = xash.turn * length % (CLASSES * xash.beta)
    return _Tables(rank, base, length_bit, turn)


@kernel
def _two_words(offsets: Array, data: Array, xash: XashParameters, out: Array, left: Array) -> int:
    """Hash the short ASCII texts; write the indices of all others to `left` and return how many."""
    rank, base, length_bit, turn = _tables(xash)
    span = CLASSES * xash.beta
    seen_at = np.zeros(_SLOTS, dtype=np.uint32)
    others = 0
    for i in range(out.shape[0]):
        p, stop = offsets[i], offsets[i + 1]
        length = stop - p
        seen = _look(data, p, stop, rank, seen_at) if length <= _LONG else _FOREIGN_BIT
        if seen & _FOREIGN_BIT:
            left[others] = i
            others += 1
            continue
        low, high = length_bit[np.uint64(length)], _U0
        rotation = turn[np.uint64(length)]
        seen |= _END_BIT
        for _ in range(xash.rarest):  # without branches: texts with few characters are common
            r = _lowest(seen)
            is_rank = np.uint64(r != _NO_RANK)
            seen &= seen - is_rank
            bit = base[r] + _shade(seen_at[r], length, xash.shades) - rotation
            bit += (span & (bit >> 63)) + xash.length_segment
            mark = is_rank << np.uint64(bit & 63)
            second = _U0 - np.uint64(bit >> 6)
            high |= mark & second
            low |= mark & ~second
        out[i, 0] = low
        out[i, 1] = high
    return others


@kernel
def _more_words(offsets: Array, data: Array, xash: XashParameters, out: Array, left: Array) -> int:
    """As `_two_words`, for more words: these do not stay in registers."""
    rank, base, length_bit, turn = _tables(xash)
    span = CLASSES * xash.beta
    seen_at = np.zeros(_SLOTS, dtype=np.uint32)
    others = 0
    for i in range(out.shape[0]):
        p, stop = offsets[i], offsets[i + 1]
        length = stop - p
        seen = _look(data, p, stop, rank, seen_at) if length <= _LONG else _FOREIGN_BIT
        if seen & _FOREIGN_BIT:
            left[others] = i
            others += 1
            continue
        out[i] = _U0
        out[i, 0] = length_bit[length]
        rotation = turn[length]
        seen |= _END_BIT
        for _ in range(xash.rarest):
            r = _lowest(seen)
            is_rank = np.uint64(r != _NO_RANK)
            seen &= seen - is_rank
            bit = base[r] + _shade(seen_at[r], length, xash.shades) - rotation
            bit += (span & (bit >> 63)) + xash.length_segment
            out[i, bit >> 6] |= is_rank << np.uint64(bit & 63)
    return others


@kernel
def _any_texts(offsets: Array, data: Array, xash: XashParameters, out: Array, which: Array) -> None:
    """Hash the texts `which`, of any characters and length."""
    rank, base, _, _ = _tables(xash)
    span = CLASSES * xash.beta
    sums = np.zeros(CLASSES, dtype=np.int64)
    counts = np.zeros(CLASSES, dtype=np.int64)
    for i in which:
        sums[:] = 0
        counts[:] = 0
        p, stop = offsets[i], offsets[i + 1]
        length = 0
        while p < stop:
            if data[p] < 0x80:
                rank_index = np.int64(rank[data[p]])
                p += 1
            else:
                point, size = _next(data, p)
                rank_index = np.int64(xash.rank_of[class_of(point)])
                p += size
            length += 1
            sums[rank_index] += length
            counts[rank_index] += 1
        out[i] = _U0
        if xash.with_length:
            out[i, 0] = _U1 << np.uint64(length % xash.length_segment)
        chosen = 0
        for r in range(CLASSES):
            if counts[r] > 0 and chosen < xash.rarest:
                chosen += 1
                shade = (sums[r] * xash.shades - 1) // (counts[r] * length)
                bit = xash.length_segment + (base[r] + shade - xash.turn * length) % span
                out[i, bit >> 6] |= _U1 << np.uint64(bit & 63)


def xash_texts(offsets: Array, data: Array, xash: XashParameters, out: Array) -> None:
    """Write the hash of text i, `data[offsets[i]:offsets[i + 1]]`, to the words `out[i]`."""
    left = np.empty(len(out), dtype=np.int64)
    hash_most = _two_words if out.shape[1] == 2 else _more_words
    others = hash_most(offsets, data, xash, out, left)
    _any_texts(offsets, data, xash, out, left[:others])
