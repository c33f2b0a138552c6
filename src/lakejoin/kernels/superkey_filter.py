"""The row filter: which rows of a table may hold one of a query's key combinations.

A combination can be in a row only if its super key (the OR of its values' bits) is covered by the
row's: key & ~row == 0. Rows come with the number of the query's value that they hold in the initial
column, and only that value's combinations are looked at.

First every row is tested against the bits that *all* combinations of its value have, without a
branch a row: this runs nearly as fast as memory delivers the rows. Only a row that passes is tested
against the combinations one by one. A row and a key are compared in one wide step, whatever their
size: looking at the word with XASH's length segment first (the paper's short circuit) saves
nothing then, and a branch that is guessed wrongly costs more than the whole comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

from lakejoin.kernels.compiled import kernel
from lakejoin.kernels.memory import pointer

Array = np.ndarray[Any, Any]

LIMIT = 256  # a value with more combinations than this is tested only by what they have in common

_NONE = np.uint8(0)
_ONE = np.uint64(1)
_PIECE = 64  # rows that are passed over together if none of them holds a value of the query


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator, unused-ignore]
def _covers(typing_context: Any, rows: Any, r: Any, keys: Any, k: Any, words: Any) -> Any:
    """Whether row r has all bits of key k, both of so many words (a literal): one comparison."""
    wide = ir.IntType(64 * words.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def load(which: int) -> Any:
            array, index = arguments[which], arguments[which + 1]
            data = context.make_array(signature.args[which])(context, builder, array).data
            place = builder.mul(index, ir.Constant(index.type, words.literal_value))
            place = builder.bitcast(builder.gep(data, [place]), wide.as_pointer())
            return builder.load(place, align=8)

        missing = builder.and_(builder.not_(load(0)), load(2))
        return builder.icmp_unsigned("==", missing, ir.Constant(wide, 0))

    return types.boolean(rows, types.intp, keys, types.intp, words), generate


@njit(inline="always")
def _may_pass(rows: Array, r: int, value: Array, common: Array, words: int) -> np.uint8:
    """Whether a row has what all combinations of its value have, without a branch."""
    v = np.int64(value[np.uint64(r)])
    return np.uint8(_covers(rows, r, common, max(v, 0), words) & (v >= 0))


@njit(inline="always")
def _filter(
    at: int,
    value: Array,
    start: Array,
    keys: Array,
    common: Array,
    passed: Array,
    limit: int,
    words: int,
) -> int:
    rows = carray(pointer(at), (value.shape[0], words), np.uint64)
    total = 0
    for begin in range(0, value.shape[0], _PIECE):
        end = min(value.shape[0], begin + _PIECE)
        largest = np.int32(-1)
        for r in range(begin, end):
            largest = max(largest, value[np.uint64(r)])
        if largest < 0:
            passed[begin:end] = 0
            continue
        some = _NONE
        r = begin
        while r + 4 <= end:  # by fours, which keeps the processor busier than one by one
            a = _may_pass(rows, r, value, common, words)
            b = _may_pass(rows, r + 1, value, common, words)
            c = _may_pass(rows, r + 2, value, common, words)
            d = _may_pass(rows, r + 3, value, common, words)
            passed[np.uint64(r)] = a
            passed[np.uint64(r + 1)] = b
            passed[np.uint64(r + 2)] = c
            passed[np.uint64(r + 3)] = d
            some |= a | b | c | d
            r += 4
        while r < end:
            passed[r] = _may_pass(rows, r, value, common, words)
            some |= passed[r]
            r += 1
        if some == 0:
            continue
        for r in range(begin, end):
            own = np.uint64(r)
            if passed[own]:
                v = np.uint64(value[own])
                k, last = start[v], start[v + _ONE]
                if last - k != 1 and last - k <= limit:
                    while k < last and not _covers(rows, r, keys, k, words):
                        k += 1
                    passed[own] = k < last
                total += passed[own]
    return total


@kernel
def _filter_2(
    at: int, value: Array, start: Array, keys: Array, common: Array, passed: Array, limit: int
) -> int:
    return _filter(at, value, start, keys, common, passed, limit, 2)


@kernel
def _filter_4(
    at: int, value: Array, start: Array, keys: Array, common: Array, passed: Array, limit: int
) -> int:
    return _filter(at, value, start, keys, common, passed, limit, 4)


@kernel
def _filter_8(
    at: int, value: Array, start: Array, keys: Array, common: Array, passed: Array, limit: int
) -> int:
    return _filter(at, value, start, keys, common, passed, limit, 8)


@kernel
def pass_rows(
    at: int,
    words: int,
    value: Array,
    start: Array,
    keys: Array,
    common: Array,
    passed: Array,
    limit: int,
) -> int:
    """`filter_rows` for compiled code: the rows' super keys lie at an address, of so many words."""
    if words == 2:
        return _filter_2(at, value, start, keys, common, passed, limit)
    if words == 4:
        return _filter_4(at, value, start, keys, common, passed, limit)
    return _filter_8(at, value, start, keys, common, passed, limit)


def filter_rows(
    rows: Array,
    value: Array,
    combo_start: Array,
    combo_key: Array,
    common: Array,
    passed: Array,
    limit: int = LIMIT,
) -> int:
    """Marks the rows that may hold a combination of their value; returns how many they are.

    `rows` are super keys of W words. Row r holds value `value[r]` (int32), or no value if that is
    negative: such a row is not marked. The combinations of value v have the super keys
    `combo_key[combo_start[v]:combo_start[v + 1]]` (int64 starts), and `common[v]` is the AND of
    these. `passed[r]` (uint8) becomes 1 where one of the keys is covered by the row, and else 0. A
    value with more than `limit` combinations is tested by `common` only, so that more rows may
    pass, but none is ever lost.

    >>> row = np.array([[0b111, 0], [0b101, 0]], dtype=np.uint64)
    >>> keys = np.array([[0b011, 0]], dtype=np.uint64)
    >>> passed = np.empty(2, dtype=np.uint8)
    >>> value, start = np.zeros(2, dtype=np.int32), np.array([0, 1])
    >>> filter_rows(row, value, start, keys, keys, passed), passed.tolist()
    (1, [1, 0])
    """
    if len(rows) == 0 or len(common) == 0:
        passed[:] = 0
        return 0
    # Rows come from mapped files, which are read-only: by address, one compiled form serves all.
    rows, keys, common = (np.ascontiguousarray(a, np.uint64) for a in (rows, combo_key, common))
    at = rows.ctypes.data
    return int(pass_rows(at, rows.shape[1], value, combo_start, keys, common, passed, limit))
