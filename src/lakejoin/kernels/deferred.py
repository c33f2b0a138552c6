"""What the sources of kernels name: functions that are compiled ahead, or later by numba."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any


class Deferred:
    """Something of numba that a source names; it is made when numba first compiles with it."""

    call_otherwise: Callable[..., Any]  # what numba makes of it, called (see jit.py)

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.options = options

    def __call__(self, *arguments: Any, **names: Any) -> Any:
        return self.call_otherwise(*arguments, **names)


class CompiledFunction(Deferred):
    """A function that only compiled code calls."""


class Kernel(CompiledFunction):
    """A function that Python calls."""


class Intrinsic(Deferred):
    """A function that writes LLVM instructions."""


class NumbaName(Deferred):
    """A function of numba, by its name."""
