"""Build the library of compiled kernels: `python -m lakejoin.kernels.library_build`.

It compiles every kernel of `signatures.txt` with all cores and links `library.abi3.so` beside this
file. A module whose kernels have not changed since the last build, and use nothing that has, is not
compiled again. Needs numba, a C compiler (or the package `ziglang`), and the headers of Python and
numpy.

`--add FOLDER` first adds the calls noted there to the table: run anything with
LAKEJOIN_KERNEL_CALLS=FOLDER, and each call that no compiled kernel takes is noted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

from lakejoin.kernels.compiled_library import LIBRARY, SEAL, digest_library
from lakejoin.kernels.kernel_sources import (
    digest_kernels,
    digest_module,
    needed_modules,
    read_table,
)

HERE = Path(__file__).parent
STABLE = "0x030B0000"  # the stable interface of Python 3.11

# The best comes first. What every server has is the second level of x86-64 (2009); the third has
# AVX2 (2013), the fourth AVX-512. One kind of arm64 is enough: all have the same vectors.
PROCESSORS = {
    "x86_64": {
        "x86-64-v4": " && ".join(
            f'__builtin_cpu_supports("avx512{one}")' for one in ("f", "bw", "cd", "dq", "vl")
        ),
        "x86-64-v3": '__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && '
        '__builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi")',
        "x86-64-v2": '__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")',
    },
    "aarch64": {"generic": "1"},
    "arm64": {"generic": "1"},
}


class NoLibrary(Exception):
    """The library cannot be built; the message is one sentence with the way out."""


def build_library(objects: Path, jobs: int | None = None) -> bool:
    """Build what has changed; says whether anything had."""
    if find_spec("numba") is None:
        raise NoLibrary("kernels are compiled by numba, which is not installed: pip install numba")
    compiler = find_compiler()
    objects.mkdir(parents=True, exist_ok=True)
    with _build_lock(objects):
        return _build_stale(objects, compiler, jobs)


@contextmanager
def _build_lock(objects: Path) -> Iterator[None]:
    """Holds the only build of these objects, where the platform has such locks."""
    if find_spec("fcntl") is None:
        yield
        return
    import fcntl

    with (objects / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stderr.write("lakejoin: waiting for the kernels that are being compiled\n")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_stale(objects: Path, compiler: list[str], jobs: int | None) -> bool:
    modules = sorted({name.rpartition(".")[0] for name in read_table()})
    keys = {module: object_key(module) for module in modules}
    stale = [one for one in modules if not _kept(objects, keys[one]).is_file()]
    if not stale and _is_linked(objects, keys):
        return False
    stale.sort(key=_weight, reverse=True)  # the longest first, so that no core waits at the end
    jobs = min(jobs or os.cpu_count() or 1, len(stale)) or 1
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for module, _ in zip(
            stale, pool.map(compile_module, stale, [objects] * len(stale)), strict=True
        ):
            sys.stderr.write(f"lakejoin: compiled {module}\n")
    _remove_old(objects, set(keys.values()))
    _link(compiler, objects, keys)
    return True


def _weight(module: str) -> int:
    """About how long a module takes: engines call much of what is in kernels."""
    return 10 * ("engines" in module) + len(needed_modules(module))


def object_key(module: str) -> str:
    """A digest of all that decides what a module's object files are."""
    parts = [version("numba"), version("llvmlite"), platform.machine(), *_processors()]
    parts += [digest_kernels(module), str(digest_module("lakejoin.kernels.kernel_objects"))]
    parts += [str(item) for item in read_table().items() if item[0].rpartition(".")[0] == module]
    return f"{module}-{hashlib.blake2b(chr(0).join(parts).encode(), digest_size=8).hexdigest()}"


def compile_module(module: str, objects: Path) -> None:
    """Compile a module's kernels into object files."""
    os.environ["LAKEJOIN_KERNELS"] = "numba"
    from lakejoin.kernels.kernel_objects import write_entries, write_objects

    key = object_key(module)
    files = {one: objects / f"{key}.{one}.o" for one in _processors()}
    write_entries(write_objects(module, files), _kept(objects, key))


def _processors() -> dict[str, str]:
    try:
        return PROCESSORS[platform.machine()]
    except KeyError:
        raise NoLibrary(
            f"kernels are compiled ahead for x86-64 and arm64, and this is {platform.machine()}: "
            "numba compiles them when they are first called"
        ) from None


def _kept(objects: Path, key: str) -> Path:
    return objects / f"{key}.json"


def _is_linked(objects: Path, keys: dict[str, str]) -> bool:
    linked = objects / "linked.json"
    return LIBRARY.is_file() and linked.is_file() and json.loads(linked.read_text()) == _links(keys)


def _links(keys: dict[str, str]) -> dict[str, str]:
    """The inputs of the library: its objects, the bridge, and its record of the sources."""
    bridge = b"".join(
        (HERE / name).read_bytes()
        for name in ("binding.c", "entries.h", "library_build.py", "compiled_library.py")
    )
    digest = hashlib.blake2b(bridge + _write_sources(keys).encode(), digest_size=8)
    return {**keys, "bridge": digest.hexdigest()}


def _write_sources(keys: dict[str, str]) -> str:
    """The library's record of its sources (`compiled_library.py` reads it)."""
    files = {module: needed_modules(module) for module in keys}
    digests = {one: digest_module(one) for names in files.values() for one in names}
    kernels = {module: digest_kernels(module) for module in keys}
    return json.dumps([digests, files, kernels], separators=(",", ":"))


def _remove_old(objects: Path, keys: set[str]) -> None:
    for file in objects.iterdir():
        if (
            file.suffix in (".o", ".json")
            and file.name != "linked.json"
            and not any(file.name.startswith(key) for key in keys)
        ):
            file.unlink()


def find_compiler() -> list[str]:
    """The C compiler of this machine, or the one of the package `ziglang`."""
    for name in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return [name]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise NoLibrary(
        "the compiled kernels are linked by a C compiler, and there is none: install gcc or clang, "
        "or: pip install ziglang"
    )


def _link(compiler: list[str], objects: Path, keys: dict[str, str]) -> None:
    import numpy as np

    table = objects / "entries.c"
    table.write_text(_write_table(objects, keys))
    code = [str(objects / f"{key}.{one}.o") for key in keys.values() for one in _processors()]
    flags = ["-shared", "-fPIC", "-O2", "-fvisibility=hidden", f"-DPy_LIMITED_API={STABLE}"]
    folders = [str(HERE), sysconfig.get_path("include"), np.get_include()]
    new = objects / LIBRARY.name
    flags += [f"-I{one}" for one in folders]
    files = [str(HERE / "binding.c"), str(table), *code, "-lm", "-s", "-o", str(new)]
    done = subprocess.run([*compiler, *flags, *files], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr)
        raise NoLibrary(f"{compiler[0]} could not link the compiled kernels (see above)")
    _try_library(new)
    if sys.platform == "linux":  # elsewhere a file that is signed may not be added to
        new.write_bytes(new.read_bytes() + SEAL + digest_library(new.read_bytes()))
    # A running process keeps the file that it has mapped: the new one takes its place in one step.
    beside = LIBRARY.with_suffix(".new")
    shutil.copyfile(new, beside)
    beside.replace(LIBRARY)
    (objects / "linked.json").write_text(json.dumps(_links(keys)))


def _try_library(file: Path) -> None:
    """Load the new library in a process of its own: a symbol may be missing."""
    load = (
        "import sys, importlib.machinery as m, importlib.util as u\n"
        "at = m.ExtensionFileLoader('library', sys.argv[1])\n"
        "u.module_from_spec(u.spec_from_loader('library', at))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", load, str(file)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NoLibrary(f"the new library does not load: {done.stderr.strip().splitlines()[-1]}")


def _write_table(objects: Path, keys: dict[str, str]) -> str:
    """The table of entries as C."""
    from lakejoin.kernels.kernel_objects import read_entries

    entries = [one for key in keys.values() for one in read_entries(_kept(objects, key))]
    entries.sort(key=lambda one: one.name)  # stable: the signatures of a kernel keep their order
    kind = "const int64_t *, int64_t *, void **"
    lines = ['#include "entries.h"']
    variants = []
    for processor, test in _processors().items():
        tag = processor.replace("-", "_")
        lines += [f"int32_t {one.symbol}__{tag}({kind});" for one in entries]
        lines += [f"static int fits_{tag}(void) {{ return {test}; }}"]
        lines += [f"static const Entry entries_{tag}[] = {{"]
        lines += [
            f'{{"{one.name}", "{one.arguments}", "{one.result}", {one.symbol}__{tag}}},'
            for one in entries
        ]
        lines += ["};"]
        variants += [f'{{"{processor}", fits_{tag}, entries_{tag}, {len(entries)}}},']
    text = json.dumps(_write_sources(keys))
    lines += ["const Variant variants[] = {", *variants, "};"]
    lines += [f"const int variants_size = {len(variants)};", f"const char sources[] = {text};"]
    return "\n".join(lines) + "\n"


def default_objects() -> Path:
    """Where object files are kept between builds: `build/kernels` of a checkout."""
    root = HERE.parent.parent.parent
    if (root / "pyproject.toml").is_file():
        return root / "build" / "kernels"
    return Path(os.environ.get("TMPDIR", "/tmp")) / "lakejoin-kernels"


def main() -> None:
    """Build the library of this checkout."""
    parser = argparse.ArgumentParser(
        prog="python -m lakejoin.kernels.library_build", description=__doc__
    )
    parser.add_argument("--add", type=Path, metavar="FOLDER", help="add noted calls to the table")
    parser.add_argument("--objects", type=Path, default=default_objects())
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    try:
        if options.add:
            from lakejoin.kernels.kernel_signatures import add_calls

            sys.stderr.write(f"lakejoin: {add_calls(options.add)} signatures\n")
        build_library(options.objects, options.jobs)
    except NoLibrary as problem:
        sys.exit(f"lakejoin: {problem}")


if __name__ == "__main__":
    main()
