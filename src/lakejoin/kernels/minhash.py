"""MinHash signatures of sets, LSH Ensemble partitions, and estimates of shared values."""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.hashes import finish
from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

# Symbols of the thesis (chapter 2):
#
#     q, x        sizes of the query and of a set; `ratio` is x / q
#     t, s        containment, and the Jaccard similarity that it implies: s = t / (x/q + 1 - t)
#     b, r        bands, and rows of a band, of a signature
#     i           how many values the query and a set share


@njit(inline="always")
def _cost(counts: Array, totals: Array, sizes: Array, i: int, j: int) -> np.float64:
    """Equation 2.18: the cost of the partition of distinct sizes [i, j]; sums run before i."""
    return (counts[j + 1] - counts[i]) - (totals[j + 1] - totals[i]) / sizes[j]


@kernel
def find_partition_ends(sizes: Array, counts: Array, partitions: int, ends: Array) -> float:
    """Find the cheapest partitions of ascending distinct sizes: write the last size of each.

    Equation 2.19 by dynamic programming. With S the running sum of count x size, the only part of
    the cost that couples the first size i and the last size j is S[i] / size[j]; S rises and 1 /
    size falls, so the best i never falls as j rises (the cost is a Monge array), and each layer is
    found by halving: O(partitions x d log d) for d distinct sizes, the exact optimum.
    """
    d = sizes.shape[0]
    before_counts = np.zeros(d + 1)
    before_totals = np.zeros(d + 1)
    for i in range(d):
        before_counts[i + 1] = before_counts[i] + counts[i]
        before_totals[i + 1] = before_totals[i] + counts[i] * np.float64(sizes[i])
    best = np.empty(d)
    for j in range(d):
        best[j] = _cost(before_counts, before_totals, sizes, 0, j)
    choice = np.zeros((partitions, d), dtype=np.int64)
    stack = np.empty((128, 4), dtype=np.int64)
    for p in range(1, partitions):
        layer = best.copy()  # fewer partitions are allowed too
        choice[p, :] = -1
        top = 1
        stack[0] = p, d - 1, p, d - 1
        while top > 0:
            top -= 1
            low, high, first, last = stack[top]
            if low > high:
                continue
            j = (low + high) // 2
            value = np.inf
            best_first = first
            for i in range(first, min(last, j) + 1):
                total = best[i - 1] + _cost(before_counts, before_totals, sizes, i, j)
                if total < value:
                    value, best_first = total, i
            if value < layer[j]:
                layer[j] = value
                choice[p, j] = best_first
            stack[top] = low, j - 1, first, best_first
            stack[top + 1] = j + 1, high, best_first, last
            top += 2
        best = layer
    j = d - 1
    n = 0
    p = partitions - 1
    while j >= 0:
        while p > 0 and choice[p, j] < 0:
            p -= 1
        ends[n] = j
        n += 1
        if p == 0:
            break
        j = choice[p, j] - 1
        p -= 1
    return best[d - 1]


# -- estimates from counts -----------------------------------------------------------------------
#
# Let a query of q values and a set of x values share i of them. The smallest number at a position
# of a signature is equally likely to belong to any of the q + x - i values: to a shared one (the
# signatures are equal there) with probability i / (q + x - i), to one that only the query has (the
# query's number is less) with (q - i) / (q + x - i), else to one that only the set has. q and x are
# known, so the counts of the three cases tell how large i is.


@kernel
def score_counts(equal: int, less: int, positions: int, q: float, x: float, shared: float) -> float:
    """Return by how many standard deviations counts exceed those expected for `shared` values.

    The score test: the slope of the log-likelihood over the root of its information.
    """
    more = positions - equal - less
    only_q, only_x, both = q - shared, x - shared, q + x - shared
    if (only_q <= 0.0 and less > 0) or (only_x <= 0.0 and more > 0):
        return -np.inf  # the query has a value that the set lacks, or the reverse
    slope = equal / shared + positions / both
    information = 1.0 / shared - 1.0 / both
    if only_q > 0.0:
        slope -= less / only_q
        information += 1.0 / only_q
    if only_x > 0.0:
        slope -= more / only_x
        information += 1.0 / only_x
    return slope / np.sqrt(positions / both * information) if information > 0.0 else 0.0


@kernel
def score_equal_count(equal: int, positions: int, q: float, x: float, shared: float) -> float:
    """Return the same, from the number of equal positions alone."""
    s = shared / (q + x - shared)
    spread = np.sqrt(positions * s * (1.0 - s))
    if spread == 0.0:
        return 0.0 if equal == positions else -np.inf
    return (equal - positions * s) / spread


@kernel
def estimate_shared(
    equal: Array,
    less: Array,
    positions: int,
    q: float,
    sizes: Array,
    ordered: bool,
    shared: Array,
    error: Array,
) -> None:
    """Estimate the number of shared values, and its standard error, from counts and sizes.

    Without an order only `equal` counts.
    """
    for k in range(equal.shape[0]):
        x = np.float64(sizes[k])
        most = min(q, x)
        same, below = np.float64(equal[k]), np.float64(less[k])
        if not ordered:
            s = same / positions
            shared[k] = min(most, s * (q + x) / (1.0 + s))
            s = (same + 0.5) / (positions + 1.0)
            error[k] = np.sqrt(s * (1.0 - s) / positions) * (q + x) / (1.0 + s) ** 2
            continue
        above = positions - same - below
        # Where the slope of the log-likelihood is zero: the cubic terms cancel, and the smaller
        # root of what remains lies between 0 and the smaller size.
        a2 = same * (q + x) + below * x + above * q
        a1 = same * (q * x + (q + x) ** 2) + (below * x + above * q) * (q + x) - positions * q * x
        a0 = same * q * x * (q + x)
        i = 2.0 * a0 / (a1 + np.sqrt(max(0.0, a1 * a1 - 4.0 * a2 * a0)))
        shared[k] = min(i, most)
        # Half a position more or less keeps the error above zero where all positions agree.
        i = min(i, q * (1.0 - 0.5 / (same + below + 1.0)), x * (1.0 - 0.5 / (same + above + 1.0)))
        i = max(i, 0.5 * (q + x) / (positions + 1.0) * min(1.0, most / (q + x)))
        both = q + x - i
        information = 1.0 / i + 1.0 / (q - i) + 1.0 / (x - i) - 1.0 / both
        error[k] = 1.0 / np.sqrt(positions / both * information)


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
    """Write the signatures of columns, which are unions of groups of codes; `hashes` is by code."""
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
