"""Sets of numbers as bits: which numbers are in a set, and how many smaller ones with each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

_ONE = np.uint64(1)
_LOW = np.uint64(63)
_SIX = np.uint64(6)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def ones_in(typing_context: Any, word: Any) -> Any:
    """How many bits of a 64-bit number are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@njit(inline="always")
def rank_in(words: Array, before: Array, number: int) -> int:
    """How many smaller numbers a set has than this one, or -1 if it is not in the set.

    `before[w]` is how many numbers are in the words before word w.
    """
    place = np.uint64(number)
    word = place >> _SIX
    if word >= np.uint64(words.shape[0]):
        return np.int64(-1)
    bits, bit = words[word], _ONE << (place & _LOW)
    if bits & bit == np.uint64(0):
        return np.int64(-1)
    return np.int64(before[word]) + np.int64(ones_in(bits & (bit - _ONE)))


@kernel
def set_bits(numbers: Array, words: Array, before: Array) -> None:
    """Makes a set of distinct numbers; `words` must be zero and have room for the largest.

    >>> words, before = np.zeros(2, dtype=np.uint64), np.zeros(2, dtype=np.uint32)
    >>> set_bits(np.array([3, 70, 64], dtype=np.uint32), words, before)
    >>> words.tolist(), before.tolist()
    ([8, 65], [0, 1])
    """
    for number in numbers:
        place = np.uint64(number)
        words[place >> _SIX] |= _ONE << (place & _LOW)
    count = np.uint64(0)
    for word in range(words.shape[0]):
        before[word] = count
        count += ones_in(words[word])
