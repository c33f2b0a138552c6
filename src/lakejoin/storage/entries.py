"""What a walk through a folder finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Enter = Callable[[str], bool]
"""Whether a walk enters the folder of this relative path."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file found by `Place.walk`: its path below the place, and what tells a change."""

    relative: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a walk could not list: its path below the place, and why."""

    relative: str
    reason: str
    detail: str = ""
