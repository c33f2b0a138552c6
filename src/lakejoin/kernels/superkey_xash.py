"""XASH: a few bits of a text, from its rarest characters, where they stand, and its length.

The bits of a hash are numbered from the left: bit i is bit i % 64 (of value 2 ** (i % 64)) of word
i // 64. First comes the *length segment*, which so lies in word 0; then the 37 *character
segments* of `beta` bits each: 0-9, a-z, blank. A text of l characters sets

- bit l mod |length segment|;
- for each of its `rarest` least frequent characters bit x of the character's segment, where
  x = ceil(average position * beta / l) counts from one; then all character segments together are
  rotated by l to the left.

Every character belongs to one of the 37 *classes*: upper-case letters to those of the lower-case
ones, and what is neither a letter of these, nor a digit nor a blank to class (code point mod 37).
Positions and lengths count code points. The empty text sets only bit 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

CLASSES = 37
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz "  # what the classes stand for

_END = 38  # as if it were a rank: nothing is left to choose
_FOREIGN = 39  # as if it were a rank: a byte of a character that is not ASCII
_SLOTS = 40
_LONG = 255  # up to here the sum of all positions fits into 16 bits
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


class Xash(NamedTuple):
    """How texts are hashed. `rank_of` has the rank of each class, the rarest being 0.

    `beta` is the length of a character's segment and `shades` how many of its bits tell locations;
    `rarest` characters count. `length_segment` bits come first, used where `with_length` is one,
    and `turn` is one where the character segments are rotated.
    """

    rank_of: Array
    beta: int
    shades: int
    rarest: int
    length_segment: int
    with_length: int
    turn: int


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _lowest(typing_context: Any, word: Any) -> Any:
    """The number of the lowest bit that is set, of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@njit(inline="always")
def class_of(point: int) -> int:
    """The class of a character, given as its code point."""
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
    """The code point that begins at byte p of valid UTF-8, and how many bytes it takes."""
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
    """Adds to `counts` how many characters of each class the texts have."""
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
    """Which ranks a text has, as bits; `seen_at` has for each how often (upper half) and the sum of
    positions (lower half). Unsigned places save asking whether they count from the end."""
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
def _shade(found: np.uint32, length: int, shades: int) -> np.int64:
    """In which of the equal parts of a text a character stands on average, from 0 on."""
    whole = (found >> _HALF) * np.uint32(length)
    part = (found & _LOW) * np.uint32(shades)
    if shades == 3:  # comparing is faster than dividing
        return np.int64(part > whole) + np.int64(part > whole + whole)
    return np.int64((max(part, _ONE) - _ONE) // max(whole, _ONE))


class _Tables(NamedTuple):
    """What a text is looked up in: by byte its class's rank; by rank where its segment begins; by
    length its bit and how far it turns."""

    rank: Array
    base: Array
    length_bit: Array
    turn: Array


@njit
def _tables(how: Xash) -> _Tables:
    rank = np.empty(256, dtype=np.uint8)
    base = np.zeros(_SLOTS, dtype=np.int64)
    length_bit = np.zeros(_LONG + 1, dtype=np.uint64)
    turn = np.zeros(_LONG + 1, dtype=np.int64)
    for byte in range(256):
        rank[byte] = how.rank_of[class_of(byte)] if byte < 128 else _FOREIGN
    for c in range(CLASSES):
        base[how.rank_of[c]] = c * how.beta
    for length in range(_LONG + 1):
        if how.with_length:
            length_bit[length] = _U1 << np.uint64(length % how.length_segment)
        turn[length] = how.turn * length % (CLASSES * how.beta)
    return _Tables(rank, base, length_bit, turn)


@kernel
def _two_words(offsets: Array, data: Array, how: Xash, out: Array, left: Array) -> int:
    """Hashes the texts that are short and ASCII; writes the numbers of all others to `left` and
    returns how many they are."""
    rank, base, length_bit, turn = _tables(how)
    span = CLASSES * how.beta
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
        back = turn[np.uint64(length)]
        seen |= _END_BIT
        for _ in range(how.rarest):  # without branches: texts with few characters are common
            r = _lowest(seen)
            one = np.uint64(r != _NO_RANK)
            seen &= seen - one
            bit = base[r] + _shade(seen_at[r], length, how.shades) - back
            bit += (span & (bit >> 63)) + how.length_segment
            mark = one << np.uint64(bit & 63)
            second = _U0 - np.uint64(bit >> 6)
            high |= mark & second
            low |= mark & ~second
        out[i, 0] = low
        out[i, 1] = high
    return others


@kernel
def _more_words(offsets: Array, data: Array, how: Xash, out: Array, left: Array) -> int:
    """As `_two_words`, for more words: these do not stay in registers."""
    rank, base, length_bit, turn = _tables(how)
    span = CLASSES * how.beta
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
        back = turn[length]
        seen |= _END_BIT
        for _ in range(how.rarest):
            r = _lowest(seen)
            one = np.uint64(r != _NO_RANK)
            seen &= seen - one
            bit = base[r] + _shade(seen_at[r], length, how.shades) - back
            bit += (span & (bit >> 63)) + how.length_segment
            out[i, bit >> 6] |= one << np.uint64(bit & 63)
    return others


@kernel
def _any_texts(offsets: Array, data: Array, how: Xash, out: Array, which: Array) -> None:
    """Hashes the texts `which`, of any characters and length."""
    rank, base, _, _ = _tables(how)
    span = CLASSES * how.beta
    sums = np.zeros(CLASSES, dtype=np.int64)
    counts = np.zeros(CLASSES, dtype=np.int64)
    for i in which:
        sums[:] = 0
        counts[:] = 0
        p, stop = offsets[i], offsets[i + 1]
        length = 0
        while p < stop:
            if data[p] < 0x80:
                own = np.int64(rank[data[p]])
                p += 1
            else:
                point, size = _next(data, p)
                own = np.int64(how.rank_of[class_of(point)])
                p += size
            length += 1
            sums[own] += length
            counts[own] += 1
        out[i] = _U0
        if how.with_length:
            out[i, 0] = _U1 << np.uint64(length % how.length_segment)
        chosen = 0
        for r in range(CLASSES):
            if counts[r] > 0 and chosen < how.rarest:
                chosen += 1
                shade = (sums[r] * how.shades - 1) // (counts[r] * length)
                bit = how.length_segment + (base[r] + shade - how.turn * length) % span
                out[i, bit >> 6] |= _U1 << np.uint64(bit & 63)


def xash_texts(offsets: Array, data: Array, how: Xash, out: Array) -> None:
    """Writes the hash of text i, `data[offsets[i]:offsets[i + 1]]`, to the words `out[i]`."""
    left = np.empty(len(out), dtype=np.int64)
    hash_most = _two_words if out.shape[1] == 2 else _more_words
    others = hash_most(offsets, data, how, out, left)
    _any_texts(offsets, data, how, out, left[:others])
