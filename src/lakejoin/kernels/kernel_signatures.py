"""What Python calls kernels with: the table of signatures, and how numba's types are written there.

A line of `signatures.txt` is the name of a kernel and its arguments. Numbers and arrays are written
by numpy's letters, as in `binding.c`; a named tuple with its class in front.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.np import numpy_support

from lakejoin.kernels.kernel_sources import TABLE, read_table

CALLS = "LAKEJOIN_KERNEL_CALLS"  # a folder, to note the calls that no compiled kernel takes
_HEAD = """\
# What Python calls kernels with, and so what the library is compiled for: the module and name of a
# kernel, then its arguments. Letters are numpy's: q int64, Q uint64, i int32, I uint32, h int16,
# H uint16, b int8, B uint8, ? bool, f float32, d float64. [q2Cw is an array of int64 with two
# dimensions in C order (A: any) that is written to (r: only read). A tuple is in parentheses, a
# named one after its class. docs/compiled-kernels.md tells how lines are added.
"""


class RecordedFunction:
    """A kernel of numba that notes what it is called with, in a file of this process."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.seen: set[str] = set()

    def __call__(self, *arguments: Any) -> Any:
        result = self.function(*arguments)
        kernel = self.function.py_func
        line = " ".join([f"{kernel.__module__}.{kernel.__name__}", *map(_write_value, arguments)])
        if line not in self.seen:
            self.seen.add(line)
            with Path(os.environ[CALLS], f"{os.getpid()}.txt").open("a") as out:
                out.write(line + "\n")
        return result


def _write_value(value: Any) -> str:
    return write_type(numba.typeof(value))


def write_type(kind: Any) -> str:
    """A type of numba as the table writes it."""
    if isinstance(kind, types.NoneType):
        return "n"
    if isinstance(kind, types.Array):
        return f"[{_letter(kind.dtype)}{kind.ndim}{kind.layout}{'w' if kind.mutable else 'r'}"
    if isinstance(kind, types.BaseTuple):
        named = getattr(kind, "instance_class", None)
        name = f"{named.__module__}:{named.__qualname__}" if named else ""
        return f"{name}({','.join(write_type(one) for one in kind)})"
    return _letter(kind)


def _letter(kind: Any) -> str:
    dtype = numpy_support.as_dtype(kind)
    return "q" if dtype == np.int64 else "Q" if dtype == np.uint64 else str(dtype.char)


def read_type(text: str) -> Any:
    """A type of numba from the table."""
    if text == "n":
        return types.none
    if text.startswith("["):
        dtype = numpy_support.from_dtype(np.dtype(text[1]))
        return types.Array(dtype, int(text[2]), text[3], readonly=text[4] == "r")
    if not text.endswith(")"):
        return numpy_support.from_dtype(np.dtype(text))
    name, inner = text[:-1].split("(", 1)
    members = [read_type(one) for one in _split(inner)]
    if not name:
        return types.BaseTuple.from_types(members)
    module, qualname = name.split(":")
    named = getattr(import_module(module), qualname)
    return types.BaseTuple.from_types(members, named)


def _split(text: str) -> list[str]:
    """The parts between the commas that are in no parentheses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def bare_text(text: str) -> str:
    """A type as the library reads it: no classes, no commas."""
    if not text.endswith(")"):
        return text
    return f"({''.join(bare_text(one) for one in _split(text.split('(', 1)[1][:-1]))})"


def add_calls(folder: Path) -> int:
    """Add noted calls to the table; returns how many lines it has now.

    Code for an array that is only read serves one that may be written to as well.
    """
    lines = {" ".join([name, *one]) for name, all_ in read_table().items() for one in all_}
    for noted in folder.glob("*.txt"):
        lines |= set(noted.read_text().splitlines())
    lines = {line for line in lines if line.startswith("lakejoin.")}
    kept = [line for line in lines if not any(_serves(one, line) for one in lines - {line})]
    TABLE.write_text(_HEAD + "".join(f"{line}\n" for line in sorted(kept)))
    return len(kept)


def _serves(general: str, special: str) -> bool:
    """Whether code for one signature serves another: it only reads where that may write."""
    return len(general) == len(special) and all(
        a == b or (a == "r" and b == "w") for a, b in zip(general, special, strict=True)
    )
