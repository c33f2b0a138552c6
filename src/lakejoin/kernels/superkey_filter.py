"""The row filter: which rows of a table may contain one of a query's key combinations.

A combination can be in a row only if its super key (the OR of its values' bits) is covered by the
row's: key & ~row == 0. Rows come with the index of the query's value that they have in the initial
column, and only that value's combinations are tested.

First every row is tested against the bits that *all* combinations of its value have, without
branches: this runs nearly as fast as memory delivers the rows. Only a row that passes is tested
against the combinations one by one. A row and a key are compared in one wide step, whatever their
size: testing the word with XASH's length segment first (the paper's short circuit) saves nothing
then, and a mispredicted branch costs more than the whole comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

from lakejoin.kernels.jit import kernel
from lakejoin.kernels.mapped_arrays import pointer
from lakejoin.model import Array

_NONE = np.uint8(0)
_ONE = np.uint64(1)
_RUN = 64  # rows that are skipped together if none of them has a value of the query


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator, unused-ignore]
def _covers(typing_context: Any, rows: Any, r: Any, keys: Any, k: Any, words: Any) -> Any:
    """Whether row r has all bits of key k, both of `words` words (a literal): one comparison."""
    wide = ir.IntType(64 * words.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def load(which: int) -> Any:
            array, index = arguments[which], arguments[which + 1]
            data = context.make_array(signature.args[which])(context, builder, array).data
            address = builder.mul(index, ir.Constant(index.type, words.literal_value))
            address = builder.bitcast(builder.gep(data, [address]), wide.as_pointer())
            return builder.load(address, align=8)

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
    address: int,
    value: Array,
    start: Array,
    keys: Array,
    common: Array,
    passed: Array,
    limit: int,
    words: int,
) -> int:
    rows = carray(pointer(address), (value.shape[0], words), np.uint64)
    total = 0
    for begin in range(0, value.shape[0], _RUN):
        end = min(value.shape[0], begin + _RUN)
        largest = np.int32(-1)
        for r in range(begin, end):
            largest = max(largest, value[np.uint64(r)])
        if largest < 0:
            passed[begin:end] = 0
            continue
        any_passed = _NONE
        r = begin
        while r + 4 <= end:  # four at a time keep the processor busier than one
            a = _may_pass(rows, r, value, common, words)
            b = _may_pass(rows, r + 1, value, common, words)
            c = _may_pass(rows, r + 2, value, common, words)
            d = _may_pass(rows, r + 3, value, common, words)
            passed[np.uint64(r)] = a
            passed[np.uint64(r + 1)] = b
            passed[np.uint64(r + 2)] = c
            passed[np.uint64(r + 3)] = d
            any_passed |= a | b | c | d
            r += 4
        while r < end:
            passed[r] = _may_pass(rows, r, value, common, words)
            any_passed |= passed[r]
            r += 1
        if any_passed == 0:
            continue
        for r in range(begin, end):
            row = np.uint64(r)
            if passed[row]:
                v = np.uint64(value[row])
                k, last = start[v], start[v + _ONE]
                if last - k != 1 and last - k <= limit:
                    while k < last and not _covers(rows, r, keys, k, words):
                        k += 1
                    passed[row] = k < last
                total += passed[row]
    return total


@kernel
def _filter_2(
    address: int, value: Array, start: Array, keys: Array, common: Array, passed: Array, limit: int
) -> int:
    return _filter(address, value, start, keys, common, passed, limit, 2)


@kernel
def _filter_4(
    address: int, value: Array, start: Array, keys: Array, common: Array, passed: Array, limit: int
) -> int:
    return _filter(address, value, start, keys, common, passed, limit, 4)


@kernel
def _filter_8(
    address: int, value: Array, start: Array, keys: Array, common: Array, passed: Array, limit: int
) -> int:
    return _filter(address, value, start, keys, common, passed, limit, 8)


@kernel
def filter_rows(
    address: int,
    words: int,
    value: Array,
    start: Array,
    keys: Array,
    common: Array,
    passed: Array,
    limit: int,
) -> int:
    """Mark the rows that may contain a combination of their value; return how many there are.

    The rows' super keys, of `words` words each, lie at the address `address`: rows come from
    mapped, read-only files, and by address one compiled form serves all. Row r has value `value[r]`
    (int32), or none if that is negative: such a row is not marked. The combinations of value v have
    the super keys `keys[start[v]:start[v + 1]]` (int64 starts), and `common[v]` is the AND of
    these. `passed[r]` (uint8) becomes 1 if one of the keys is covered by the row, else 0. A value
    with more than `limit` combinations is tested by `common` only: more rows may pass, but none is
    ever lost.
    """
    if words == 2:
        return _filter_2(address, value, start, keys, common, passed, limit)
    if words == 4:
        return _filter_4(address, value, start, keys, common, passed, limit)
    return _filter_8(address, value, start, keys, common, passed, limit)
