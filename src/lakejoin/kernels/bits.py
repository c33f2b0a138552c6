"""Sets of integers as bits, with the rank of each member."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from lakejoin.kernels.jit import kernel

Array = np.ndarray[Any, Any]

_BIT = np.uint64(1)
_IN_WORD = np.uint64(63)
_WORD_SHIFT = np.uint64(6)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def count_ones(typing_context: Any, word: Any) -> Any:
    """Count the bits that are set in a 64-bit number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@njit(inline="always")
def rank_in_set(words: Array, before: Array, member: int) -> int:
    """Return how many smaller members a set has than this one, or -1 if it is no member.

    `before[w]` is how many members are in the words before word w.
    """
    bit_index = np.uint64(member)
    word = bit_index >> _WORD_SHIFT
    if word >= np.uint64(words.shape[0]):
        return np.int64(-1)
    bits, bit = words[word], _BIT << (bit_index & _IN_WORD)
    if bits & bit == np.uint64(0):
        return np.int64(-1)
    return np.int64(before[word]) + np.int64(count_ones(bits & (bit - _BIT)))


@kernel
def build_bit_set(members: Array, words: Array, before: Array) -> None:
    """Build a set of distinct members; `words` must be zero and have room for the largest.

    >>> words, before = np.zeros(2, dtype=np.uint64), np.zeros(2, dtype=np.uint32)
    >>> build_bit_set(np.array([3, 70, 64], dtype=np.uint32), words, before)
    >>> words.tolist(), before.tolist()
    ([8, 65], [0, 1])
    """
    for member in members:
        bit_index = np.uint64(member)
        words[bit_index >> _WORD_SHIFT] |= _BIT << (bit_index & _IN_WORD)
    count = np.uint64(0)
    for word in range(words.shape[0]):
        before[word] = count
        count += count_ones(words[word])
