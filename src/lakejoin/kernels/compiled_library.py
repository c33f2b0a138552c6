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
from pathlib import Path
from typing import Any

from lakejoin.kernels.kernel_sources import digest_kernels, digest_module

LIBRARY = Path(__file__).with_name("library.abi3.so")
SETTING = "LAKEJOIN_KERNELS"  # "numba" does without the library


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


def lacking_reason() -> str:
    """Why there is no compiled library here, as half a sentence; nothing if there is one."""
    return _load()[1]


@cache
def _load() -> tuple[Any, str]:
    if os.environ.get(SETTING) == "numba":
        return None, f"{SETTING}=numba asks for no compiled kernels"
    if _is_cut_off(LIBRARY):
        return None, (
            f"the compiled kernels of lakejoin cannot be loaded ({LIBRARY} is cut off: install "
            "lakejoin again)"
        )
    try:
        library = import_module("lakejoin.kernels.library")
    except ModuleNotFoundError:
        return None, "lakejoin has no compiled kernels for this platform"
    except ImportError as problem:  # another processor, or another platform's file
        return None, f"the compiled kernels of lakejoin cannot be loaded ({problem})"
    return library, ""


def _is_cut_off(file: Path) -> bool:
    """Whether a library ends before the table that is last in it: loading it would end the process,
    because it is mapped as long as its header says it is."""
    try:
        with file.open("rb") as opened:
            header = opened.read(_HEADER.size)
            size = opened.seek(0, os.SEEK_END)
    except OSError:
        return False  # there is none, or importing it tells why
    if len(header) < _HEADER.size or header[:5] != b"\x7fELF\x02":
        return False  # nothing that would be mapped
    _, table, entry_size, entries = _HEADER.unpack(header)
    return bool(size < table + entry_size * entries)


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
