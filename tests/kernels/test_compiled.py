"""Kept kernels are renewed whenever any kernel source changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

from lakejoin.kernels import canonical_texts, text_tables
from lakejoin.kernels.numba_functions import make_function, sources_stamp


def test_the_stamp_of_a_kernel_covers_all_sources() -> None:
    for kernel in (canonical_texts.fold_texts, text_tables.index_texts):
        cache = make_function(cast(Any, kernel))._cache
        assert cache._cache_file._source_stamp == sources_stamp()


OLD = """
from typing import NamedTuple
from lakejoin.kernels.jit import kernel

class Gone(NamedTuple):
    number: int

@kernel
def double(x):
    return 2 * x.number

print(double(Gone(21)))
"""
NEW = """
from lakejoin.kernels.jit import kernel

@kernel
def double(x):
    return 2 * x

print(double(21))
"""


def test_a_release_without_a_type_reads_no_kernel_that_took_it(tmp_path: Path) -> None:
    module = tmp_path / "kernels_of_a_release.py"
    for source in (OLD, NEW):
        module.write_text(source)
        ran = subprocess.run(
            [sys.executable, "-c", "import kernels_of_a_release"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert (ran.returncode, ran.stdout) == (0, "42\n"), ran.stderr
