"""What a process of ours does before it loads any library, so that it starts at once.

Commands, tasks and workers run in processes of their own, where nobody else uses these libraries. A
process that merely imports lakejoin is never changed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_COMPUTE = "pyarrow.compute"


def prepare_process(*, with_pandas: bool) -> None:
    """Make libraries load quickly; call it before anything imports numpy or pyarrow.

    Without pandas, pyarrow does not import it with its first array, just to recognize its objects:
    it takes longer to load than all the rest.
    """
    # The threads of numpy's OpenBLAS spin for 0.1 s of CPU when numpy is loaded, unless told to
    # sleep at once (16 cycles; the default is 2 ** 26).
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    sys.meta_path.insert(0, _QuickFinder(with_pandas))


def allow_pandas() -> None:
    """Stop hiding pandas, because something else needs it after all."""
    for finder in sys.meta_path:
        if isinstance(finder, _QuickFinder):
            finder.with_pandas = True


class _QuickFinder:
    """Hides pandas, if it is not wanted, and loads Arrow's functions without their documentation;
    finds nothing else."""

    def __init__(self, with_pandas: bool) -> None:
        self.with_pandas = with_pandas

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        """Refuse pandas; take over `pyarrow.compute`."""
        if fullname == "pandas" and not self.with_pandas:
            raise ModuleNotFoundError("this process does without pandas", name=fullname)
        if fullname != _COMPUTE:
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _QuickCompute(spec.loader)
        return spec


class _QuickCompute(Loader):
    """Loads `pyarrow.compute`, which makes 286 functions with their documentation when it is
    imported, so that it makes each when it is first used."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As usual."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Load it with an all but empty list of functions; as usual if that fails."""
        from pyarrow import _compute

        registry = _compute.function_registry
        _compute.function_registry = lambda: _FewFunctions(registry())
        try:
            self._loader.exec_module(module)
            module.__dict__["__getattr__"] = _FunctionMaker(module, registry())
        except (AttributeError, KeyError, NameError, TypeError):  # another version of pyarrow
            _compute.function_registry = registry
            self._loader.exec_module(module)
        finally:
            _compute.function_registry = registry
            module.__dict__["function_registry"] = registry


class _FewFunctions:
    """Arrow's registry, with those functions only that `pyarrow.compute` itself names."""

    def __init__(self, registry: Any) -> None:
        self.get_function = registry.get_function

    def list_functions(self) -> list[str]:
        """The functions to make at once."""
        return ["utf8_zero_fill"]


class _FunctionMaker:
    """Makes a function of `pyarrow.compute` when it is first asked for."""

    def __init__(self, module: ModuleType, registry: Any) -> None:
        self._wrap = module._wrap_function
        self._names = module.__dict__
        self._registry = registry
        self._known = frozenset(registry.list_functions())

    def __call__(self, name: str) -> Any:
        arrow_name = name.rstrip("_") if name in ("and_", "or_") else name
        if arrow_name not in self._known:
            raise AttributeError(f"module {_COMPUTE!r} has no attribute {name!r}")
        function = self._wrap(name, self._registry.get_function(arrow_name))
        self._names[name] = function
        return function
