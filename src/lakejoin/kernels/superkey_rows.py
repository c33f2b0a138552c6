"""The super keys of rows, the Bloom filter that hashes a text to bits, and the row filter."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lakejoin.kernels.hashes import finish
from lakejoin.kernels.jit import carray, intrinsic, kernel, njit
from lakejoin.kernels.mapped_arrays import pointer
from lakejoin.kernels.segment_cells import SegmentCells, read_column_codes
from lakejoin.model import Array

# A Bloom filter of `hashes` hash functions derives all of them from the text's 64-bit hash h, that
# of the dictionary with seed 0. With draw(j) = finish(h + (j + 1) * K1), function i takes six bits
# of draw(i // 10), the lowest first, which choose a bit of a word; the word is (s + i) % words,
# where the top four bits of draw(0) give s. So every word gets its share of the bits, and the first
# word of a row refuses as many keys as any part of a filter of that size could.
#
# (Double hashing, one number plus multiples of another, would be as fast, but in 128 bits it has
# only 8,192 patterns: any two values would collide with a chance of 1 in 8,192, far more than the
# filter otherwise lets through.)

_STEP = np.uint64(0x9E3779B97F4A7C15)
_U0 = np.uint64(0)
_U1 = np.uint64(1)
_U6 = np.uint64(6)
_U60 = np.uint64(60)
_U63 = np.uint64(63)
_DRAWN = 10  # bit indices per draw


@njit(inline="always")
def draw_word(h: np.uint64, draw_index: int) -> np.uint64:
    """Return the random word of a hash for one draw."""
    return finish(h + np.uint64(draw_index + 1) * _STEP)


@njit(inline="always")
def add_bits(h: np.uint64, hashes: int, row: Array) -> None:
    """Set the bits of a hash in a row of words."""
    last = row.shape[0] - 1
    word = draw_word(h, 0)
    w = np.int64(word >> _U60) & last
    done = 0
    turn = 0
    while True:
        stop = min(hashes, done + _DRAWN)
        while done < stop:
            row[w] |= _U1 << (word & _U63)
            word >>= _U6
            w = (w + 1) & last
            done += 1
        if done == hashes:
            return
        turn += 1
        word = draw_word(h, turn)


@kernel
def write_hash_bits(values: Array, hashes: int, out: Array) -> None:
    """Write the bits of each hash to the words `out[i]`."""
    if out.shape[1] == 2:
        _two_words(values, hashes, out)
        return
    for i in range(out.shape[0]):
        out[i] = _U0
        add_bits(values[i], hashes, out[i])


@njit
def _two_words(values: Array, hashes: int, out: Array) -> None:
    """As `add_bits`, but both words stay in registers."""
    for i in range(out.shape[0]):
        word = draw_word(values[i], 0)
        swapped = np.int64(word >> _U60) & 1
        even, odd = _U0, _U0
        left = hashes
        turn = 0
        while True:
            taken = min(left, _DRAWN)
            for _ in range(taken >> 1):
                even |= _U1 << (word & _U63)
                odd |= _U1 << ((word >> _U6) & _U63)
                word >>= _U6 + _U6
            if taken & 1:  # only in the last turn: a draw has an even number of bit indices
                even |= _U1 << (word & _U63)
            left -= taken
            if left == 0:
                break
            turn += 1
            word = draw_word(values[i], turn)
        out[i, swapped] = even
        out[i, 1 - swapped] = odd


_NULL = np.uint32(0xFFFFFFFF)
_RUN = 2048  # rows whose keys stay in the cache while column after column is added


class SegmentTableRows(NamedTuple):
    """The tables of a segment: table t has the columns [first[t], first[t + 1]).

    Only the `searched` columns count. Its rows are [row_start[t], row_start[t + 1]) of the
    segment's.
    """

    first: Array
    row_start: Array
    searched: Array


class ValueBits(NamedTuple):
    """What the codes from `first` on add to a row: the row of words in `keys`.

    Or, if `hashes` has for every table how many bits a value sets in it, the bits of the 64-bit
    hash in `values`.
    """

    first: int
    keys: Array
    values: Array
    hashes: Array


@njit
def _or_keys(codes: Array, keys: Array, first: int, out: Array) -> None:
    """OR the words of codes into rows."""
    words = out.shape[1]
    for i in range(out.shape[0]):
        if codes[i] != _NULL:
            code = np.int64(codes[i]) - first
            if words == 2:
                out[i, 0] |= keys[code, 0]
                out[i, 1] |= keys[code, 1]
            else:
                for w in range(words):
                    out[i, w] |= keys[code, w]


@njit
def _or_bits(codes: Array, values: Array, first: int, hashes: int, out: Array) -> None:
    """OR the bits of codes' hashes into rows."""
    for i in range(out.shape[0]):
        if codes[i] != _NULL:
            add_bits(values[np.int64(codes[i]) - first], hashes, out[i])


@kernel
def build_row_keys(
    cells: SegmentCells, tables: SegmentTableRows, value_bits: ValueBits, begin: int, out: Array
) -> None:
    """Write the super keys of the segment's rows from row `begin` on, as many as `out` has."""
    codes = np.empty(_RUN, dtype=np.uint32)
    end = begin + out.shape[0]
    table = np.searchsorted(tables.row_start, begin, side="right") - 1
    row = begin
    while row < end:
        while tables.row_start[table + 1] <= row:
            table += 1
        stop = min(end, tables.row_start[table + 1], row + _RUN)
        table_row = row - tables.row_start[table]
        run = out[row - begin : stop - begin]
        run[:] = np.uint64(0)
        for column in range(tables.first[table], tables.first[table + 1]):
            if tables.searched[column]:
                read_column_codes(cells, column, table_row, table_row + stop - row, codes)
                if value_bits.hashes.shape[0] == 0:
                    _or_keys(codes, value_bits.keys, value_bits.first, run)
                else:
                    _or_bits(
                        codes, value_bits.values, value_bits.first, value_bits.hashes[table], run
                    )
        row = stop


# The row filter: which rows of a table may contain one of a query's key combinations.
#
# A combination can be in a row only if its super key (the OR of its values' bits) is covered by the
# row's: key & ~row == 0. Rows come with the index of the query's value that they have in the
# initial column, and only that value's combinations are tested.
#
# First every row is tested against the bits that *all* combinations of its value have, without
# branches: this runs nearly as fast as memory delivers the rows. Only a row that passes is tested
# against the combinations one by one. A row and a key are compared in one wide step, whatever their
# size: testing the word with XASH's length segment first (the paper's short circuit) saves nothing
# then, and a mispredicted branch costs more than the whole comparison.

_NONE = np.uint8(0)
_SKIPPED = 64  # rows that are skipped together if none of them has a value of the query


@intrinsic(prefer_literal=True)
def _covers(typing_context: Any, rows: Any, r: Any, keys: Any, k: Any, words: Any) -> Any:
    """Whether row r has all bits of key k, both of `words` words (a literal): one comparison."""
    from llvmlite import ir
    from numba import types

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
    for begin in range(0, value.shape[0], _SKIPPED):
        end = min(value.shape[0], begin + _SKIPPED)
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
                k, last = start[v], start[v + _U1]
                if last - k != 1 and last - k <= limit:
                    while k < last and not _covers(rows, r, keys, k, words):
                        k += 1
                    passed[row] = k < last
                total += passed[row]
    return total


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
        return _filter(address, value, start, keys, common, passed, limit, 2)
    if words == 4:
        return _filter(address, value, start, keys, common, passed, limit, 4)
    return _filter(address, value, start, keys, common, passed, limit, 8)
