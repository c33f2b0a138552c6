"""An index whose checksums are right and whose arrays lie: it is refused with a sentence, or
answers; it never crashes, and never fails with anything but a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

from faults.battery import run_part
from faults.forgery import copy_index
from faults.small_lake import build_index, write_lake
from lakejoin.errors import DamagedIndex
from lakejoin.locations import Location
from lakejoin.store.arrayfile import BLOCK, ArrayFile, ArrayFileWriter, Limits
from lakejoin.store.index_records import ComponentRecord, NamedFile, SegmentRecord, read_record
from lakejoin.store.manifest import MANIFEST_FILE, read_manifest


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forged")
    build_index(write_lake(folder / "lake"), folder / "index")
    return folder / "index"


def test_a_forged_index_gives_an_answer_or_a_sentence(tmp_path: Path) -> None:
    """In a process of its own, which forks: this one may have threads."""
    found = run_part("index_faults.py", tmp_path, 1, 0, 50)
    assert found["problems"] == []
    assert found["outcomes"]["forge refused"] > 10


def _array_file(folder: Path, array: np.ndarray[Any, Any]) -> ArrayFile:
    with ArrayFileWriter(Location.of(folder) / "x.lj") as out:
        out.add("before", np.zeros(3, np.uint8))
        out.add("a", array)
    return ArrayFile(Location.of(folder) / "x.lj", out.record)


@pytest.mark.parametrize("at", [0, 2, BLOCK // 4 - 17, BLOCK // 4, 2 * BLOCK // 4 + 5, -1])
def test_limits_hold_in_every_block_and_between_blocks(tmp_path: Path, at: int) -> None:
    good = np.arange(3 * BLOCK // 4, dtype=np.uint32)
    assert len(_array_file(tmp_path, good).array("a", Limits(len(good), ascend=True)).all())
    beyond, falling = good.copy(), good.copy()
    beyond[at] = len(good)
    with pytest.raises(DamagedIndex, match="inconsistent"):
        _array_file(tmp_path, beyond).array("a", Limits(len(good))).all()
    falling[at] = 0
    if at:
        with pytest.raises(DamagedIndex, match="inconsistent"):
            _array_file(tmp_path, falling).array("a", Limits(len(good), ascend=True)).all()


def test_limits_are_checked_where_a_block_was_read_before(tmp_path: Path) -> None:
    file = _array_file(tmp_path, np.array([9], dtype=np.uint32))
    file.array("before").all()
    with pytest.raises(DamagedIndex, match="inconsistent"):
        file.array("a", Limits(9)).all()


def test_one_value_may_lie_beyond_a_limit(tmp_path: Path) -> None:
    file = _array_file(tmp_path, np.array([1, 0xFFFFFFFF], dtype=np.uint32))
    assert len(file.array("a", Limits(2, other=0xFFFFFFFF)).all()) == 2
    with pytest.raises(DamagedIndex):
        file.array("a", Limits(2)).all()


def test_an_array_has_a_type_that_is_expected(tmp_path: Path) -> None:
    file = _array_file(tmp_path, np.array([1], dtype=np.uint64))
    with pytest.raises(DamagedIndex, match="inconsistent"):
        file.array("a", None, "u4")
    with pytest.raises(DamagedIndex, match="inconsistent"):
        file.array("missing")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (NamedFile, {"name": "../../secret", "bytes": 1, "checksum": ""}),
        (NamedFile, {"name": "..", "bytes": 1, "checksum": ""}),
        (NamedFile, {"name": "x", "bytes": -1, "checksum": ""}),
        (NamedFile, {"name": "x", "bytes": True, "checksum": ""}),
        (NamedFile, {"name": "x", "bytes": "1", "checksum": ""}),
        (ComponentRecord, {"version": 1.5, "file": "x", "bytes": 1, "checksum": ""}),
        (SegmentRecord, ["id"]),
    ],
)
def test_records_of_the_wrong_kind_are_refused(kind: type, body: Any) -> None:
    with pytest.raises(ValueError, match=kind.__name__):
        read_record(kind, body)


def test_a_forged_manifest_names_no_file_elsewhere(index: Path, tmp_path: Path) -> None:
    copy_index(index, tmp_path / "copy")
    path = tmp_path / "copy" / MANIFEST_FILE
    body = json.loads(path.read_bytes())
    body["segments"][0]["id"] = "../../outside"
    del body["checksum"]
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    path.unlink()
    digest = xxhash.xxh3_64_hexdigest(text.encode())
    path.write_text(text[:-1] + f',"checksum":"{digest}"}}\n')
    with pytest.raises(DamagedIndex, match="is inconsistent; bring its copy back"):
        read_manifest(Location.of(tmp_path / "copy"))
