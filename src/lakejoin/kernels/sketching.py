"""Signatures of sets: two sets agree at a place with the probability of their Jaccard similarity.

A value comes as its 64-bit hash. At each of the `m` places of a signature every value has a number
of its own, and the smallest of the set is written there, in 32 bits that keep the order of numbers
and 21 significant bits of each. So two signatures agree at a place if the same value of both sets
has the smallest number. And if the query's number is the smaller one, the value that it belongs to
is certainly not in the other set: the order tells more than the agreement alone.

Three schemes give the numbers:

- `PERMUTATIONS`: m permutations, the first value in each (Broder 1997). m steps a value.
- `ONE_PERMUTATION`: one permutation cut into m bins, the first value in each; an empty bin takes
  what another has, chosen by hashing until one is found (Shrivastava 2017). One step a value, but
  a small set fills few bins and is then estimated from these few; and what was taken from
  elsewhere agrees or not, but has no order.
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
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_U32 = np.uint64(32)
_U31 = np.uint64(31)
_U12 = np.uint64(12)
_U21 = np.uint64(21)
_ROUND = np.uint64(52)  # a number is (round, 52 random bits); there are at most 512 rounds
_BITS = np.uint64((1 << 52) - 1)
_AFTER = np.uint64(1023 + 52)  # the exponent of a float above those of all numbers of round 0


@njit(inline="always")
def _draw(h: np.uint64, turn: int) -> np.uint64:
    """A value's random word in a round."""
    return finish(h + np.uint64(turn + 1) * _STEP)


@njit(inline="always")
def _bin(word: np.uint64, places: int) -> np.int64:
    """Which bin the upper half of a word chooses."""
    return np.int64(((word >> _U32) * np.uint64(places)) >> _U32)


@kernel
def _write(number: Array, out: Array) -> None:
    """Numbers as 11 bits of exponent and 21 of significand: those of a float for round 0, of which
    the smallest of many values is a very small part; the round itself for the later ones."""
    as_float = np.empty(1, dtype=np.float64)
    as_bits = as_float.view(np.uint64)
    for j in range(number.shape[0]):
        turn = number[j] >> _ROUND
        bits = number[j] & _BITS
        if turn == 0:
            as_float[0] = np.float64(bits)
            out[j] = np.uint32(as_bits[0] >> _U31)
        else:
            out[j] = np.uint32(((_AFTER + turn) << _U21) | (bits >> _U31))


@kernel
def _by_permutations(values: Array, best: Array) -> None:
    places = best.shape[0]
    for j in range(places):
        multiplier = finish(np.uint64(2 * j + 1) * _STEP) | _ODD
        shift = finish(np.uint64(2 * j + 2) * _STEP)
        smallest = _NONE
        for i in range(values.shape[0]):
            smallest = min(smallest, values[i] * multiplier + shift)
        best[j] = smallest >> _U12


@kernel
def _by_one_permutation(values: Array, best: Array) -> None:
    places = best.shape[0]
    first = np.full(places, _NONE, dtype=np.uint64)
    for i in range(values.shape[0]):
        word = _draw(values[i], 0)
        b = _bin(word, places)
        first[b] = min(first[b], word & _BITS)
    for j in range(places):
        b = j
        attempt = 0
        while first[b] == _NONE:
            attempt += 1
            b = _bin(finish(np.uint64(j + 1) * _STEP + np.uint64(attempt)), places)
        best[j] = first[b]


@kernel
def _by_rounds(values: Array, best: Array) -> None:
    places = best.shape[0]
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
        if empty == 0:
            break


@kernel
def sketch(values: Array, scheme: int, out: Array) -> None:
    """Writes the signature of a set of at least one hashed value."""
    best = np.empty(out.shape[0], dtype=np.uint64)
    if scheme == PERMUTATIONS:
        _by_permutations(values, best)
    elif scheme == ONE_PERMUTATION:
        _by_one_permutation(values, best)
    else:
        _by_rounds(values, best)
    _write(best, out)


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
