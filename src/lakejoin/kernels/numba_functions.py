"""What numba makes of a deferred function: compiled when it is first called, without the GIL, and
cached on disk between runs.

A module's names stand for deferred things, which numba does not know. So a function is compiled in
a copy of its module's names, in which each stands for what numba makes of it.

Numba renews a cached kernel when its own source file changes, but not when a function that it calls
from another file does; an upgraded package would then run old code. So the stamp of our kernels
covers all sources of this folder, and of the kernel's own folder if that is another one.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CellType, FunctionType
from typing import Any

import numba
from numba.extending import intrinsic

from lakejoin.kernels.compiled_library import SETTING, lacking_reason
from lakejoin.kernels.deferred import CompiledFunction, Deferred, Intrinsic, Kernel
from lakejoin.kernels.kernel_signatures import CALLS, RecordedFunction

_HERE = Path(__file__).parent
_made: dict[int, tuple[Deferred, Any]] = {}  # by identity; kept alive, so that none is reused
_names: dict[int, dict[str, Any]] = {}


def make_function(deferred: Deferred, cached: bool = True) -> Any:
    """What numba makes of a deferred thing, once."""
    if id(deferred) not in _made:
        if isinstance(deferred, Kernel) and cached:
            _tell_once()
        _made[id(deferred)] = (deferred, _make(deferred, cached))
    return _made[id(deferred)][1]


def _make(deferred: Deferred, cached: bool) -> Any:
    if isinstance(deferred, Intrinsic):
        options = deferred.options
        return intrinsic(**options)(deferred.py_func) if options else intrinsic(deferred.py_func)
    if not isinstance(deferred, CompiledFunction):
        return getattr(numba, deferred.py_func.__name__)
    function = _translate(deferred.py_func, cached)
    if not isinstance(deferred, Kernel):
        return numba.njit(**deferred.options)(function)
    made = _make_kernel(function, deferred.options, cached)
    return RecordedFunction(made) if os.environ.get(CALLS) and cached else made


def _make_kernel(function: Callable[..., Any], options: dict[str, Any], cached: bool) -> Any:
    if not cached:
        return numba.njit(nogil=True, **options)(function)
    try:
        compiled = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's can hold the cache
        return numba.njit(nogil=True, **options)(function)
    cache_file: Any = getattr(compiled._cache, "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = sources_stamp(Path(function.__code__.co_filename).parent)
        # Numba checks its version first and reads no further if it differs: a file cached by an
        # older release of ours may contain types that no longer exist.
        cache_file._version = f"{cache_file._version}, {cache_file._source_stamp}"
    return compiled


@cache
def sources_stamp(folder: Path = _HERE) -> str:
    """Return a digest of all sources here and in the folder of a kernel."""
    sources = sorted({*_HERE.glob("*.py"), *folder.glob("*.py")})
    return hashlib.blake2b(b"\0".join(source.read_bytes() for source in sources)).hexdigest()


def _translate(function: Any, cached: bool) -> Any:
    """The same function, with names that numba knows."""
    cells = tuple(
        CellType(_value(cell.cell_contents, cached)) for cell in function.__closure__ or ()
    )
    made = FunctionType(
        function.__code__,
        _translate_names(function.__globals__, cached),
        function.__name__,
        function.__defaults__,
        cells or None,
    )
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__doc__, made.__kwdefaults__ = function.__doc__, function.__kwdefaults__
    return made


def _translate_names(names: dict[str, Any], cached: bool) -> dict[str, Any]:
    if id(names) not in _names:
        _names[id(names)] = copy = dict(names)  # first, for functions that call each other
        copy.update({name: _value(value, cached) for name, value in names.items()})
    return _names[id(names)]


def _value(value: Any, cached: bool) -> Any:
    if not isinstance(value, Deferred):
        return value
    made = make_function(value, cached)
    return made.function if isinstance(made, RecordedFunction) else made


@cache
def _tell_once() -> None:
    reason = lacking_reason()
    if reason and not reason.startswith(SETTING):
        warnings.warn(
            f"{reason}: numba makes them now, which takes a minute the first time", stacklevel=2
        )
