"""Array files: what is written comes back, and no damage goes unnoticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakejoin.errors import DamagedIndex, NewerIndex
from lakejoin.locations import Location
from lakejoin.store.arrayfile import BLOCK, ArrayFile, ArrayFileWriter, FileRecord


def write(path: Path, **arrays: np.ndarray) -> FileRecord:
    with ArrayFileWriter(Location.of(path)) as out:
        out.meta["who"] = "test"
        for name, array in arrays.items():
            out.add(name, array)
    return out.record


def read_all(path: Path, record: FileRecord) -> dict[str, np.ndarray]:
    file = ArrayFile(Location.of(path), record)
    return {name: file.array(name).all() for name in file.names()}


def test_arrays_come_back(tmp_path: Path) -> None:
    arrays = {
        "none": np.zeros(0, dtype=np.uint32),
        "bytes": np.arange(200, dtype=np.uint8),
        "wide": np.arange(3 * BLOCK // 8 + 5, dtype=np.int64),
        "real": np.linspace(0, 1, 7),
    }
    record = write(tmp_path / "x.lj", **arrays)
    back = read_all(tmp_path / "x.lj", record)
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert np.array_equal(back[name], array)
    assert ArrayFile(Location.of(tmp_path / "x.lj")).meta == {"who": "test"}


def test_an_array_in_parts_is_one_array(tmp_path: Path) -> None:
    with ArrayFileWriter(Location.of(tmp_path / "x.lj")) as out:
        out.begin("n", np.dtype(np.uint16))
        for part in range(5):
            out.append(np.full(40_000, part, dtype=np.uint16))
    back = read_all(tmp_path / "x.lj", out.record)["n"]
    assert np.array_equal(back, np.repeat(np.arange(5, dtype=np.uint16), 40_000))


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x.lj"
    record = write(path, a=np.arange(64, dtype=np.uint32), b=np.arange(9, dtype=np.uint8))
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        with pytest.raises((DamagedIndex, NewerIndex)) as problem:
            ArrayFile(Location.of(path), record).check_all()
        assert "x.lj" in str(problem.value)


@pytest.mark.parametrize("keep", [0, 1, 40, 100, -1])
def test_a_truncated_file_is_found_on_opening(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "x.lj"
    record = write(path, a=np.arange(64, dtype=np.uint32))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DamagedIndex, match=r"x\.lj"):
        ArrayFile(Location.of(path), record)


def test_a_missing_or_other_file_is_named(tmp_path: Path) -> None:
    record = write(tmp_path / "x.lj", a=np.arange(64, dtype=np.uint32))
    write(tmp_path / "y.lj", a=np.arange(64, dtype=np.uint32)[::-1].copy())
    with pytest.raises(DamagedIndex, match="missing"):
        ArrayFile(Location.of(tmp_path / "z.lj"), record)
    with pytest.raises(DamagedIndex, match="not the file"):
        ArrayFile(Location.of(tmp_path / "y.lj"), record)


def test_a_newer_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.lj"
    write(path, a=np.arange(4))
    whole = bytearray(path.read_bytes())
    whole[-12:-8] = (99).to_bytes(4, "little")
    path.write_bytes(bytes(whole))
    with pytest.raises(NewerIndex, match="newer lakejoin"):
        ArrayFile(Location.of(path))


def test_only_the_blocks_that_are_read_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "x.lj"
    record = write(path, a=np.zeros(10 * BLOCK, dtype=np.uint8))
    whole = bytearray(path.read_bytes())
    whole[5 * BLOCK + 7] ^= 1
    path.write_bytes(bytes(whole))
    array = ArrayFile(Location.of(path), record).array("a")
    assert not array.slice(0, 4 * BLOCK).any()
    assert not array.take(np.array([3, 7 * BLOCK])).any()
    for read in (
        lambda: array.slice(5 * BLOCK, 5 * BLOCK + 1),
        lambda: array.take(np.array([1, 5 * BLOCK + 9])),
        lambda: array.touch(np.array([0, 4 * BLOCK]), np.array([1, 6 * BLOCK])),
        array.all,
    ):
        with pytest.raises(DamagedIndex, match="bytes 327,680 to 393,216"):
            read()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5 * BLOCK), st.integers(0, 2 * BLOCK)), max_size=8),
    st.integers(0, 6 * BLOCK),
)
def test_touching_spans_checks_exactly_their_blocks(
    spans: list[tuple[int, int]], broken: int
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.lj"
        record = write(path, a=np.zeros(8 * BLOCK, dtype=np.uint8))
        whole = bytearray(path.read_bytes())
        whole[broken] ^= 1
        path.write_bytes(bytes(whole))
        array = ArrayFile(Location.of(path), record).array("a")
        begin = np.array([b for b, _ in spans], dtype=np.int64)
        end = begin + np.array([n for _, n in spans], dtype=np.int64)
        block = broken // BLOCK
        hit = any(
            e > b and (array.offset + b) // BLOCK <= block <= (array.offset + e - 1) // BLOCK
            for b, e in zip(begin.tolist(), end.tolist(), strict=True)
        )
        if hit:
            with pytest.raises(DamagedIndex):
                array.touch(begin, end)
        else:
            array.touch(begin, end)


CUT = """
import os, sys
import numpy as np
from lakejoin.kernels.compiled_library import survive_cut_files
from lakejoin.locations import Location
survive_cut_files()
mapped = Location.of(sys.argv[1]).map()
assert mapped[-1] == 7
os.truncate(sys.argv[1], 5_000)
assert int(mapped[:5_000].sum()) == 35_000
assert int(mapped[8_192:].sum()) == 0
"""


def test_reading_what_was_cut_does_not_end_the_process(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x07" * 1_000_000)
    done = subprocess.run(
        [sys.executable, "-c", CUT, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("change", ["cut", "overwrite", "replace", "touch"])
def test_a_file_that_was_changed_is_told(tmp_path: Path, change: str) -> None:
    location = Location.of(tmp_path) / "x.lj"
    with ArrayFileWriter(location) as out:
        out.add("n", np.arange(50_000))
    file, path = ArrayFile(location, out.record), tmp_path / "x.lj"
    file.check_all()
    file.check_unchanged()
    data = path.read_bytes()
    if change == "cut":
        os.truncate(path, len(data) // 2)
    elif change == "overwrite":
        with path.open("r+b") as opened:
            opened.write(b"\0" * 100)
    elif change == "replace":
        (tmp_path / "new").write_bytes(data)
        (tmp_path / "new").replace(path)
    else:
        os.utime(path)
    with pytest.raises(DamagedIndex, match="was changed while it was in use"):
        file.check_unchanged()
    path.unlink()  # as of a version that was retired: still mapped
    file.check_unchanged()


def test_a_file_of_which_much_was_read_is_checked_ahead(tmp_path: Path) -> None:
    path = tmp_path / "x.lj"
    numbers = np.arange(40 * BLOCK // 8, dtype=np.int64)
    record = write(path, n=numbers)
    file = ArrayFile(Location.of(path), record)
    file.array("n").slice(0, 10)
    assert np.count_nonzero(file.verified) == 1, "one block of 40 is not much"
    file.array("n").slice(0, 5 * BLOCK // 8)
    assert file.all_checked


def test_damage_found_ahead_is_reported_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.lj"
    record = write(path, n=np.arange(40 * BLOCK // 8, dtype=np.int64))
    damaged = bytearray(path.read_bytes())
    damaged[30 * BLOCK] ^= 1
    path.write_bytes(damaged)
    numbers = ArrayFile(Location.of(path), record).array("n")
    assert len(numbers.slice(0, 6 * BLOCK // 8)) == 6 * BLOCK // 8
    assert not numbers.file.all_checked
    with pytest.raises(DamagedIndex, match="do not match their checksum"):
        numbers.slice(30 * BLOCK // 8 - 100, 30 * BLOCK // 8 + 100)
