"""Compiled: find the columns of one segment that are contained in columns of another.

Each column looks for columns at least as large as itself, so that every pair is found once. If a
column X holds `need` of the n values of Q, it holds one of any n - need + 1 of them (the prefix
filter), so the rarest of these give all candidates. The other values are then counted for the
candidates only, list by list or candidate by candidate, whichever is less to read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

_SEARCH_COST = 6  # a binary search costs about as much as reading this many entries in a row


class ContainedColumns(NamedTuple):
    """The columns that may be contained; see `JoinableColumns`."""

    sizes: Array
    tables: Array
    set_start: Array
    groups: Array
    weights: Array


class ContainingColumns(NamedTuple):
    """The columns that may contain them."""

    sizes: Array
    tables: Array
    set_start: Array
    groups: Array
    list_start: Array
    lists: Array


class SharedGroups(NamedTuple):
    """By group of the contained side: which groups of the other share values, and how many."""

    start: Array
    others: Array
    counts: Array


class BothSides(NamedTuple):
    """The columns of both sides, and the values that they share."""

    contained: ContainedColumns
    containing: ContainingColumns
    between: SharedGroups


@kernel
def count_pairs(
    sides: BothSides,
    same: bool,
    ties: bool,
    share: float,
    ranks: Array,
    begin: int,
    counts: Array,
    touched: Array,
    out: Array,
) -> tuple[int, int]:
    """Write (rank of Q, rank of X, shared values) for every X that holds the share of Q.

    Q are the columns `ranks[begin:]`. `same` says that both sides are one segment; otherwise `ties`
    says whether columns of equal size form pairs here. Stops before the first column that may not
    fit into `out`; returns its position and the number of pairs written. `counts` must be zeros,
    one per column X, and is zero again afterwards.
    """
    contained = sides.contained
    sizes, tables, set_start = contained.sizes, contained.tables, contained.set_start
    containing_sizes, containing_tables = sides.containing.sizes, sides.containing.tables
    written = 0
    room = out.shape[1]
    for n in range(begin, ranks.shape[0]):
        if written + containing_sizes.shape[0] > room:
            return n, written
        q = ranks[n]
        size = sizes[q]
        need = np.int64(np.ceil(share * size - 1e-9))
        need = max(need, np.int64(1))
        # Ranks descend in size: those before `last` are large enough.
        last = _large_enough(containing_sizes, size, same, ties, q)
        if last == 0:
            continue
        end = set_start[q + 1]
        prefix = size - need + 1
        at, found = _candidates(sides, q, prefix, last, counts, touched)
        if found == 0:
            continue
        found = _rest(sides, at, end, last, need, counts, touched, found)
        for i in range(found):
            x = touched[i]
            shared = counts[x]
            counts[x] = 0
            if shared >= need and not (same and containing_tables[x] == tables[q]):
                out[0, written] = q
                out[1, written] = x
                out[2, written] = shared
                written += 1
    return ranks.shape[0], written


@njit
def _large_enough(containing_sizes: Array, size: int, same: bool, ties: bool, q: int) -> int:
    """How many of the first columns are large enough."""
    if same:
        return q
    low, high = 0, containing_sizes.shape[0]
    while low < high:
        middle = (low + high) // 2
        if containing_sizes[middle] > size or (ties and containing_sizes[middle] == size):
            low = middle + 1
        else:
            high = middle
    return low


@njit
def _candidates(
    sides: BothSides, q: int, prefix: int, last: int, counts: Array, touched: Array
) -> tuple[int, int]:
    """Count the first `prefix` values: where the next group is, and how many columns were found."""
    _, _, set_start, groups, weights = sides.contained
    list_start, lists = sides.containing.list_start, sides.containing.lists
    start, other_groups, count = sides.between
    position, end = set_start[q], set_start[q + 1]
    seen = 0
    found = 0
    while position < end and seen < prefix:
        group = groups[position]
        seen += weights[group]
        position += 1
        for m in range(start[group], start[group + 1]):
            other, weight = other_groups[m], count[m]
            for at in range(list_start[other], list_start[other + 1]):
                x = lists[at]
                if x >= last:
                    break
                if counts[x] == 0:
                    touched[found] = x
                    found += 1
                counts[x] += weight
    return position, found


@njit
def _rest(
    sides: BothSides,
    begin: int,
    end: int,
    last: int,
    need: int,
    counts: Array,
    touched: Array,
    found: int,
) -> int:
    """Count the other values for the candidates; returns how many remain, in `touched`."""
    groups = sides.contained.groups
    _, _, set_start, set_groups, list_start, lists = sides.containing
    start, other_groups, count = sides.between
    left = 0
    entries = 0
    steps = 0
    for at in range(begin, end):
        group = groups[at]
        for m in range(start[group], start[group + 1]):
            left += count[m]
            entries += list_start[other_groups[m] + 1] - list_start[other_groups[m]]
            steps += 1
    remaining = 0
    for i in range(found):
        x = touched[i]
        if counts[x] + left >= need:
            touched[remaining] = x
            remaining += 1
        else:
            counts[x] = 0
    if remaining == 0 or steps == 0:
        return remaining
    if entries <= _SEARCH_COST * steps * remaining:
        for at in range(begin, end):
            group = groups[at]
            for m in range(start[group], start[group + 1]):
                other, weight = other_groups[m], count[m]
                for e in range(list_start[other], list_start[other + 1]):
                    x = lists[e]
                    if x >= last:
                        break
                    if counts[x] > 0:
                        counts[x] += weight
        return remaining
    for i in range(remaining):
        x = touched[i]
        low = set_start[x]
        high = set_start[x + 1]
        total = counts[x]
        for at in range(begin, end):
            group = groups[at]
            for m in range(start[group], start[group + 1]):
                if _holds(set_groups, low, high, other_groups[m]):
                    total += count[m]
        counts[x] = total
    return remaining


@njit
def _holds(groups: Array, low: int, high: int, group: int) -> bool:
    """Whether the ascending slice `groups[low:high]` holds a group."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if groups[middle] < group:
            low = middle + 1
        else:
            high = middle
    return low < end and groups[low] == group
