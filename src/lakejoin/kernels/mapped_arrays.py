"""Arrays by address, mapped segment files and prefetching, for compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lakejoin.kernels.jit import carray, intrinsic, njit
from lakejoin.model import Array

# Calling compiled code costs a fraction of a microsecond per array passed, which is more than a
# small search. So the arrays of an opened file are passed as one array of numbers, made once: the
# address and the length of each. Whoever makes it keeps the arrays alive.


def pack_addresses(*arrays: Array) -> Array:
    """Return (address, length) of each array, one after another.

    >>> pack_addresses(np.arange(3), np.arange(5))[1::2].tolist()
    [3, 5]
    """
    numbers = [(array.__array_interface__["data"][0], array.size) for array in arrays]
    return np.array(numbers, dtype=np.int64).reshape(-1)


@intrinsic
def pointer(typing_context: Any, address: Any) -> Any:
    """Turn an address into a pointer."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(address), generate


def array_at(dtype: Any, stride: int = 2) -> Any:
    """A compiled function that takes an array of a type out of a row of numbers, by its index; each
    array has `stride` numbers, of which the first are its address and its length."""

    @njit(inline="always")
    def take(row: Array, which: int) -> Array:
        return carray(pointer(row[stride * which]), (row[stride * which + 1],), dtype)

    return take


words_at, longs_at = array_at(np.uint32), array_at(np.int64)
ranks_at, flags_at = array_at(np.uint64), array_at(np.uint8)


def make_taker(take: Any, field: int) -> Any:
    """A compiled function that takes one array out of a tuple with a `row` of addresses."""

    @njit(inline="always")
    def take_array(holder: Any) -> Array:
        return take(holder.row, field)

    return take_array


@njit
def borrow_array(array: Array) -> Array:
    """Return the same (contiguous) array without a reference count; the caller keeps it alive.

    Compiled code counts references whenever it takes an array out of a tuple, in every iteration of
    a loop, and that costs more than reading from it.
    """
    return carray(pointer(array.ctypes.data), array.shape, array.dtype)


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of an element, by its index in the array's memory."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, int32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, int32, int32, int32])
        name = "llvm.prefetch.p0"
        intrinsic_function = builder.module.globals.get(name) or ir.Function(
            builder.module, kind, name
        )
        builder.call(
            intrinsic_function, [address, int32(0), int32(3), int32(1)]
        )  # to read, near, data
        return context.get_dummy_value()

    return types.none(array, types.intp), generate


# A search runs over all segments in one call, because calling compiled code from Python costs as
# much as searching a small segment. Numba takes no list of arrays cheaply, so they are passed as a
# matrix of numbers: one row per segment with the address, length and file offset of every array.
# Whoever builds the matrix keeps the arrays alive.
#
# Blocks of a file are verified when they are first read. Compiled code cannot do that, so it notes
# the unverified blocks that it reads, and its caller verifies those before it uses any result.
# Until then bytes may be wrong, so nothing read from a file is used as an index without a bounds
# check.

_BLOCK_BITS = 16


class BlockGuard(NamedTuple):
    """The verified blocks of a file, and where to note unverified ones that are read.

    `checked` is empty once all are verified. `pending[0]` says whether any block is noted, and
    `pending[before + b]` whether the b-th of this file is.
    """

    checked: Array
    pending: Array
    before: int


mapped_bytes, mapped_shorts = array_at(np.uint8, 3), array_at(np.uint16, 3)
mapped_words, mapped_longs = array_at(np.uint32, 3), array_at(np.int64, 3)


@njit
def _note(guard: BlockGuard, begin: int, end: int) -> None:
    for block in range(begin >> _BLOCK_BITS, ((end - 1) >> _BLOCK_BITS) + 1):
        if 0 <= block < guard.checked.shape[0] and guard.checked[block] == 0:
            guard.pending[0] = 1
            guard.pending[guard.before + block] = 1


@njit(inline="always")
def note_blocks(guard: BlockGuard, begin: int, end: int) -> None:
    """Note the unverified blocks of a file's bytes [begin, end)."""
    if guard.checked.shape[0] > 0 and end > begin:
        _note(guard, begin, end)
