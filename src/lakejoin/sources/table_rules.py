"""What a lake's owner says about its tables, in `lakejoin.toml` at the root of the lake."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from typing import Any

from lakejoin.errors import InputError
from lakejoin.locations import Location
from lakejoin.sources.lake_files import glob_pattern

RULES_FILE = "lakejoin.toml"
_LISTS = ("include", "exclude", "keep_apart")


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that are one table: its name, and patterns of the files."""

    name: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableRules:
    """Which files are read, and which of them are one table.

    Patterns are globs over paths relative to the root of the lake; one without a slash is looked
    for in every folder, and everything below a folder that matches does too. `include`: only these
    files are read, if there are any patterns. `exclude`: these are not. `group`: these files are
    one table. `keep_apart`: each of these is a table of its own.

    >>> rules = TableRules(include=("*.csv",), exclude=("tmp",))
    >>> [rules.reads(name) for name in ("a/b.csv", "a/tmp/b.csv", "b.json")]
    [True, False, False]
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    keep_apart: tuple[str, ...] = ()
    group: tuple[FileGroup, ...] = ()

    def reads(self, name: str) -> bool:
        """Whether a file is read."""
        wanted = not self.include or matches_any(self.include, name)
        return wanted and not matches_any(self.exclude, name)

    def with_excluded(self, patterns: tuple[str, ...]) -> TableRules:
        return replace(self, exclude=(*self.exclude, *patterns))


def matches_any(patterns: tuple[str, ...], name: str) -> bool:
    """Whether a path matches one of some globs."""
    return any(_compiled(pattern).fullmatch(name) is not None for pattern in patterns)


def _compiled(pattern: str) -> re.Pattern[str]:
    plain = pattern.rstrip("/")
    anywhere = plain if "/" in plain else f"**/{plain}"
    return re.compile(glob_pattern(anywhere.lstrip("/")), re.DOTALL)  # re keeps what it compiled


def read_rules(root: Location) -> TableRules:
    """The rules in the root folder of a lake; none if it has no file of them."""
    file = root / RULES_FILE
    if root.kind() != "folder" or file.kind() != "file":
        return TableRules()
    try:
        body = tomllib.loads(file.read_bytes().decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InputError(f"{file} is not valid TOML: {problem}") from None
    unknown = sorted(set(body) - {*_LISTS, "group"})
    if unknown:
        known = ", ".join((*_LISTS, "group"))
        raise InputError(f"{file}: unknown key {unknown[0]!r}; the keys are {known}")
    lists = {name: _patterns(file, name, body.get(name, [])) for name in _LISTS}
    groups = body.get("group", [])
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise InputError(f"{file}: write each group as [[group]], with a name and files")
    return TableRules(**lists, group=tuple(_group(file, group) for group in groups))


def _group(file: Location, body: dict[str, Any]) -> FileGroup:
    name = body.get("name")
    if set(body) != {"name", "files"} or not isinstance(name, str) or not name:
        raise InputError(f"{file}: a group has a name and files, and nothing else")
    return FileGroup(name, _patterns(file, "files", body["files"]))


def _patterns(file: Location, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise InputError(f'{file}: {key} must be a list of patterns, such as ["archive/*.csv"]')
    return tuple(value)
