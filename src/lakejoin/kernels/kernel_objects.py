"""Compile the kernels of a module to object files, one for each kind of processor.

Numba reads the Python source, infers types and writes LLVM's code: that is nearly all the time, and
it is the same for every processor, so it is done once. The kernels of a module and all that they
call become one LLVM module, which is then optimised and written once for each processor.

This uses inner parts of the numba that `requirements/` pins; only the build does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, codegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import nrtdynmod, rtsys

from lakejoin.kernels.kernel_signatures import bare_text, read_type, write_type
from lakejoin.kernels.kernel_sources import read_table
from lakejoin.kernels.numba_functions import make_function

_SLOT, _BYTE, _STATUS = ir.IntType(64), ir.IntType(8).as_pointer(), ir.IntType(32)
_SLOTS = 512  # of the arguments, and a quarter of that of a result: as in binding.c


@dataclass(frozen=True)
class EntryPoint:
    """A compiled kernel: its name, what it takes and returns (as in binding.c), and its symbol."""

    name: str
    arguments: str
    result: str
    symbol: str


class _Library(codegen.AOTCodeLibrary):  # type: ignore[misc]
    """The code of one function, which is neither optimised nor written on its own."""

    def _optimize_final_module(self) -> None:
        pass


class _Generator(codegen.AOTCPUCodegen):  # type: ignore[misc]
    _library_class = _Library


_generators: dict[str, Any] = {}


def _prepare() -> Any:
    """Numba's context for a processor, set to write code and not to run it."""
    context = cpu_target.target_context
    if not _generators:
        cpu_target.typing_context.refresh()
        context.refresh()
        rtsys.initialize(context)
        _generators[""] = context._internal_codegen = _Generator("lakejoin")
        # A function must have something to run; a new bound method is one, and unlike any other.
        context.get_executable = lambda library, *_: (library._ensure_finalized(), [].append)[1]
        context.create_cpython_wrapper = context.create_cfunc_wrapper = lambda *_, **__: None
    return context


@global_compiler_lock  # type: ignore[untyped-decorator, unused-ignore]
def write_objects(module: str, files: dict[str, Path]) -> list[EntryPoint]:
    """Compile the kernels of a module; `files` are the object files to write, by processor."""
    context = _prepare()
    bridge, libraries, entries = ir.Module("bridge"), [], []
    bridge.triple, bridge.data_layout = llvm.get_process_triple(), _generators[""]._data_layout
    for entry, compiled in _compile_kernels(module):
        entries.append(entry)
        libraries.append(compiled.library)
        _write_bridge(context, bridge, entry.symbol, compiled)
    whole = _parse(bridge)
    for library in libraries:
        whole.link_in(library._get_module_for_linking(), preserve=True)
    whole.link_in(_parse(nrtdynmod.create_nrt_module(context)[0]))
    _hide(whole, {entry.symbol for entry in entries})
    for processor, file in files.items():
        file.write_bytes(_optimise(whole.clone(), processor, {one.symbol for one in entries}))
    return entries


def _compile_kernels(module: str) -> Iterator[tuple[EntryPoint, Any]]:
    names = import_module(module)
    for name, signatures in read_table().items():
        if name.rpartition(".")[0] != module:
            continue
        function = make_function(getattr(names, name.rpartition(".")[2]), cached=False)
        for at, arguments in enumerate(sorted(signatures, key=_preference)):
            kinds = tuple(read_type(one) for one in arguments)
            if kinds not in function.overloads:
                function.compile(kinds)
            compiled = function.overloads[kinds]
            result = bare_text(write_type(compiled.signature.return_type))
            text = "".join(bare_text(one) for one in arguments)
            yield EntryPoint(name, text, result, f"{name.replace('.', '_')}__{at}"), compiled


def _preference(arguments: list[str]) -> str:
    """Code for arrays in C order comes before code for any order, which takes these as well."""
    text = " ".join(arguments)
    return text.translate(str.maketrans("CFA", "012"))


def _write_bridge(context: Any, module: Any, symbol: str, compiled: Any) -> None:
    """Write the function that takes its arguments from slots and leaves its result in slots."""
    kind = context.call_conv.get_function_type(compiled.fndesc.restype, compiled.fndesc.argtypes)
    target = ir.Function(module, kind, compiled.fndesc.llvm_func_name)
    slots = _SLOT.as_pointer()
    bridge = ir.Function(
        module, ir.FunctionType(_STATUS, [slots, slots, _BYTE.as_pointer()]), symbol
    )
    builder = ir.IRBuilder(bridge.append_basic_block())
    returned, raised, *taken = kind.args
    assert len(taken) <= _SLOTS, f"{symbol} takes more than the bridge has room for"
    result = builder.alloca(returned.pointee)
    builder.store(ir.Constant(returned.pointee, None), result)

    def at(row: Any, index: int, kind: Any) -> Any:
        return builder.bitcast(builder.gep(row, [_SLOT(index)]), kind.as_pointer())

    values = [builder.load(at(bridge.args[0], i, one)) for i, one in enumerate(taken)]
    status = builder.call(target, [result, builder.bitcast(bridge.args[2], raised), *values])
    leaves = list(_leaves(builder, builder.load(result)))
    assert len(leaves) <= _SLOTS // 4, f"{symbol} returns more than the bridge has room for"
    for i, value in enumerate(leaves):
        builder.store(value, at(bridge.args[1], i, value.type))
    builder.ret(status)


def _leaves(builder: Any, value: Any) -> Iterator[Any]:
    """The numbers and pointers of a value, one after another."""
    kind = value.type
    if not isinstance(kind, ir.LiteralStructType | ir.IdentifiedStructType | ir.ArrayType):
        yield value
        return
    count = kind.count if isinstance(kind, ir.ArrayType) else len(kind.elements)
    for i in range(count):
        yield from _leaves(builder, builder.extract_value(value, i))


def _parse(module: Any) -> Any:
    return llvm.parse_assembly(cgutils.normalize_ir_text(str(module)))


def _hide(module: Any, shown: set[str]) -> None:
    """Hide all but some functions: names of helpers are only unique within one process."""
    for one in [*module.functions, *module.global_variables]:
        if not one.is_declaration and one.name not in shown:
            one.linkage = "internal"


def _optimise(module: Any, processor: str, shown: set[str]) -> Any:
    if processor not in _generators:
        _generators[processor] = _Generator("lakejoin", cpu_name=processor)
    generator = _generators[processor]
    module.data_layout = generator._data_layout
    library = generator.create_library("lakejoin")
    library._final_module = module
    codegen.CPUCodeLibrary._optimize_final_module(library)
    module.verify()
    for one in module.functions:
        if one.name in shown:
            one.name = f"{one.name}__{processor.replace('-', '_')}"
            one.visibility = "hidden"
    return generator._tm.emit_object(module)


def write_entries(entries: list[EntryPoint], file: Path) -> None:
    """Keep what an object file has, for the table of the library."""
    file.write_text(json.dumps([vars(one) for one in entries]))


def read_entries(file: Path) -> list[EntryPoint]:
    """Read what an object file has."""
    return [EntryPoint(**one) for one in json.loads(file.read_text())]
