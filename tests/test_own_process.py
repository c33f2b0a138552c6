"""A process of ours loads less of its libraries, and these work the same."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pyarrow.compute as pc
import pytest

PREPARE = "from lakejoin.own_process import allow_pandas, prepare_process\n"


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PREPARE + script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_functions_of_arrow_are_made_when_they_are_used() -> None:
    said = run(
        "prepare_process(with_pandas=False)\n"
        "import pyarrow as pa, pyarrow.compute as pc\n"
        "made = len(vars(pc))\n"
        "numbers = pa.array([3, 1, None])\n"
        "print(pc.sum(numbers), pc.fill_null(numbers, 2).to_pylist(), pc.index(numbers, 1))\n"
        "print(numbers.unique().to_pylist(), numbers.take(pa.array([1])).to_pylist())\n"
        "print(pc.and_(pa.array([True]), pa.array([False])).to_pylist())\n"
        "print(pa.table({'a': numbers}).sort_by('a')['a'].to_pylist())\n"
        "print(pa.table({'a': numbers}).group_by('a').aggregate([('a', 'count')]).num_rows)\n"
        "from pyarrow.compute import utf8_zfill, starts_with\n"
        "print(starts_with(pa.array(['ab']), pattern='a').to_pylist(), starts_with.__name__)\n"
        "print(hasattr(pc, 'no_such_function'), len(pc.list_functions()) > 250, made < 200)\n"
    )
    assert said.splitlines() == [
        "4 [3, 1, 2] 1",
        "[3, 1, None] [1]",
        "[False]",
        "[1, 3, None]",
        "3",
        "[True] starts_with",
        "False True True",
    ]


def test_pyarrow_itself_names_no_function_that_is_made_later() -> None:
    """A module's own code finds its globals, and not what `__getattr__` would make."""

    def names_in(code: types.CodeType) -> set[str]:
        inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
        return set(code.co_names).union(*map(names_in, inner))

    assert pc.__file__ is not None
    whole = compile(Path(pc.__file__).read_text(), pc.__file__, "exec")
    functions = [const for const in whole.co_consts if isinstance(const, types.CodeType)]
    used = set().union(*map(names_in, functions))
    made = {
        name
        for name in set(pc.list_functions())
        if getattr(pc, name, None) is not None
        and getattr(pc, name).__code__.co_name == "wrapper"  # not one that Arrow wrote by hand
    }
    assert len(made) > 200
    assert used & made <= {"utf8_zero_fill"}


def test_another_version_of_pyarrow_is_loaded_as_usual() -> None:
    said = run(
        "from lakejoin import own_process\n"
        "own_process._FewFunctions.list_functions = lambda self: []\n"
        "prepare_process(with_pandas=False)\n"
        "import pyarrow as pa, pyarrow.compute as pc\n"
        "print(pc.sum(pa.array([1, 2])), len(vars(pc)) > 300)\n"
    )
    assert said.split() == ["3", "True"]


def test_pandas_is_hidden_until_it_is_needed() -> None:
    pytest.importorskip("pandas")
    said = run(
        "prepare_process(with_pandas=False)\n"
        "import sys, pyarrow as pa\n"
        "pa.array(['a'])\n"
        "print('pandas' in sys.modules)\n"
        "allow_pandas()\n"
        "import pandas\n"
        "print('pandas' in sys.modules)\n"
    )
    assert said.split() == ["False", "True"]
