"""Another user who can write the index folder cannot run code as the builder, nor make a build
change files outside the index."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path
from typing import Any

import pytest

import lakejoin
from lakejoin.errors import BuildFailed, InputError
from lakejoin.locations import Location
from lakejoin.pipeline.job import Job, TaskRounds, receive_encoder
from lakejoin.pipeline.task_kinds import InlineRunner
from lakejoin.pipeline.task_progress import Progress
from lakejoin.store.commit import build_lock


class Touch:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self._path,)


class SwappingRunner(InlineRunner):
    """Swaps a file of the scratch folder just before the tasks begin."""

    def __init__(self, name: str, body: bytes) -> None:
        self._name, self._body = name, body

    def run(self, job: Job, *rest: Any) -> Any:
        (job.scratch / self._name).replace(self._body)
        return super().run(job, *rest)


@pytest.mark.parametrize("padding", [0, 32])
def test_swapped_work_is_not_executed(tmp_path: Path, padding: int) -> None:
    evil = bytes(padding) + pickle.dumps(Touch(tmp_path / "owned"))
    job = Job(str(tmp_path / "index"), "000001abcd")
    rounds = TaskRounds(job, lambda progress: None)
    with pytest.raises(BuildFailed, match="batch-000000 was not written by this build"):
        rounds.run(SwappingRunner("batch-000000", evil), [("files", [])], Progress("reading"))
    assert not (tmp_path / "owned").exists()


def test_a_swapped_encoder_is_not_executed(tmp_path: Path) -> None:
    job = Job(str(tmp_path / "index"), "000001abcd")
    job.scratch.make_folder()
    (job.scratch / "encoder").replace(bytes(32) + pickle.dumps(Touch(tmp_path / "owned")))
    with pytest.raises(BuildFailed, match="encoder was not written by this build"):
        receive_encoder(job)
    assert not (tmp_path / "owned").exists()


def test_no_bytes_from_storage_are_unpickled() -> None:
    """`pickle.loads` takes sealed bytes, or a cell that came through Spark itself."""
    allowed = {
        "_read_sealed(_batch_file(job, batch), job.key)", "_read_sealed(file, key)",
        "cell", "work", "body",
    }  # fmt: skip
    found = set()
    for path in Path(lakejoin.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and called.endswith(("pickle.load", "pickle.loads")):
                found.add(ast.unparse(node.args[0]))
    assert found == allowed


@pytest.mark.parametrize("name", ["LOCK", "scratch", "segments"])
def test_a_linked_name_in_an_index_is_refused(tmp_path: Path, name: str) -> None:
    index, mine = tmp_path / "index", tmp_path / "mine"
    index.mkdir()
    if name == "LOCK":
        mine.write_text("precious")
    else:
        (mine / "000001abcd").mkdir(parents=True)
    (index / name).symlink_to(mine)
    with (
        pytest.raises(InputError, match=f"{name} is a symbolic link"),
        build_lock(Location.of(index)),
    ):
        raise AssertionError("locked")
    assert mine.read_text() == "precious" if name == "LOCK" else (mine / "000001abcd").is_dir()
