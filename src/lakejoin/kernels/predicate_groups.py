"""Count and split the joining groups of two tables.

| symbol | meaning |
| --- | --- |
| code | the code of a value in all columns of both tables; negative: joins nothing |
| group | the index of the joining group of a row: all rows with the same joined values |
| r, s | the rows of a group in either table |
| sums | of all groups: their rows r and s, how many there are, the sum of min(r, s), and the |
| | high and the low 64 bits of the sum of r s; beside them goes the sum of r s log2(r s) |

Every pass is linear in its rows. Rows are looked up by key in a table of twice as many slots as the
smaller side has rows.
"""

from __future__ import annotations

import numpy as np

from lakejoin.kernels.jit import kernel, njit
from lakejoin.model import Array

_EMPTY = np.int64(-1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ROWS_A, _ROWS_B, _GROUPS, _LEAST, _HIGH, _LOW, _SUMS = 0, 1, 2, 3, 4, 5, 6


@kernel
def count_codes(codes: Array, counts: Array) -> None:
    """Add to `counts` how often each code occurs."""
    for i in range(len(codes)):
        if codes[i] >= 0:
            counts[codes[i]] += 1


@kernel
def sum_column_pair(counts_a: Array, codes_b: Array, counts_b: Array) -> tuple[Array, float]:
    """Compute the sums of two columns: one as counts by code, one as distinct codes and counts."""
    sums = np.zeros(_SUMS, np.uint64)
    weighted = 0.0
    for i in range(len(codes_b)):
        r = counts_a[codes_b[i]]
        if r > 0:
            weighted += _add(sums, r, counts_b[i])
    return sums, weighted


@njit(inline="always")
def _add(sums: Array, r: int, s: int) -> float:
    """Count a group of r and s rows; return r s log2(r s)."""
    rows_r, rows_s = np.uint64(r), np.uint64(s)
    product = rows_r * rows_s
    sums[_ROWS_A] += rows_r
    sums[_ROWS_B] += rows_s
    sums[_GROUPS] += np.uint64(1)
    sums[_LEAST] += min(rows_r, rows_s)
    sums[_LOW] += product
    if sums[_LOW] < product:  # overflow
        sums[_HIGH] += np.uint64(1)
    if product == np.uint64(1):
        return 0.0
    return float(product) * np.log2(float(product))


@kernel
def index_shared_codes(counts_a: Array, codes_b: Array, indices: Array) -> None:
    """Number the codes that both columns have, from zero on; `indices` is filled with -1."""
    n = np.int32(0)
    for i in range(len(codes_b)):
        if counts_a[codes_b[i]] > 0:
            indices[codes_b[i]] = n
            n += np.int32(1)


@kernel
def collect_group_rows(codes: Array, indices: Array, rows: Array, groups: Array) -> None:
    """Write the rows whose code has an index, and that index; there is just enough room."""
    n = 0
    for i in range(len(codes)):
        if codes[i] >= 0 and indices[codes[i]] >= 0:
            rows[n] = np.int32(i)
            groups[n] = indices[codes[i]]
            n += 1


@kernel
def split_groups(
    rows_a: Array, groups_a: Array, codes_a: Array, rows_b: Array, groups_b: Array, codes_b: Array,
    keys: Array, counts_a: Array, counts_b: Array, slots_a: Array, slots_b: Array,
) -> tuple[Array, float]:  # fmt: skip
    """Split groups by a pair of columns. `a` is the side with fewer rows.

    `keys` (filled with -1) and the counts (zero) are the table; the number of slots is a power of
    two. Every row gets the slot of its new group in `slots_a` and `slots_b`, -1 if it is in none.
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
    """Compute the sums of the groups in all slots."""
    sums = np.zeros(_SUMS, np.uint64)
    weighted = 0.0
    for slot in range(len(counts_a)):
        if counts_a[slot] > 0 and counts_b[slot] > 0:
            weighted += _add(sums, counts_a[slot], counts_b[slot])
    return sums, weighted


@kernel
def index_slots(counts_a: Array, counts_b: Array, indices: Array) -> None:
    """Number the slots that both sides have, from zero on, others -1."""
    n = np.int32(0)
    for slot in range(len(counts_a)):
        if counts_a[slot] > 0 and counts_b[slot] > 0:
            indices[slot] = n
            n += np.int32(1)
        else:
            indices[slot] = -1


@kernel
def collect_slot_rows(
    rows: Array, slots: Array, indices: Array, slot_rows: Array, groups: Array
) -> None:
    """Write the rows whose slot has an index, and that index; there is just enough room."""
    n = 0
    for i in range(len(rows)):
        if slots[i] >= 0 and indices[slots[i]] >= 0:
            slot_rows[n] = rows[i]
            groups[n] = indices[slots[i]]
            n += 1


@kernel
def find_equal_columns(
    rows_a: Array, groups_a: Array, some_a: Array, columns_a: Array,
    rows_b: Array, groups_b: Array, some_b: Array, columns_b: Array,
    pairs: Array, equal: Array,
) -> None:  # fmt: skip
    """Test which pairs of columns are equal in every row of the join.

    `some_a` and `some_b` are one row of each group: most pairs differ in the first of them.
    """
    for i in range(len(pairs)):
        codes_a, codes_b = columns_a[pairs[i, 0]], columns_b[pairs[i, 1]]
        equal[i] = (
            _same_rows(some_a, codes_a, some_b, codes_b)
            and _as_in_some(rows_a, groups_a, some_a, codes_a)
            and _as_in_some(rows_b, groups_b, some_b, codes_b)
        )


@njit
def _same_rows(rows_a: Array, codes_a: Array, rows_b: Array, codes_b: Array) -> bool:
    """Whether two columns are equal in pairs of rows."""
    for i in range(len(rows_a)):
        code = codes_a[rows_a[i]]
        if code < 0 or codes_b[rows_b[i]] != code:
            return False
    return True


@njit
def _as_in_some(rows: Array, groups: Array, some: Array, codes: Array) -> bool:
    """Whether a column has one value in every group."""
    for i in range(len(rows)):  # noqa: SIM110 (compiled)
        if codes[rows[i]] != codes[some[groups[i]]]:
            return False
    return True


# -- groups with one row on one side: its key ----------------------------------------------------


@kernel
def count_partner_rows(
    rows: Array, partners: Array, codes: Array, key_codes: Array, counts: Array
) -> tuple[Array, float]:
    """Count the rows of each matching row (zeros) whose code equals its code; return the sums."""
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
def collect_partner_rows(
    rows: Array,
    partners: Array,
    codes: Array,
    key_codes: Array,
    matched_rows: Array,
    matched_partners: Array,
) -> None:
    """Write the rows that `count_partner_rows` counts, and their matches; there is just room."""
    n = 0
    for i in range(len(rows)):
        code = codes[rows[i]]
        if code >= 0 and key_codes[partners[i]] == code:
            matched_rows[n] = rows[i]
            matched_partners[n] = partners[i]
            n += 1


@kernel
def find_equal_key_columns(
    rows: Array, columns: Array, partners: Array, key_columns: Array, pairs: Array, equal: Array
) -> None:
    """Test which pairs of columns, of the many and of the key, are equal in every joined row."""
    for i in range(len(pairs)):
        equal[i] = _same_rows(rows, columns[pairs[i, 0]], partners, key_columns[pairs[i, 1]])


@kernel
def index_distinct_rows(indices: Array, codes: Array, keys: Array, most: int) -> int:
    """Renumber rows by their number and one more column, null being a value; return how many there
    are.

    -1 if there are more than `most`; `keys` (filled with -1) has room for more than that.
    """
    mask = len(keys) - 1
    values = np.empty(len(keys), np.int32)
    n = np.int32(0)
    for i in range(len(indices)):
        key = (np.int64(indices[i]) << np.int64(32)) | np.int64(codes[i] + 1)
        slot = np.int64((np.uint64(key) * _MULTIPLIER) >> np.uint64(32)) & mask
        while keys[slot] != _EMPTY and keys[slot] != key:
            slot = (slot + 1) & mask
        if keys[slot] == _EMPTY:
            if n == most:
                return -1
            keys[slot] = key
            values[slot] = n
            n += np.int32(1)
        indices[i] = values[slot]
    return n
