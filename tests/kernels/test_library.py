"""The library of compiled kernels: results as from numba, without numba and without the GIL."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakejoin
from lakejoin.kernels import fuzzy_tokens, hashes, library_build, packing, topk
from lakejoin.kernels.deferred import CompiledFunction, Deferred, Intrinsic, Kernel
from lakejoin.kernels.kernel_signatures import read_type, write_type
from lakejoin.kernels.kernel_sources import _read, _used_by, needed_modules, read_table
from lakejoin.kernels.library_build import NoLibrary, _build_lock, _link, build_library
from lakejoin.kernels.numba_functions import make_function

SOURCES = Path(lakejoin.__file__).parent
library: Any = pytest.importorskip(
    "lakejoin.kernels.library", reason="no library: python -m lakejoin.kernels.library_build"
)


def all_deferred() -> list[Deferred]:
    found: dict[int, Deferred] = {}
    for file in SOURCES.rglob("*.py"):
        if "kernels.jit import" in file.read_text() and file.parent.name != "published":
            parts = file.relative_to(SOURCES.parent).with_suffix("").parts
            for value in vars(import_module(".".join(parts))).values():
                if isinstance(value, Deferred):
                    found[id(value)] = value
    return list(found.values())


def test_every_kernel_that_python_calls_has_a_signature() -> None:
    deferred = all_deferred()
    called = {name for one in deferred for name in one.py_func.__code__.co_names}
    table = read_table()
    for one in deferred:
        name = one.py_func.__name__
        if isinstance(one, Kernel) and name not in called:
            assert f"{one.py_func.__module__}.{name}" in table


def test_every_signature_is_compiled_and_can_be_read_back() -> None:
    table = read_table()
    assert library.names == set(table)
    for signatures in table.values():
        for arguments in signatures:
            assert [write_type(read_type(one)) for one in arguments] == arguments


def test_a_change_is_noticed_in_what_a_kernel_calls() -> None:
    needed = needed_modules("lakejoin.engines.overlap.overlap_kernels")
    assert {"lakejoin.kernels.topk", "lakejoin.engines.overlap.josie"} <= set(needed)
    assert "lakejoin.kernels.jit" not in needed


def test_kernels_depend_on_no_module_that_they_only_stand_beside() -> None:
    for module in {name.rpartition(".")[0] for name in read_table()}:
        assert not {"lakejoin.store.arrayfile", "lakejoin.locations"} & set(needed_modules(module))


def called_by(function: Any, found: set[tuple[str, str]]) -> None:
    """All functions that are compiled with one, by module and name: found in the running program,
    where the build reads the sources."""
    function = getattr(function, "py_func", function)
    name = (function.__module__, function.__name__)
    if name in found:
        return
    found.add(name)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    codes = [function.__code__]
    for code in codes:
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
        cells += [function.__globals__.get(used) for used in code.co_names]
    for used in cells:
        if isinstance(used, CompiledFunction | Intrinsic):
            called_by(used, found)


def test_the_build_knows_all_functions_that_a_kernel_calls() -> None:
    for name in read_table():
        module, _, kernel = name.rpartition(".")
        called: set[tuple[str, str]] = set()
        called_by(getattr(import_module(module), kernel), called)
        known = {
            (used, defined.name)
            for used, at in _used_by(module)
            for defined in ast.walk(_read(used).code[at])
            if isinstance(defined, ast.FunctionDef)
        }
        assert called <= known, name


numbers = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=40)


def equal(kernel: Any, *arguments: Any) -> None:
    """The library's result and all arrays it writes are those of numba, type by type."""
    assert isinstance(kernel, library.Entry)
    copies = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
    got, expected = kernel(*arguments), make_function(kernel)(*copies)
    pairs = list(zip(arguments, copies, strict=True))
    pairs += zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]
    for a, b in pairs:
        assert type(a) is type(b)
        if isinstance(a, np.ndarray):
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
        else:
            assert a == b


@given(numbers)
@settings(deadline=None, max_examples=30)
def test_arrays_that_are_returned(values: list[int]) -> None:
    equal(fuzzy_tokens.index_hashes, np.array(values, dtype=np.uint64))


@given(st.lists(st.text(max_size=20), max_size=8), st.integers(0, 2**64 - 1))
@settings(deadline=None, max_examples=30)
def test_arrays_that_are_written(texts: list[str], seed: int) -> None:
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    out = np.zeros(len(texts), dtype=np.uint64)
    equal(hashes.hash_strings, offsets, data, np.uint64(seed), out)


@given(st.sets(st.integers(0, 300)))
@settings(deadline=None, max_examples=30)
def test_intrinsics(members: set[int]) -> None:
    words, before = np.zeros(5, dtype=np.uint64), np.zeros(5, dtype=np.uint32)
    equal(packing.build_bit_set, np.array(list(members), dtype=np.uint32), words, before)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 10)), max_size=30))
@settings(deadline=None, max_examples=30)
def test_floating_point(rows: list[tuple[int, float]]) -> None:
    groups = np.array([group for group, _ in rows], dtype=np.int64)
    values = np.array([value for _, value in rows], dtype=np.float64)
    equal(fuzzy_tokens.compute_leads, groups, values, 5)


def test_a_result_outlives_its_kernel_call() -> None:
    kept = [fuzzy_tokens.index_hashes(np.arange(5000, dtype=np.uint64)) for _ in range(50)]
    for numbered, first in kept:
        assert numbered.tolist() == list(range(5000)) == first.tolist()


def test_the_gil_is_released() -> None:
    values = np.arange(20_000_000, dtype=np.uint64)
    began = threading.Event()

    def work() -> None:
        began.set()
        fuzzy_tokens.index_hashes(values)

    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    turns = 0
    while thread.is_alive():
        time.sleep(0.001)
        turns += 1
    assert turns > 20  # of a second or so


def test_a_call_costs_little() -> None:
    members = np.array([3, 70, 64], dtype=np.uint32)
    words, before = np.zeros(2, dtype=np.uint64), np.zeros(2, dtype=np.uint32)
    best = 1.0
    for _ in range(20):
        began = time.perf_counter()
        for _ in range(1000):
            packing.build_bit_set(members, words, before)
        best = min(best, (time.perf_counter() - began) / 1000)
    assert best < 3e-6


def test_other_types_go_to_numba() -> None:
    words, before = np.zeros(2, dtype=np.uint64), np.zeros(2, dtype=np.uint32)
    packing.build_bit_set(np.array([3, 70, 64], dtype=np.int16), words, before)
    assert words.tolist() == [8, 65]
    assert topk.required_score(np.array([0.5, 0.25]), 0.0) == topk.required_score.py_func(
        np.array([0.5, 0.25]), 0.0
    )


WITHOUT = "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None\n"


def run(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(SOURCES.parent), **settings}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )


JOIN = """
import sys, lakejoin, pyarrow as pa
left = pa.table({"town": ["Zürich", "Bern", "Genf", "Basel"] * 5, "n": list(range(20))})
right = pa.table({"name": ["zürich", "bern", "genf", "basel"], "canton": ["ZH", "BE", "GE", "BS"]})
joined = lakejoin.join(left, right).table()
print(joined.num_rows, "numba" in sys.modules)
"""


def test_a_join_imports_no_numba() -> None:
    done = run(JOIN)
    assert (done.stdout, done.stderr) == ("20 False\n", "")


def test_a_search_needs_no_numba(index: Any, lake: Path, tmp_path: Path) -> None:
    index(lake)
    search = (
        "import sys, lakejoin\n"
        f"lake = lakejoin.open({str(tmp_path / 'index')!r})\n"
        f"answer = lake.search({str(lake / 'cities.csv')!r})\n"
        "print(len(answer.results) >= 0)\n"
    )
    done = run(WITHOUT + search)
    assert done.stdout == "True\n", done.stderr


CALL = """
import numpy as np
from lakejoin.kernels import packing
words, before = np.zeros(2, dtype=np.uint64), np.zeros(2, dtype=np.uint32)
try:
    packing.build_bit_set(np.array([3, 70, 64], dtype=np.{}), words, before)
    print(words.tolist())
except Exception as problem:
    print(type(problem).__name__, problem)
"""


def test_without_the_library_numba_compiles() -> None:
    done = run(CALL.format("uint32"), LAKEJOIN_KERNELS="numba")
    assert done.stdout == "[8, 65]\n", done.stderr


def test_without_both_one_sentence_says_so() -> None:
    done = run(WITHOUT + CALL.format("uint32"), LAKEJOIN_KERNELS="numba")
    assert done.stdout == (
        "MissingDependency LAKEJOIN_KERNELS=numba turns off the compiled kernels, and numba, which "
        "would compile them now, is not installed: pip install 'lakejoin[numba]'\n"
    )


def test_a_call_that_nothing_was_compiled_for_is_named() -> None:
    done = run(WITHOUT + CALL.format("int16"))
    assert done.stdout == (
        "MissingDependency lakejoin.kernels.packing.build_bit_set was not compiled for (int16[1d], "
        "uint64[1d], uint32[1d]), and numba, which would do it now, is not installed: pip install "
        "'lakejoin[numba]'\n"
    )


@pytest.mark.parametrize("processor", ["x86-64-v2", "none"])
def test_the_code_for_a_processor(processor: str) -> None:
    done = run(CALL.format("uint32"), LAKEJOIN_PROCESSOR=processor)
    assert done.stdout == "[8, 65]\n"
    told = "cannot be loaded (the compiled kernels need a newer processor)" in done.stderr
    assert told == (processor == "none")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package, whose library may be damaged."""
    ignored = shutil.ignore_patterns("page", "__pycache__")
    shutil.copytree(SOURCES, tmp_path / "lakejoin", ignore=ignored)
    return tmp_path


def kernel_file(copied: Path) -> Path:
    return copied / "lakejoin" / "kernels" / "library.abi3.so"


@pytest.mark.parametrize("kept", [0, 60, 5000, -1_000_000, -5000, -1])
def test_a_library_that_is_cut_off(copied: Path, kept: int) -> None:
    whole = kernel_file(copied).read_bytes()
    kernel_file(copied).write_bytes(whole[:kept])
    done = run(CALL.format("uint32"), PYTHONPATH=str(copied))
    assert done.stdout == "[8, 65]\n", done.stderr
    assert "the compiled kernels of lakejoin cannot be loaded" in done.stderr
    done = run(WITHOUT + CALL.format("uint32"), PYTHONPATH=str(copied))
    assert done.stdout.startswith("MissingDependency the compiled kernels of lakejoin cannot be")
    assert done.stdout.endswith("is not installed: pip install 'lakejoin[numba]'\n")


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 0.6, 0.9])
def test_a_library_whose_code_is_damaged(copied: Path, share: float) -> None:
    code = bytearray(kernel_file(copied).read_bytes())
    at = int(share * len(code))
    code[at] ^= 1
    kernel_file(copied).write_bytes(code)
    done = run(CALL.format("uint32"), PYTHONPATH=str(copied))
    assert done.stdout == "[8, 65]\n", done.stderr
    assert "the compiled kernels of lakejoin cannot be loaded" in done.stderr
    assert "is damaged: install lakejoin again" in done.stderr


@pytest.mark.parametrize(
    "command",
    ["join a.csv a.csv --on town", "join a.csv a.csv", "index . --index new", "relations ."],
)
def test_without_library_and_numba_a_command_says_so_and_ends(copied: Path, command: str) -> None:
    kernel_file(copied).unlink()
    (copied / "a.csv").write_text("town,n\nBern,1\nUlm,2\n")
    script = f"{WITHOUT}from lakejoin.cli.main import main\nmain()\n"
    env = {**os.environ, "PYTHONPATH": str(copied)}
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split()],
        cwd=copied,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert done.stderr == (
        "lakejoin: lakejoin has no compiled kernels for this platform, and numba, which would "
        "compile them now, is not installed: pip install 'lakejoin[numba]'\n"
    )
    assert not (copied / "new").exists()


def test_without_numba_the_build_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_build, "find_spec", lambda name: None)
    with pytest.raises(NoLibrary, match=r"which is not installed: pip install numba"):
        build_library(tmp_path)


def test_without_a_compiler_the_build_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(library_build, "find_spec", lambda name: name == "numba" or None)
    with pytest.raises(NoLibrary, match=r"there is none: install gcc or clang"):
        build_library(tmp_path)


def test_for_another_processor_the_build_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(NoLibrary, match=r"and this is riscv64: numba compiles them"):
        build_library(tmp_path)


def test_a_compiler_that_fails_leaves_the_old_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = tmp_path / "cc"
    failing.write_text("#!/bin/sh\necho out of room >&2\nexit 1\n")
    failing.chmod(0o755)
    before = Path(library.__file__).read_bytes()
    with pytest.raises(NoLibrary, match=r"cc could not link the compiled kernels \(see above\)"):
        _link([str(failing)], tmp_path, {})
    assert "out of room" in capfd.readouterr().err
    assert Path(library.__file__).read_bytes() == before


def test_a_command_tells_of_a_library_that_is_cut_off(copied: Path) -> None:
    whole = kernel_file(copied).read_bytes()
    kernel_file(copied).write_bytes(whole[:-5000])
    (copied / "a.csv").write_text("town,n\nBern,1\nUlm,2\n")
    command = ["-m", "lakejoin", "join", "a.csv", "a.csv", "--on", "town"]
    env = {**os.environ, "PYTHONPATH": str(copied)}
    done = subprocess.run(
        [sys.executable, *command], cwd=copied, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "2 rows" in done.stdout
    sentence = done.stderr.splitlines()
    assert len(sentence) == 1
    assert sentence[0].startswith("lakejoin: the compiled kernels of lakejoin cannot be loaded (")


def test_a_library_for_another_processor(copied: Path) -> None:
    code = bytearray(kernel_file(copied).read_bytes())
    code[18:20] = (243).to_bytes(2, "little")  # RISC-V
    kernel_file(copied).write_bytes(code)
    done = run(CALL.format("uint32"), PYTHONPATH=str(copied))
    assert done.stdout == "[8, 65]\n", done.stderr
    assert "the compiled kernels of lakejoin cannot be loaded" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "compiles"),
    [
        ("        count += count_ones(", "        count += np.uint64(0) + count_ones(", True),
        ("_WORD_SHIFT = ", "_WORD_SHIFT = 0 + ", True),  # a constant that it uses
        ("_SEVEN = ", "_OTHER = 1\n_SEVEN = ", False),  # what stands beside it
        ('"""Build a set', '"""Make a set', False),
        ("members: Array, words: Array", "members: Any, words: Any", False),
    ],
)
def test_a_kernel_is_compiled_again_if_its_code_has_changed(
    copied: Path, old: str, new: str, compiles: bool
) -> None:
    source = copied / "lakejoin" / "kernels" / "packing.py"
    text = source.read_text()
    assert old in text
    source.write_text(text.replace(old, new, 1))
    done = run(
        CALL.format("uint32") + "import sys; print('numba' in sys.modules)", PYTHONPATH=str(copied)
    )
    assert done.stdout == f"[8, 65]\n{compiles}\n", done.stderr


def test_a_second_build_waits_for_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order = []

    def build() -> None:
        with _build_lock(tmp_path):
            order.append("second")

    with _build_lock(tmp_path):
        second = threading.Thread(target=build)
        second.start()
        while "waiting" not in capsys.readouterr().err:
            time.sleep(0.01)
        order.append("first")
    second.join()
    assert order == ["first", "second"]
