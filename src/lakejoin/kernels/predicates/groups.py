"""Counting and splitting the joining groups of two tables.

| symbol | meaning |
| --- | --- |
| code | the number of a value in all columns of both tables; below zero: joins nothing |
| group | the number of the joining group of a row: all rows with the same joined values |
| sums | of all groups: their rows r and s of either side, how many, the sum of min(r, s), and the |
| | high and the low 64 bits of the sum of r s; beside them goes the sum of r s log2(r s) |

Every pass is linear in the rows that it is given. Rows are looked up by key in a table of twice as
many slots as the smaller side has rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lakejoin.kernels.compiled import kernel

Array = np.ndarray[Any, Any]

_EMPTY = np.int64(-1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ROWS_A, _ROWS_B, _GROUPS, _LEAST, _HIGH, _LOW, _SUMS = 0, 1, 2, 3, 4, 5, 6


@kernel
def count_codes(codes: Array, counts: Array) -> None:
    """Adds to `counts` how often each code occurs."""
    for i in range(len(codes)):
        if codes[i] >= 0:
            counts[codes[i]] += 1


@kernel
def pair_sums(counts_a: Array, codes_b: Array, counts_b: Array) -> tuple[Array, float]:
    """The sums of two columns: counts by code of one, the distinct codes and counts of another."""
    sums = np.zeros(_SUMS, np.uint64)
    weighted = 0.0
    for i in range(len(codes_b)):
        r = counts_a[codes_b[i]]
        if r > 0:
            weighted += _add(sums, r, counts_b[i])
    return sums, weighted


@njit(inline="always")
def _add(sums: Array, r: int, s: int) -> float:
    """Counts a group of r and s rows; gives r s log2(r s)."""
    rows_r, rows_s = np.uint64(r), np.uint64(s)
    product = rows_r * rows_s
    sums[_ROWS_A] += rows_r
    sums[_ROWS_B] += rows_s
    sums[_GROUPS] += np.uint64(1)
    sums[_LEAST] += min(rows_r, rows_s)
    sums[_LOW] += product
    if sums[_LOW] < product:  # it has overflowed
        sums[_HIGH] += np.uint64(1)
    if product == np.uint64(1):
        return 0.0
    return float(product) * np.log2(float(product))


@kernel
def number_shared(counts_a: Array, codes_b: Array, numbers: Array) -> None:
    """Numbers the codes that both columns hold, from zero on; `numbers` is filled with -1."""
    n = np.int32(0)
    for i in range(len(codes_b)):
        if counts_a[codes_b[i]] > 0:
            numbers[codes_b[i]] = n
            n += np.int32(1)


@kernel
def rows_in_groups(codes: Array, numbers: Array, rows: Array, groups: Array) -> None:
    """The rows whose code is numbered, and that number; there is just room for them."""
    n = 0
    for i in range(len(codes)):
        if codes[i] >= 0 and numbers[codes[i]] >= 0:
            rows[n] = np.int32(i)
            groups[n] = numbers[codes[i]]
            n += 1


@kernel
def split_groups(
    rows_a: Array, groups_a: Array, codes_a: Array, rows_b: Array, groups_b: Array, codes_b: Array,
    keys: Array, counts_a: Array, counts_b: Array, slots_a: Array, slots_b: Array,
) -> tuple[Array, float]:  # fmt: skip
    """Splits groups by a pair of columns. `a` is the side with fewer rows.

    `keys` (filled with -1) and the counts (zero) are the table, with a power of two of slots. Every
    row gets the slot of its new group in `slots_a` and `slots_b`, -1 where it is in none.
    """
    shift = np.uint64(64)
    size = len(keys)
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    mask = len(keys) - 1
    for i in range(len(rows_a)):
        code = codes_a[rows_a[i]]
        if code < 0:
            slots_a[i] = -1
            continue
        key = (np.int64(groups_a[i]) << np.int64(32)) | np.int64(code)
        slot = np.int64((np.uint64(key) * _MULTIPLIER) >> shift)
        while keys[slot] != _EMPTY and keys[slot] != key:
            slot = (slot + 1) & mask
        keys[slot] = key
        counts_a[slot] += 1
        slots_a[i] = np.int32(slot)
    for i in range(len(rows_b)):
        code = codes_b[rows_b[i]]
        slots_b[i] = -1
        if code < 0:
            continue
        key = (np.int64(groups_b[i]) << np.int64(32)) | np.int64(code)
        slot = np.int64((np.uint64(key) * _MULTIPLIER) >> shift)
        while keys[slot] != _EMPTY and keys[slot] != key:
            slot = (slot + 1) & mask
        if keys[slot] == key:
            counts_b[slot] += 1
            slots_b[i] = np.int32(slot)
    return _sums_of_counts(counts_a, counts_b)


@njit
def _sums_of_counts(counts_a: Array, counts_b: Array) -> tuple[Array, float]:
    sums = np.zeros(_SUMS, np.uint64)
    weighted = 0.0
    for slot in range(len(counts_a)):
        if counts_a[slot] > 0 and counts_b[slot] > 0:
            weighted += _add(sums, counts_a[slot], counts_b[slot])
    return sums, weighted


@kernel
def number_slots(counts_a: Array, counts_b: Array, numbers: Array) -> None:
    """Numbers the slots that both sides have, from zero on, others -1."""
    n = np.int32(0)
    for slot in range(len(counts_a)):
        if counts_a[slot] > 0 and counts_b[slot] > 0:
            numbers[slot] = n
            n += np.int32(1)
        else:
            numbers[slot] = -1


@kernel
def rows_in_slots(rows: Array, slots: Array, numbers: Array, kept: Array, groups: Array) -> None:
    """The rows whose slot is numbered, and that number; there is just room for them."""
    n = 0
    for i in range(len(rows)):
        if slots[i] >= 0 and numbers[slots[i]] >= 0:
            kept[n] = rows[i]
            groups[n] = numbers[slots[i]]
            n += 1


@kernel
def held_in_groups(
    rows_a: Array, groups_a: Array, some_a: Array, columns_a: Array,
    rows_b: Array, groups_b: Array, some_b: Array, columns_b: Array,
    pairs: Array, held: Array,
) -> None:  # fmt: skip
    """Which pairs of columns are equal in every row of the join.

    `some_a` and `some_b` are one row of each group: most pairs differ in the first of them.
    """
    for i in range(len(pairs)):
        codes_a, codes_b = columns_a[pairs[i, 0]], columns_b[pairs[i, 1]]
        held[i] = (
            _same_rows(some_a, codes_a, some_b, codes_b)
            and _as_in_some(rows_a, groups_a, some_a, codes_a)
            and _as_in_some(rows_b, groups_b, some_b, codes_b)
        )


@njit
def _same_rows(rows_a: Array, codes_a: Array, rows_b: Array, codes_b: Array) -> bool:
    for i in range(len(rows_a)):
        code = codes_a[rows_a[i]]
        if code < 0 or codes_b[rows_b[i]] != code:
            return False
    return True


@njit
def _as_in_some(rows: Array, groups: Array, some: Array, codes: Array) -> bool:
    for i in range(len(rows)):  # noqa: SIM110 (compiled)
        if codes[rows[i]] != codes[some[groups[i]]]:
            return False
    return True


# -- where every group has one row of one side: its key --------------------------------------------


@kernel
def filter_partners(
    rows: Array, partners: Array, codes: Array, key_codes: Array, counts: Array
) -> tuple[Array, float]:
    """Keeps the rows whose partner has the same code; counts the rows of each partner (zeros)."""
    for i in range(len(rows)):
        code = codes[rows[i]]
        if code >= 0 and key_codes[partners[i]] == code:
            counts[partners[i]] += 1
    sums = np.zeros(_SUMS, np.uint64)
    weighted = 0.0
    for i in range(len(counts)):
        if counts[i] > 0:
            weighted += _add(sums, counts[i], 1)
    return sums, weighted


@kernel
def rows_with_partner(
    rows: Array, partners: Array, codes: Array, key_codes: Array, kept: Array, theirs: Array
) -> None:
    """The rows that `filter_partners` counts, and their partners; there is just room for them."""
    n = 0
    for i in range(len(rows)):
        code = codes[rows[i]]
        if code >= 0 and key_codes[partners[i]] == code:
            kept[n] = rows[i]
            theirs[n] = partners[i]
            n += 1


@kernel
def held_by_partners(
    rows: Array, columns: Array, partners: Array, key_columns: Array, pairs: Array, held: Array
) -> None:
    """Which pairs of columns, of the many and of the key, are equal in every row of the join."""
    for i in range(len(pairs)):
        held[i] = _same_rows(rows, columns[pairs[i, 0]], partners, key_columns[pairs[i, 1]])


@kernel
def distinct_rows(numbers: Array, codes: Array, keys: Array, most: int) -> int:
    """Numbers rows anew by their number and one column more, nulls as a value; how many there are.

    -1 if there are more than `most`, for which `keys` (filled with -1) has room and to spare.
    """
    mask = len(keys) - 1
    values = np.empty(len(keys), np.int32)
    n = np.int32(0)
    for i in range(len(numbers)):
        key = (np.int64(numbers[i]) << np.int64(32)) | np.int64(codes[i] + 1)
        slot = np.int64((np.uint64(key) * _MULTIPLIER) >> np.uint64(32)) & mask
        while keys[slot] != _EMPTY and keys[slot] != key:
            slot = (slot + 1) & mask
        if keys[slot] == _EMPTY:
            if n == most:
                return -1
            keys[slot] = key
            values[slot] = n
            n += np.int32(1)
        numbers[i] = values[slot]
    return n
