"""The files and problems that walking a folder yields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Enter = Callable[[str], bool]
"""Whether to walk the folder with this relative path."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file found by `Place.walk`: its relative path, and the size and time that show changes."""

    relative: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that could not be listed: its relative path, and why."""

    relative: str
    reason: str
    detail: str = ""
