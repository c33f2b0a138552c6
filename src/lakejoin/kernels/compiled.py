"""The decorator of kernels: compiled by numba, without the GIL, and kept on disk between runs.

Numba renews a kept kernel when its own source file changes, but not when a function that it calls
from another file does; an upgraded package would then run old code. So the stamp of our kernels
covers all sources of this folder, and of the kernel's own where it is another.
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
    """A digest of all sources here and in the folder of a kernel."""
    sources = sorted({*_HERE.glob("*.py"), *folder.glob("*.py")})
    return hashlib.blake2b(b"\0".join(source.read_bytes() for source in sources)).hexdigest()


def kernel(function: Function) -> Function:
    """Compiles a function when it is first called, or takes it from disk if no source changed.

    >>> @kernel
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double(21)
    42
    """
    try:
        compiled = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder to keep it in: neither the package's nor the user's
        return cast(Function, njit(nogil=True)(function))
    kept: Any = getattr(compiled._cache, "_cache_file", None)
    if hasattr(kept, "_source_stamp"):
        kept._source_stamp = sources_stamp(Path(function.__code__.co_filename).parent)
        # Numba looks at its version first, and reads no further in a file of another: an older
        # release of ours may have kept types that are no more.
        kept._version = f"{kept._version}, {kept._source_stamp}"
    return cast(Function, compiled)
