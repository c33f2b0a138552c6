"""The sources that kernels are compiled from: their own, and what they use of other modules.

A kernel depends on the functions, constants and classes that it names, and on what these name, and
on nothing else: a change elsewhere in the same files compiles nothing again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ast

_SOURCES = Path(__file__).parent.parent.parent  # the folder that has lakejoin
TABLE = Path(__file__).with_name("signatures.txt")

# What makes kernels callable, names their types and raises errors: it is not compiled with them.
_NOT_COMPILED = frozenset((
    "lakejoin.errors",
    "lakejoin.model",
    *(
        f"lakejoin.kernels.{name}"
        for name in ("jit", "deferred", "compiled_library", "kernel_sources", "numba_functions")
    ),
))  # fmt: skip


def read_table() -> dict[str, list[list[str]]]:
    """What Python calls each kernel with: the signatures of `signatures.txt`, by kernel."""
    table: dict[str, list[list[str]]] = {}
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            name, *arguments = line.split()
            table.setdefault(name, []).append(arguments)
    return table


def module_file(module: str) -> Path:
    """The source of a module."""
    path = _SOURCES.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@cache
def digest_module(module: str) -> str | None:
    """A digest of a module's source; None if only its bytecode is here."""
    try:
        return _digest(module_file(module).read_bytes())
    except OSError:
        return None


def digest_kernels(module: str) -> str:
    """A digest of all code that the kernels of a module are compiled from."""
    import ast  # only a build asks for this, and what runs in a checkout that was changed since

    used = sorted(_used_by(module))
    return _digest("\n".join(f"{one} {ast.dump(_read(one).code[at])}" for one, at in used).encode())


def needed_modules(module: str) -> list[str]:
    """A module of kernels, and all others that its kernels use something of."""
    return sorted({module, *(name for name, _ in _used_by(module))})


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


class _Source(NamedTuple):
    """The statements of a module without annotations and docstrings; for each name, those that
    define or change it; where the imported names come from."""

    code: list[ast.stmt]
    of_name: dict[str, set[int]]
    imported: dict[str, tuple[str, str]]


@cache
def _used_by(module: str) -> frozenset[tuple[str, int]]:
    """The statements that the kernels of a module are compiled from, by module and position."""
    open_ = []
    for kernel, signatures in read_table().items():
        if kernel.rpartition(".")[0] == module:
            open_.append((module, kernel.rpartition(".")[2]))
            open_ += _classes(" ".join(part for one in signatures for part in one))
    found: set[tuple[str, int]] = set()
    seen = set(open_)
    while open_:
        name = open_.pop()
        for statement in _statements(*name) - found:
            found.add(statement)
            new = {(statement[0], one) for one in _names(_read(statement[0]).code[statement[1]])}
            open_ += new - seen
            seen |= new
    return frozenset(found)


def _classes(signatures: str) -> list[tuple[str, str]]:
    """The classes of the named tuples in some signatures."""
    import re

    return re.findall(r"([\w.]+):(\w+)", signatures)


def _statements(module: str, name: str) -> set[tuple[str, int]]:
    """The statements behind a name of a module: those of another module, if it is imported. All of
    a module, if it is one."""
    source = _read(module)
    if name not in source.imported:
        return {(module, at) for at in source.of_name.get(name, ())}
    origin, inner = source.imported[name]
    if origin in _NOT_COMPILED or f"{origin}.{inner}" in _NOT_COMPILED:
        return set()
    whole = f"{origin}.{inner}" if inner else origin
    if module_file(whole).is_file():
        return {(whole, at) for at in range(len(_read(whole).code))}
    return _statements(origin, inner)


@cache
def _read(module: str) -> _Source:
    import ast

    source = _Source([], {}, {})
    for node in ast.parse(module_file(module).read_bytes()).body:
        for inner in ast.walk(node):
            source.imported.update(_imported(inner))
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        at = len(source.code)
        source.code.append(_bare(node))
        for name in _defined(source.code[at]):
            source.of_name.setdefault(name, set()).add(at)
    return source


def _imported(node: ast.AST) -> Iterator[tuple[str, tuple[str, str]]]:
    """What a statement imports from lakejoin: the name here, the module and the name there."""
    import ast

    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lakejoin"):
        for alias in node.names:
            yield alias.asname or alias.name, (str(node.module), alias.name)
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.startswith("lakejoin"):
                yield alias.asname or "lakejoin", (alias.name if alias.asname else "lakejoin", "")


def _bare(statement: ast.stmt) -> ast.stmt:
    """A statement without the parts that no compiler reads: annotations, docstrings, and methods of
    named tuples, which only Python calls."""
    import ast

    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    if isinstance(statement, ast.ClassDef) and _is_named_tuple(statement):
        statement.body = [one for one in statement.body if not isinstance(one, ast.FunctionDef)]
    return statement


def _is_named_tuple(node: ast.ClassDef) -> bool:
    return any(getattr(base, "id", "") == "NamedTuple" for base in node.bases)


def _defined(statement: ast.stmt) -> set[str]:
    """The names that a statement defines, or may change: what it assigns, and for one that is
    neither a definition nor an assignment all that it names."""
    import ast

    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {node.id for one in targets for node in ast.walk(one) if isinstance(node, ast.Name)}


def _names(statement: ast.stmt) -> set[str]:
    """The names that a statement takes from its module: all but a function's own."""
    import ast

    named = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return named
    own = {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    own |= {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}
    return named - own
