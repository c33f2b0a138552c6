"""Walk local folders, and flush files to disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

# ruff: noqa: PTH115, PTH116


OUTSIDE = "link that leads outside the lake"  # why it is not followed
_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    relative: str
    ancestors: tuple[_Identity, ...]  # from the root to this folder


def walk_local(
    root: str, problems: list[Problem], enter: Enter, follow_links: bool
) -> Iterator[Entry]:
    """Yield every file below `root`: a folder's files in order, then those of its subfolders.

    A linked folder is entered once, and never if it links back to one of its parents. Without
    `follow_links`, a link that leads outside the root is a problem. What cannot be listed goes to
    `problems`; `OSError` is raised only if the root itself cannot be listed.
    """
    stack = [_Folder(root, "", (_identity(os.stat(root)),))]
    inside = "/" if follow_links else os.path.realpath(root)
    linked: set[_Identity] = set()
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(folder.path) as listing:
                entries = sorted(listing, key=lambda e: e.name)
        except OSError as problem:
            if not folder.relative:
                raise
            problems.append(_unlisted(folder.relative, problem))
            continue
        subfolders: list[_Folder] = []
        for entry in entries:
            relative = f"{folder.relative}/{entry.name}" if folder.relative else entry.name
            try:
                if entry.is_dir():
                    if enter(relative):
                        subfolders.extend(_enter(entry, relative, folder, linked, inside, problems))
                elif entry.is_file():
                    if _leads_outside(entry, inside):
                        problems.append(Problem(relative, OUTSIDE, _target(entry.path), False))
                        continue
                    stat = entry.stat()
                    yield Entry(relative, stat.st_size, stat.st_mtime_ns)
                elif entry.is_symlink():
                    problems.append(Problem(relative, "broken link", _target(entry.path), False))
                else:
                    problems.append(Problem(relative, "neither a file nor a folder", folder=False))
            except OSError as problem:  # it vanished, or its link is circular
                problems.append(_unlisted(relative, problem))
        stack.extend(reversed(subfolders))


def _enter(
    entry: os.DirEntry[str],
    relative: str,
    parent: _Folder,
    linked: set[_Identity],
    inside: str,
    problems: list[Problem],
) -> Iterator[_Folder]:
    """Yield the folder to walk, unless it is already being walked under another name."""
    if _leads_outside(entry, inside):
        problems.append(Problem(relative, OUTSIDE, _target(entry.path)))
        return
    here = _identity(entry.stat())
    if here in parent.ancestors:
        problems.append(Problem(relative, "linked folder", "links back to one of its parents"))
        return
    if entry.is_symlink():
        if here in linked:
            problems.append(Problem(relative, "linked folder", "already reached by another link"))
            return
        linked.add(here)
    yield _Folder(entry.path, relative, (*parent.ancestors, here))


def _leads_outside(entry: os.DirEntry[str], root: str) -> bool:
    """Whether this is a link to something that is not below a folder, whose path has no links."""
    if root == "/" or not entry.is_symlink():
        return False
    return not f"{os.path.realpath(entry.path)}/".startswith(f"{root}/")


def _identity(stat: os.stat_result) -> _Identity:
    return stat.st_dev, stat.st_ino


def _unlisted(relative: str, problem: OSError) -> Problem:
    return Problem(relative, "cannot be listed", problem.strerror or type(problem).__name__)


def _target(link: str) -> str:
    try:
        return f"points to {os.readlink(link)}"
    except OSError:
        return ""


def sync(file: BinaryIO) -> None:
    """Flush to disk; a remote stream is only flushed."""
    file.flush()
    try:
        handle = file.fileno()
    except (AttributeError, OSError, ValueError):  # a remote stream has no file number
        return
    os.fsync(handle)


def sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


Enter = Callable[[str], bool]
"""Whether to walk the folder with this relative path."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that a walk found: its relative path, and the size and time that show changes."""

    relative: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be listed: its relative path, and why; `folder` if it may be one."""

    relative: str
    reason: str
    detail: str = ""
    folder: bool = True
