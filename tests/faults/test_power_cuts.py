"""Power cuts, simulated: of what a build has written, the disk keeps only what was synced, and the
names in a folder only as they were when it was synced last. At every such moment the index holds
the old version or the new one, and the new one once the build says that it is done."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import lakejoin
from faults.build_faults import Content, Trial, held

_FOLDER = -1


class Disk:
    """What a disk would hold of a folder after a power cut, in the worst case."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._names: dict[Path, dict[str, int]] = {}  # by folder: inodes, or `_FOLDER`
        self._bytes: dict[int, bytes] = {}
        self._kept: list[int] = []  # open files: the numbers of removed ones are not used again
        for path in (root, *root.rglob("*")):
            self.synced(path)

    def close(self) -> None:
        for handle in self._kept:
            os.close(handle)

    def synced(self, path: Path) -> None:
        if path.is_dir():
            self._names[path] = {
                entry.name: _FOLDER if entry.is_dir() else entry.stat().st_ino
                for entry in path.iterdir()
            }
            return
        handle = os.open(path, os.O_RDONLY)
        self._kept.append(handle)
        status = os.fstat(handle)
        self._bytes[status.st_ino] = os.pread(handle, status.st_size, 0)

    def renamed(self, path: Path) -> None:
        """A rename may reach the disk before anything else in its folder does."""
        self._names.setdefault(path.parent, {})[path.name] = path.stat().st_ino

    def restore(self, copy: Path, folder: str = "") -> None:
        """Write what would be found after the cut."""
        copy.mkdir(parents=True)
        for name, inode in self._names.get(self._root / folder, {}).items():
            if inode == _FOLDER:
                self.restore(copy / name, f"{folder}/{name}".lstrip("/"))
            else:
                (copy / name).write_bytes(self._bytes.get(inode, b""))


class PowerCuts:
    """Restores the disk after every call that makes something durable, and reads it."""

    def __init__(
        self, index: Path, states: list[Content | None], patch: pytest.MonkeyPatch
    ) -> None:
        self._index, self._states = index, states
        self.found: list[Content | None] = []
        self.disk = Disk(index)
        sync, replace = os.fsync, os.replace

        def fsync(handle: int) -> None:
            sync(handle)
            path = Path(f"/proc/self/fd/{handle}").readlink()
            if path.is_relative_to(index):
                self.disk.synced(path)
                self.cut()

        def rename(old: str, new: str) -> None:
            replace(old, new)
            if Path(new).is_relative_to(index):
                self.disk.renamed(Path(new))
                self.cut()

        patch.setattr(os, "fsync", fsync)
        patch.setattr(os, "replace", rename)

    def cut(self) -> None:
        copy = self._index.with_name("after-the-cut")
        shutil.rmtree(copy, ignore_errors=True)
        self.disk.restore(copy)
        self.found.append(held(copy))
        assert self.found[-1] in self._states, "neither the old version nor the new one"
        checked = [] if self.found[-1] is None else lakejoin.open(copy).snapshot.check()
        assert not [check for check in checked if check.problem]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="names of open files are in /proc")
@pytest.mark.parametrize("name", ["first", "refresh", "full", "compact", "graph", "rollback"])
def test_a_power_cut_leaves_the_old_version_or_the_new_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = Trial(tmp_path)
    trial.build()
    if name == "rollback":
        trial.lake.change("t0.csv")
        trial.build()
    operation: Callable[[], object]
    operation, before, after = trial.prepare(name)
    trial.index.mkdir(exist_ok=True)
    with monkeypatch.context() as patch:
        cuts = PowerCuts(trial.index, [before, after], patch)
        operation()
        cuts.cut()
    cuts.disk.close()
    assert len(cuts.found) > 3
    assert cuts.found[-1] == after, "the command said that it is done"
