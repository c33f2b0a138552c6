"""Memory for compiled code: arrays by their address, and lines of cache asked for ahead of need.

Calling compiled code costs a fraction of a microsecond for every array that is handed over, which
is more than a small search. So the arrays of an opened file are handed over as one array of
numbers, made once: for each of them its address and its length. Whoever makes it keeps the arrays
alive.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.extending import intrinsic

Array = np.ndarray[Any, Any]


def addresses(*arrays: Array) -> Array:
    """(address, length) of each array, one after another.

    >>> addresses(np.arange(3), np.arange(5))[1::2].tolist()
    [3, 5]
    """
    numbers = [(array.__array_interface__["data"][0], array.size) for array in arrays]
    return np.array(numbers, dtype=np.int64).reshape(-1)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def pointer(typing_context: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(address), generate


@njit(inline="always")
def words_at(numbers: Array, which: int) -> Array:
    """The array of 32-bit numbers that was handed over as number `which`."""
    return carray(pointer(numbers[2 * which]), (numbers[2 * which + 1],), np.uint32)


@njit(inline="always")
def longs_at(numbers: Array, which: int) -> Array:
    """An array of 64-bit numbers."""
    return carray(pointer(numbers[2 * which]), (numbers[2 * which + 1],), np.int64)


@njit(inline="always")
def ranks_at(numbers: Array, which: int) -> Array:
    """An array of 64-bit numbers without a sign."""
    return carray(pointer(numbers[2 * which]), (numbers[2 * which + 1],), np.uint64)


@njit(inline="always")
def flags_at(numbers: Array, which: int) -> Array:
    """An array of truth values, as bytes."""
    return carray(pointer(numbers[2 * which]), (numbers[2 * which + 1],), np.uint8)


@njit
def bare(array: Array) -> Array:
    """The same array, which must be contiguous, without a count of who holds it: whoever calls
    keeps it alive.

    Compiled code counts up and down whenever it takes such an array out of a tuple, in every turn
    of a loop, and that costs more than what is read from it.
    """
    return carray(pointer(array.ctypes.data), array.shape, array.dtype)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Asks for the line of cache that holds an element, by its place in the array's memory."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        name = "llvm.prefetch.p0"
        ask = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(ask, [place, number(0), number(3), number(1)])  # to read, near, data
        return context.get_dummy_value()

    return types.none(array, types.intp), generate
