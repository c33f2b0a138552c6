"""Row filters that hash a text to bits: Bloom filters with any number of hashes, and SimHash."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.hashes import finish, hash_text

Array = np.ndarray[Any, Any]

# A Bloom filter of `hashes` hash functions derives all of them from the text's 64-bit hash h, that
# of the dictionary with seed 0. With draw(j) = finish(h + (j + 1) * K1), function i takes six bits
# of draw(i // 10), the lowest first, which choose a bit of a word; the word is (s + i) % words,
# where the top four bits of draw(0) give s. So every word gets its share of the bits, and the first
# word of a row refuses as many keys as any part of a filter of that size could.
#
# (Double hashing, one number plus multiples of another, would be as fast, but in 128 bits it has
# only 8,192 patterns: any two values would collide with a chance of 1 in 8,192, far more than the
# filter otherwise lets through.)

GRAM = 3  # bytes of an n-gram for SimHash

_STEP = np.uint64(0x9E3779B97F4A7C15)
_U0 = np.uint64(0)
_U1 = np.uint64(1)
_U6 = np.uint64(6)
_U60 = np.uint64(60)
_U63 = np.uint64(63)
_DRAWN = 10  # bit indices per draw


@njit(inline="always")
def _draw(h: np.uint64, draw_index: int) -> np.uint64:
    """Return the random word of a hash for one draw."""
    return finish(h + np.uint64(draw_index + 1) * _STEP)


@njit(inline="always")
def add_bits(h: np.uint64, hashes: int, row: Array) -> None:
    """Set the bits of a hash in a row of words."""
    last = row.shape[0] - 1
    word = _draw(h, 0)
    w = np.int64(word >> _U60) & last
    done = 0
    turn = 0
    while True:
        stop = min(hashes, done + _DRAWN)
        while done < stop:
            row[w] |= _U1 << (word & _U63)
            word >>= _U6
            w = (w + 1) & last
            done += 1
        if done == hashes:
            return
        turn += 1
        word = _draw(h, turn)


@kernel
def write_hash_bits(values: Array, hashes: int, out: Array) -> None:
    """Write the bits of each hash to the words `out[i]`."""
    if out.shape[1] == 2:
        _two_words(values, hashes, out)
        return
    for i in range(out.shape[0]):
        out[i] = _U0
        add_bits(values[i], hashes, out[i])


@njit
def _two_words(values: Array, hashes: int, out: Array) -> None:
    """As `add_bits`, but both words stay in registers."""
    for i in range(out.shape[0]):
        word = _draw(values[i], 0)
        swapped = np.int64(word >> _U60) & 1
        even, odd = _U0, _U0
        left = hashes
        turn = 0
        while True:
            taken = min(left, _DRAWN)
            for _ in range(taken >> 1):
                even |= _U1 << (word & _U63)
                odd |= _U1 << ((word >> _U6) & _U63)
                word >>= _U6 + _U6
            if taken & 1:  # only in the last turn: a draw has an even number of bit indices
                even |= _U1 << (word & _U63)
            left -= taken
            if left == 0:
                break
            turn += 1
            word = _draw(values[i], turn)
        out[i, swapped] = even
        out[i, 1 - swapped] = odd


@kernel
def simhash_texts(offsets: Array, data: Array, out: Array) -> None:
    """Compute the SimHash of the texts' n-grams of bytes; a shorter text is one n-gram.

    A bit is set if more n-grams have it set in their hash than not.
    """
    words = out.shape[1]
    votes = np.zeros(64 * words, dtype=np.int64)
    for i in range(out.shape[0]):
        votes[:] = 0
        p, stop = offsets[i], offsets[i + 1]
        while True:
            h = hash_text(data, p, min(p + GRAM, stop), _U0)
            for w in range(words):
                word = _draw(h, w)
                for b in range(64):
                    votes[64 * w + b] += 2 * np.int64((word >> np.uint64(b)) & _U1) - 1
            p += 1
            if p + GRAM > stop:
                break
        out[i] = _U0
        for bit in range(64 * words):
            if votes[bit] > 0:
                out[i, bit >> 6] |= _U1 << np.uint64(bit & 63)
