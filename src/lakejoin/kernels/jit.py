"""The decorators of kernels: machine code that came with the package, or numba when there is none.

`@kernel` is a function that Python calls, `@njit` one that only compiled code calls, `@intrinsic`
one that writes LLVM instructions. Nothing here imports numba: a kernel of the compiled library is
called directly, and any other is made by numba when it is first called (`numba_functions.py`), from
the same source. `docs/compiled-kernels.md` tells how the library is built.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar, overload

from lakejoin.errors import MissingDependency
from lakejoin.kernels.compiled_library import explain_lack, find_entries, lacking_reason
from lakejoin.kernels.deferred import CompiledFunction, Deferred, Intrinsic, Kernel, NumbaName

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def kernel(function: Function) -> Function: ...
@overload
def kernel(*, inline: str) -> Callable[[Function], Function]: ...
def kernel(function: Any = None, **options: Any) -> Any:
    """Take a function from the compiled library, or compile it when it is first called.

    >>> @kernel
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double(21)
    42
    """
    if function is None:
        return lambda function: _make_kernel(function, options)
    return _make_kernel(function, options)


def _make_kernel(function: Callable[..., Any], options: dict[str, Any]) -> Kernel:
    entries = find_entries(function)
    if entries is None:
        return Kernel(function, **options)
    return _kernel_class(entries)(function, **options)


@cache
def _kernel_class(entries: Any) -> Any:
    """The class of kernels that are called in the library, which is loaded when there is one."""

    class LibraryKernel(entries, Kernel):  # type: ignore[misc]
        """A kernel of the compiled library; what that was not compiled for goes to numba."""

        def __init__(self, function: Callable[..., Any], **options: Any) -> None:
            entries.__init__(self, kernel_name(function))
            Kernel.__init__(self, function, **options)

    return LibraryKernel


def kernel_name(function: Callable[..., Any]) -> str:
    """The name of a kernel in the library."""
    return f"{function.__module__}.{function.__name__}"


def njit(function: Any = None, **options: Any) -> Any:
    """A function that only compiled code calls: the same options as numba's own decorator."""
    if function is None:
        return lambda function: CompiledFunction(function, **options)
    return CompiledFunction(function, **options)


def intrinsic(function: Any = None, **options: Any) -> Any:
    """A function that writes LLVM instructions, as numba's own decorator makes it."""
    if function is None:
        return lambda function: Intrinsic(function, **options)
    return Intrinsic(function, **options)


def _carray(pointer: Any, shape: Any, dtype: Any = None) -> Any:
    """An array over memory, by its pointer."""
    raise NotImplementedError


_carray.__name__ = "carray"
carray: Any = NumbaName(_carray)


def _call_by_numba(deferred: Deferred, *arguments: Any, **names: Any) -> Any:
    if find_spec("numba") is None:
        raise MissingDependency(_explain(deferred, arguments))
    from lakejoin.kernels.numba_functions import make_function

    return make_function(deferred)(*arguments, **names)


Deferred.call_otherwise = _call_by_numba


def _explain(deferred: Deferred, arguments: tuple[Any, ...]) -> str:
    if lacking_reason():
        return explain_lack()
    name, way_out = kernel_name(deferred.py_func), "pip install 'lakejoin[numba]'"
    kinds = ", ".join(_describe(one) for one in arguments)
    return (
        f"{name} was not compiled for ({kinds}), and numba, which would do it now, is not "
        f"installed: {way_out}"
    )


def _describe(argument: Any) -> str:
    if hasattr(argument, "dtype") and hasattr(argument, "flags") and argument.ndim:
        order = "" if argument.flags.c_contiguous else " strided"
        return f"{argument.dtype}[{argument.ndim}d{order}]"
    return type(argument).__name__
