"""The decorator of kernels: compiled by numba, without the GIL, and cached on disk between runs.

Numba renews a cached kernel when its own source file changes, but not when a function that it calls
from another file does; an upgraded package would then run old code. So the stamp of our kernels
covers all sources of this folder, and of the kernel's own folder if that is another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

_HERE = Path(__file__).parent


@cache
def sources_stamp(folder: Path = _HERE) -> str:
    """Return a digest of all sources here and in the folder of a kernel."""
    sources = sorted({*_HERE.glob("*.py"), *folder.glob("*.py")})
    return hashlib.blake2b(b"\0".join(source.read_bytes() for source in sources)).hexdigest()


def kernel(function: Function) -> Function:
    """Compile a function when it is first called, or load it from disk if no source changed.

    >>> @kernel
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double(21)
    42
    """
    try:
        compiled = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's can hold the cache
        return cast(Function, njit(nogil=True)(function))
    cache_file: Any = getattr(compiled._cache, "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = sources_stamp(Path(function.__code__.co_filename).parent)
        # Numba checks its version first and reads no further if it differs: a file cached by an
        # older release of ours may contain types that no longer exist.
        cache_file._version = f"{cache_file._version}, {cache_file._source_stamp}"
    return cast(Function, compiled)
