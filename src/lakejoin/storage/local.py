"""Walking through the folders of this machine, and bringing files to its disk."""
# ruff: noqa: PTH115, PTH116

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from lakejoin.storage.entries import Enter, Entry, Problem

_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    relative: str
    above: tuple[_Identity, ...]  # the folders on the way here, this one included


def walk_local(root: str, problems: list[Problem], enter: Enter) -> Iterator[Entry]:
    """Every file below `root`: a folder's files in order, then those of its folders.

    A linked folder is entered once, unless it leads back to a folder that it lies in. What cannot
    be listed goes to `problems`; only where the root itself cannot, `OSError` is raised.
    """
    stack = [_Folder(root, "", (_identity(os.stat(root)),))]
    linked: set[_Identity] = set()
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(folder.path) as found:
                entries = sorted(found, key=lambda e: e.name)
        except OSError as problem:
            if not folder.relative:
                raise
            problems.append(_unlisted(folder.relative, problem))
            continue
        inner: list[_Folder] = []
        for entry in entries:
            relative = f"{folder.relative}/{entry.name}" if folder.relative else entry.name
            try:
                if entry.is_dir():
                    if enter(relative):
                        inner.extend(_entered(entry, relative, folder, linked, problems))
                elif entry.is_file():
                    stat = entry.stat()
                    yield Entry(relative, stat.st_size, stat.st_mtime_ns)
                elif entry.is_symlink():
                    problems.append(Problem(relative, "broken link", _target(entry.path)))
                else:
                    problems.append(Problem(relative, "neither a file nor a folder"))
            except OSError as problem:  # it vanished, or its link leads in a circle
                problems.append(_unlisted(relative, problem))
        stack.extend(reversed(inner))


def _entered(
    entry: os.DirEntry[str],
    relative: str,
    parent: _Folder,
    linked: set[_Identity],
    problems: list[Problem],
) -> Iterator[_Folder]:
    """The folder to walk through, unless that was or is being done under another name."""
    here = _identity(entry.stat())
    if here in parent.above:
        problems.append(Problem(relative, "linked folder", "leads back to a folder it lies in"))
        return
    if entry.is_symlink():
        if here in linked:
            problems.append(Problem(relative, "linked folder", "another link leads there too"))
            return
        linked.add(here)
    yield _Folder(entry.path, relative, (*parent.above, here))


def _identity(stat: os.stat_result) -> _Identity:
    return stat.st_dev, stat.st_ino


def _unlisted(relative: str, problem: OSError) -> Problem:
    return Problem(relative, "cannot be listed", problem.strerror or type(problem).__name__)


def _target(link: str) -> str:
    try:
        return f"leads to {os.readlink(link)}"
    except OSError:
        return ""


def sync(file: BinaryIO) -> None:
    """Brings what was written to the disk, where the file is one of the operating system's."""
    file.flush()
    try:
        handle = file.fileno()
    except (AttributeError, OSError, ValueError):  # a remote stream has no such thing
        return
    os.fsync(handle)


def sync_folder(folder: str) -> None:
    """Brings the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
