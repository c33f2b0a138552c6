"""MinHash signatures of sets: their agreement estimates the Jaccard similarity."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.hashes import finish

Array = np.ndarray[Any, Any]

# A value comes as its 64-bit hash. At each of the `m` positions of a signature every value has a
# number of its own, and the smallest of the set is stored there, in 32 bits that keep the order of
# numbers and 21 significant bits of each. So two signatures agree at a position if the same value
# of both sets has the smallest number. And if the query's number is the smaller one, its value is
# surely not in the other set: the order tells more than the agreement alone.
#
# Three schemes give the numbers:
#
# - `PERMUTATIONS`: m permutations, the first value in each (Broder 1997). m steps per value.
# - `ONE_PERMUTATION`: one permutation cut into m bins, the first value in each; an empty bin copies
#   another, chosen by hashing until one is found (Shrivastava 2017). One step per value, but a
#   small set fills few bins and is then estimated from these few; and a copied bin agrees or not,
#   but has no order.
# - `FAST`: round after round, each value falls into a bin with a number of that round, and the
#   smallest stays; over as soon as a round ends with all bins filled; the rounds from m on fill one
#   bin each, for certain (Dahlgaard, Knudsen and Thorup 2017). One step per value for large sets,
#   and as accurate as permutations for small ones.

PERMUTATIONS = 0
ONE_PERMUTATION = 1
FAST = 2

_STEP = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(1)
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_U32 = np.uint64(32)
_U31 = np.uint64(31)
_U12 = np.uint64(12)
_U21 = np.uint64(21)
_ROUND = np.uint64(52)  # a number is (round, 52 random bits); there are at most 512 rounds
_BITS = np.uint64((1 << 52) - 1)
_AFTER = np.uint64(1023 + 52)  # the exponent of a float above those of all numbers of round 0


@njit(inline="always")
def _draw(h: np.uint64, round_index: int) -> np.uint64:
    """Return a value's random word in a round."""
    return finish(h + np.uint64(round_index + 1) * _STEP)


@njit(inline="always")
def _bin(word: np.uint64, positions: int) -> np.int64:
    """Return the bin that the upper half of a word chooses."""
    return np.int64(((word >> _U32) * np.uint64(positions)) >> _U32)


@kernel
def _write_signature(number: Array, out: Array) -> None:
    """Write numbers as 11 bits of exponent and 21 of significand.

    For round 0 these are those of a float, because the smallest of many values is a very small
    number; for the later rounds the exponent is the round itself.
    """
    as_float = np.empty(1, dtype=np.float64)
    as_bits = as_float.view(np.uint64)
    for j in range(number.shape[0]):
        round_index = number[j] >> _ROUND
        bits = number[j] & _BITS
        if round_index == 0:
            as_float[0] = np.float64(bits)
            out[j] = np.uint32(as_bits[0] >> _U31)
        else:
            out[j] = np.uint32(((_AFTER + round_index) << _U21) | (bits >> _U31))


@kernel
def _by_permutations(values: Array, best: Array) -> None:
    positions = best.shape[0]
    for j in range(positions):
        multiplier = finish(np.uint64(2 * j + 1) * _STEP) | _ODD
        shift = finish(np.uint64(2 * j + 2) * _STEP)
        smallest = _NONE
        for i in range(values.shape[0]):
            smallest = min(smallest, values[i] * multiplier + shift)
        best[j] = smallest >> _U12


@kernel
def _by_one_permutation(values: Array, best: Array) -> None:
    positions = best.shape[0]
    first = np.full(positions, _NONE, dtype=np.uint64)
    for i in range(values.shape[0]):
        word = _draw(values[i], 0)
        b = _bin(word, positions)
        first[b] = min(first[b], word & _BITS)
    for j in range(positions):
        b = j
        attempt = 0
        while first[b] == _NONE:
            attempt += 1
            b = _bin(finish(np.uint64(j + 1) * _STEP + np.uint64(attempt)), positions)
        best[j] = first[b]


@kernel
def _by_rounds(values: Array, best: Array) -> None:
    positions = best.shape[0]
    best[:] = _NONE
    empty = positions
    for round_index in range(2 * positions):
        rank = np.uint64(round_index) << _ROUND
        if round_index >= positions and best[round_index - positions] != _NONE:
            continue
        for i in range(values.shape[0]):
            word = _draw(values[i], round_index)
            b = (
                _bin(word, positions)
                if round_index < positions
                else np.int64(round_index - positions)
            )
            number = rank | (word & _BITS)
            if number < best[b]:
                if best[b] == _NONE:
                    empty -= 1
                best[b] = number
        if empty == 0:
            break


@kernel
def sketch(values: Array, scheme: int, out: Array) -> None:
    """Write the signature of a set of at least one hashed value."""
    best = np.empty(out.shape[0], dtype=np.uint64)
    if scheme == PERMUTATIONS:
        _by_permutations(values, best)
    elif scheme == ONE_PERMUTATION:
        _by_one_permutation(values, best)
    else:
        _by_rounds(values, best)
    _write_signature(best, out)


@kernel
def sketch_groups(
    columns: Array,
    set_start: Array,
    groups: Array,
    group_start: Array,
    hashes: Array,
    scheme: int,
    out: Array,
) -> None:
    """Write the signatures of columns whose sets are unions of groups of codes; `hashes` is by
    code.
    """
    largest = 0
    for i in range(columns.shape[0]):
        total = 0
        for j in range(set_start[columns[i]], set_start[columns[i] + 1]):
            total += int(group_start[groups[j] + 1]) - int(group_start[groups[j]])
        largest = max(largest, total)
    values = np.empty(largest, dtype=np.uint64)
    for i in range(columns.shape[0]):
        n = 0
        for j in range(set_start[columns[i]], set_start[columns[i] + 1]):
            for code in range(group_start[groups[j]], group_start[groups[j] + 1]):
                values[n] = hashes[code]
                n += 1
        sketch(values[:n], scheme, out[i])
