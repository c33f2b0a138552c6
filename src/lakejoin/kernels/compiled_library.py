"""The library of compiled kernels: whether there is one for this machine, and whether it fits.

`library.abi3.so` lies beside this file (`library_build.py` builds it). It has a digest of every
source that went into it; a kernel whose code, or code that it uses, has changed since is compiled
by numba.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lakejoin.errors import MissingDependency
from lakejoin.kernels.kernel_sources import digest_kernels, digest_module

LIBRARY = Path(__file__).with_name("library.abi3.so")
SETTING = "LAKEJOIN_KERNELS"  # "numba" does without the library


SEAL = b"\0lakejoin, sealed\0"  # between the library and its digest
_HEADER = struct.Struct("<5s35xQ10xHH2x")  # kind of file, place and shape of its last table


def find_entries(function: Callable[..., Any]) -> Any:
    """The class of entries of the library, if a function is among them; else None."""
    library = _load()[0]
    if library is None or f"{function.__module__}.{function.__name__}" not in library.names:
        return None
    return library.Entry if _fits(function.__module__) else None


def survive_cut_files() -> None:
    """Load the library: from then on, what a mapped file no longer has is read as zeros, instead of
    ending the process."""
    _load()


@cache
def require_kernels() -> None:
    """Raise `MissingDependency` if nothing can run: there is no library here, and no numba."""
    if lacking_reason() and find_spec("numba") is None:
        raise MissingDependency(explain_lack())


def explain_lack() -> str:
    """Why no kernel runs where there is neither library nor numba, and the way out."""
    return (
        f"{lacking_reason()}, and numba, which would compile them now, is not installed: "
        "pip install 'lakejoin[numba]'"
    )


def lacking_reason() -> str:
    """Why there is no compiled library here, as half a sentence; nothing if there is one."""
    return _load()[1]


@cache
def _load() -> tuple[Any, str]:
    if os.environ.get(SETTING) == "numba":
        return None, f"{SETTING}=numba turns off the compiled kernels"
    if _is_damaged(LIBRARY):
        return None, (
            f"the compiled kernels of lakejoin cannot be loaded ({LIBRARY} is damaged: install "
            "lakejoin again)"
        )
    try:
        library = import_module("lakejoin.kernels.library")
    except ModuleNotFoundError:
        return None, "lakejoin has no compiled kernels for this platform"
    except ImportError as problem:  # another processor, or another platform's file
        return None, f"the compiled kernels of lakejoin cannot be loaded ({problem})"
    return library, ""


def _is_damaged(file: Path) -> bool:
    """Whether a library differs from what was built, by the digest at its end; without a digest,
    whether it ends before its last table. Loading such a file would end the process,
    or give wrong answers."""
    try:
        code = file.read_bytes()
    except OSError:
        return False  # there is none, or importing it tells why
    whole, seal, digest = code.rpartition(SEAL)
    if seal:
        return digest_library(whole) != digest
    if len(code) < _HEADER.size or code[:5] != b"\x7fELF\x02":
        return False  # nothing that would be mapped
    _, table, entry_size, entries = _HEADER.unpack_from(code)
    return bool(len(code) < table + entry_size * entries)


def digest_library(code: bytes) -> bytes:
    """What follows the library and the seal."""
    import xxhash

    return xxhash.xxh3_64_digest(code)


@cache
def _fits(module: str) -> bool:
    """Whether a module's kernels were compiled from the sources that are here."""
    digests, files, kernels = _built_sources()
    if module not in files:
        return False
    if all(_same(file, digests[file]) for file in files[module]):
        return True
    try:  # perhaps only other parts of these files have changed
        return digest_kernels(module) == kernels.get(module)
    except (OSError, SyntaxError):
        return False


@cache
def _built_sources() -> tuple[dict[str, str], dict[str, list[str]], dict[str, str]]:
    """The digests of all files that went into the library; by module the files that its kernels
    were compiled from, and a digest of the code itself."""
    digests, files, *kernels = json.loads(_load()[0].sources)
    return digests, files, kernels[0] if kernels else {}  # an older library has none


@cache
def _same(module: str, digest: str) -> bool:
    now = digest_module(module)
    return now is None or now == digest  # without its source, a module is what was installed
