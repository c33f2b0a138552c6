"""Arrays by address and prefetching, for compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

Array = np.ndarray[Any, Any]

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


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def pointer(typing_context: Any, address: Any) -> Any:
    """Turn an address into a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(address), generate


@njit(inline="always")
def words_at(numbers: Array, which: int) -> Array:
    """Return the array of 32-bit numbers passed at index `which`."""
    return carray(pointer(numbers[2 * which]), (numbers[2 * which + 1],), np.uint32)


@njit(inline="always")
def longs_at(numbers: Array, which: int) -> Array:
    """Return an array of 64-bit numbers."""
    return carray(pointer(numbers[2 * which]), (numbers[2 * which + 1],), np.int64)


@njit(inline="always")
def ranks_at(numbers: Array, which: int) -> Array:
    """Return an array of unsigned 64-bit numbers."""
    return carray(pointer(numbers[2 * which]), (numbers[2 * which + 1],), np.uint64)


@njit(inline="always")
def flags_at(numbers: Array, which: int) -> Array:
    """Return an array of flags, one byte each."""
    return carray(pointer(numbers[2 * which]), (numbers[2 * which + 1],), np.uint8)


@njit
def borrow_array(array: Array) -> Array:
    """Return the same (contiguous) array without a reference count; the caller keeps it alive.

    Compiled code counts references whenever it takes an array out of a tuple, in every iteration of
    a loop, and that costs more than reading from it.
    """
    return carray(pointer(array.ctypes.data), array.shape, array.dtype)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of an element, by its index in the array's memory."""

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
