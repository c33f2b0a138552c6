"""The sources that a kernel is compiled from: its module, and what that imports of lakejoin."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_SOURCES = Path(__file__).parent.parent.parent  # the folder that has lakejoin

# What makes kernels callable, names their types and raises errors: it is not compiled with them.
_NOT_COMPILED = frozenset((
    "lakejoin.errors",
    "lakejoin.model",
    *(
        f"lakejoin.kernels.{name}"
        for name in ("jit", "deferred", "compiled_library", "kernel_sources", "numba_functions")
    ),
))  # fmt: skip


def module_file(module: str) -> Path:
    """The source of a module."""
    path = _SOURCES.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def digest_module(module: str) -> str | None:
    """A digest of a module's source; None if only its bytecode is here."""
    try:
        return hashlib.blake2b(module_file(module).read_bytes(), digest_size=12).hexdigest()
    except OSError:
        return None


def needed_modules(module: str) -> list[str]:
    """A module and all of lakejoin that it imports, directly or not, when it is imported."""
    found, open_ = {module}, [module]
    while open_:
        new = _imported(open_.pop()) - found - _NOT_COMPILED
        found |= new
        open_ += new
    return sorted(found)


@cache
def _imported(module: str) -> frozenset[str]:
    import ast  # only a build asks for this

    names: set[str] = set()
    for node in ast.parse(module_file(module).read_bytes()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lakejoin"):
            names.add(str(node.module))
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(a.name for a in node.names if a.name.startswith("lakejoin"))
    return frozenset(name for name in names if module_file(name).is_file())
