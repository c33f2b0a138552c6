"""Asking for memory before it is needed: many reads at random places then wait together."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

Array = np.ndarray[Any, Any]


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
