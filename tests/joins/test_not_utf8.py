"""Texts that are not UTF-8, which Parquet and Arrow files may hold though they must not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import lakejoin
from cli.commands import JOIN

NAMES = [f"code {n}".encode() for n in range(300)]
BROKEN = [*NAMES[:7], b"Z\xfcrich", *NAMES[8:]]
NOTE = "text is not UTF-8 and was read with replacement characters (1 time)"


def texts(values: list[bytes], kind: pa.DataType) -> pa.Array:
    width = np.int64 if pa.types.is_large_string(kind) else np.int32
    ends = np.cumsum([0, *map(len, values)]).astype(width)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind, len(values), buffers)


@pytest.fixture(params=["key", "other", "coded"])
def broken(request: pytest.FixtureRequest) -> pa.Table:
    wrong = texts(BROKEN, pa.string() if request.param == "key" else pa.large_string())
    if request.param == "coded":
        indices = pa.array(range(300), pa.int32())
        wrong = pa.DictionaryArray.from_arrays(indices, texts(BROKEN, pa.string()), safe=False)
    good = texts(NAMES, pa.string())
    return pa.table({"k": wrong, "v": good} if request.param == "key" else {"k": good, "v": wrong})


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.csv"
    path.write_text("k,w\n" + "".join(f"code {n},{n}\n" for n in range(300)))
    return path


def check(done: Any, broken: pa.Table) -> None:
    rows = done.table()
    rows.validate(full=True)
    is_key = broken.schema.field("k").type == pa.string() and broken["v"].type == pa.string()
    assert rows.num_rows == (299 if is_key else 300)
    assert ("Z\ufffdrich" in rows["v"].to_pylist()) is not is_key
    assert any(NOTE in note for note in done.notes), done.notes


def test_frames_join_with_a_note(broken: pa.Table, other: Path) -> None:
    check(lakejoin.join(broken, other, on="k"), broken)


@pytest.mark.parametrize("write", [pq.write_table, feather.write_feather])
def test_files_join_with_a_note(broken: pa.Table, other: Path, write: Any) -> None:
    path = other.with_name("broken.data")
    write(broken, str(path))
    check(lakejoin.join(path, other, on="k"), broken)


def test_the_command_says_it_in_a_sentence(broken: pa.Table, other: Path) -> None:
    path = other.with_name("broken.parquet")
    pq.write_table(broken, path)
    done = JOIN.run(str(path), str(other), "--on", "k", "-o", str(other) + ".out.csv")
    assert done.exit_code == 0
    assert f"reading {path}: {NOTE}" in done.output
