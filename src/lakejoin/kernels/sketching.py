"""Signatures of sets: two sets agree at a place with the probability of their Jaccard similarity.

A value comes as its 64-bit hash. At each of the `m` places of a signature one value of the set
wins, and the upper half of its hash is written there: so two signatures agree at a place if the
same value won, and entries are spread evenly whatever the sets look like. Three schemes choose the
winners:

- `PERMUTATIONS`: m permutations, the first value in each (Broder 1997). m steps a value.
- `ONE_PERMUTATION`: one permutation cut into m bins, the first value in each; an empty bin takes
  the winner of another, chosen by hashing until one is found (Shrivastava 2017). One step a value,
  but a small set fills few bins and is then estimated from these few.
- `FAST`: round after round, each value falls into a bin with a number of that round, and the
  smallest stays; over as soon as a round ends with all bins filled; the rounds from m on fill one
  bin each, for certain (Dahlgaard, Knudsen and Thorup 2017). One step a value for large sets, and
  as accurate as permutations for small ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.hashing import finish

Array = np.ndarray[Any, Any]

PERMUTATIONS = 0
ONE_PERMUTATION = 1
FAST = 2

_STEP = np.uint64(0x9E3779B97F4A7C15)
_ODD = np.uint64(1)
_TWO = np.uint64(2)
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_U32 = np.uint64(32)
_ROUND = np.uint64(52)  # a number is (round, 52 random bits); places are at most 2 ** 11
_BITS = np.uint64((1 << 52) - 1)


@njit(inline="always")
def _draw(h: np.uint64, turn: int) -> np.uint64:
    """A value's random word in a round."""
    return finish(h + np.uint64(turn + 1) * _STEP)


@njit(inline="always")
def _bin(word: np.uint64, places: int) -> np.int64:
    """Which bin the upper half of a word chooses."""
    return np.int64(((word >> _U32) * np.uint64(places)) >> _U32)


@kernel
def _inverse(odd: np.uint64) -> np.uint64:
    """The number that undoes a multiplication by an odd number, by Newton's method."""
    x = odd
    for _ in range(5):
        x *= _TWO - odd * x
    return x


@kernel
def _by_permutations(values: Array, best: Array, out: Array) -> None:
    places = out.shape[0]
    for j in range(places):
        multiplier = finish(np.uint64(2 * j + 1) * _STEP) | _ODD
        shift = finish(np.uint64(2 * j + 2) * _STEP)
        smallest = _NONE
        for i in range(values.shape[0]):
            smallest = min(smallest, values[i] * multiplier + shift)
        best[j] = (smallest - shift) * _inverse(multiplier)
        out[j] = np.uint32(best[j] >> _U32)


@kernel
def _by_one_permutation(values: Array, best: Array, winner: Array, out: Array) -> None:
    places = out.shape[0]
    best[:] = _NONE
    for i in range(values.shape[0]):
        word = _draw(values[i], 0)
        b = _bin(word, places)
        number = word & _BITS
        if number < best[b]:
            best[b] = number
            winner[b] = values[i]
    for j in range(places):
        b = j
        attempt = 0
        while best[b] == _NONE:
            attempt += 1
            b = _bin(finish(np.uint64(j + 1) * _STEP + np.uint64(attempt)), places)
        out[j] = np.uint32(winner[b] >> _U32)


@kernel
def _by_rounds(values: Array, best: Array, winner: Array, out: Array) -> None:
    places = out.shape[0]
    best[:] = _NONE
    empty = places
    for turn in range(2 * places):
        rank = np.uint64(turn) << _ROUND
        if turn >= places and best[turn - places] != _NONE:
            continue
        for i in range(values.shape[0]):
            word = _draw(values[i], turn)
            b = _bin(word, places) if turn < places else np.int64(turn - places)
            number = rank | (word & _BITS)
            if number < best[b]:
                if best[b] == _NONE:
                    empty -= 1
                best[b] = number
                winner[b] = values[i]
        if empty == 0:
            break
    for j in range(places):
        out[j] = np.uint32(winner[j] >> _U32)


@kernel
def sketch(values: Array, scheme: int, out: Array) -> None:
    """Writes the signature of a set of at least one hashed value."""
    best = np.empty(out.shape[0], dtype=np.uint64)
    if scheme == PERMUTATIONS:
        _by_permutations(values, best, out)
    elif scheme == ONE_PERMUTATION:
        _by_one_permutation(values, best, np.empty_like(best), out)
    else:
        _by_rounds(values, best, np.empty_like(best), out)


@kernel
def sketch_sets(start: Array, values: Array, scheme: int, out: Array) -> None:
    """The signatures of the sets `values[start[i]:start[i + 1]]`, none of them empty."""
    for i in range(start.shape[0] - 1):
        sketch(values[start[i] : start[i + 1]], scheme, out[i])


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
    """The signatures of columns whose sets are unions of groups of codes; `hashes` is by code."""
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
