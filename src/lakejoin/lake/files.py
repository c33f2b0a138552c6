"""Which files does a lake hold?"""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lakejoin.errors import InputError
from lakejoin.model import SourceFile
from lakejoin.storage import Entry, Place

_MAGIC = re.compile(r"[*?\[]")
_JOB_LEFTOVERS = ("_SUCCESS", "_temporary", "_started_", "_committed_")


@dataclass(frozen=True, slots=True)
class _Root:
    """One LAKE argument: the folder that names are relative to, and what was found below it."""

    label: str
    files: tuple[SourceFile, ...]


def list_files(lakes: Sequence[str]) -> list[SourceFile]:
    """Every file of the lakes, each named by its path relative to its lake's root.

    A lake is a file, a folder (walked through), a glob such as `data/**/*.csv`, or a remote URI.
    Hidden files and folders, and what Spark leaves beside its output, are passed over. Where two
    lakes hold the same relative path, their names begin with the last folder of their root.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (pathlib.Path(folder) / "b.csv").write_text("x,y")
    ...     _ = (pathlib.Path(folder) / ".hidden").write_text("x")
    ...     [(f.name, f.size) for f in list_files([folder])]
    [('b.csv', 3)]
    """
    roots = [_root(lake) for lake in lakes]
    return _unique(roots)


def _root(lake: str) -> _Root:
    place = Place.of(lake)
    kind = place.kind()
    if kind == "file":
        entry = place.entry()
        file = SourceFile(place.name, place.uri, entry.size, entry.mtime_ns)
        return _Root(_parent_name(place), (file,))
    if kind == "folder":
        return _Root(place.name or "lake", tuple(_sources(place, _visible(place.walk()))))
    if _MAGIC.search(place.uri):
        return _globbed(lake, place)
    raise InputError(f"there is no file or folder {lake}")


def _globbed(lake: str, place: Place) -> _Root:
    """The files that match a glob; a folder that matches is walked through."""
    parts = place.uri.split("/")
    fixed = next(i for i, part in enumerate(parts) if _MAGIC.search(part))
    base = Place("/".join(parts[:fixed]) or "/", place.local)
    pattern = _glob_pattern("/".join(parts[fixed:]))
    if base.kind() == "missing":
        raise InputError(f"nothing matches {lake}")
    if base.local:
        entries: Iterable[Entry] = _local_matches(base, place)
    else:
        entries = (e for e in base.walk() if pattern.match(e.relative))
    files = tuple(_sources(base, _visible(entries)))
    if not files:
        raise InputError(f"nothing matches {lake}")
    return _Root(base.name or "lake", files)


def _local_matches(base: Place, place: Place) -> list[Entry]:
    found: dict[str, Entry] = {}
    for path in sorted(glob.glob(place.uri, recursive=True)):  # noqa: PTH207 (sorted text paths)
        here = Place(path.rstrip("/") or "/", True)
        kind = here.kind()
        relative = os.path.relpath(here.uri, base.uri).replace(os.sep, "/")
        if kind == "file":
            entry = here.entry()
            found[relative] = Entry(relative, entry.size, entry.mtime_ns)
        elif kind == "folder":
            head = "" if relative == "." else relative + "/"
            for e in here.walk():
                found[head + e.relative] = Entry(head + e.relative, e.size, e.mtime_ns)
    return list(found.values())


def _glob_pattern(text: str) -> re.Pattern[str]:
    """A glob as a pattern over relative paths; what lies below a match matches too."""
    out = []
    for token in re.findall(r"\*\*/?|\*|\?|\[[^]]+\]|[^*?\[]+|\[", text):
        if token.startswith("**"):
            out.append("(?:.*/)?" if token.endswith("/") else ".*")
        elif token == "*":
            out.append("[^/]*")
        elif token == "?":
            out.append("[^/]")
        elif token.startswith("[") and len(token) > 1:
            out.append("[" + token[1:-1].replace("\\", "\\\\").replace("!", "^", 1) + "]")
        else:
            out.append(re.escape(token))
    return re.compile("".join(out) + "(?:/.*)?$", re.DOTALL)


def _visible(entries: Iterable[Entry]) -> Iterator[Entry]:
    for entry in entries:
        parts = entry.relative.split("/")
        if not any(part.startswith(".") or part.startswith(_JOB_LEFTOVERS) for part in parts):
            yield entry


def _sources(base: Place, entries: Iterable[Entry]) -> Iterator[SourceFile]:
    for entry in entries:
        yield SourceFile(entry.relative, (base / entry.relative).uri, entry.size, entry.mtime_ns)


def _parent_name(place: Place) -> str:
    return place.uri.rstrip("/").rpartition("/")[0].rpartition("/")[2] or "lake"


def _unique(roots: list[_Root]) -> list[SourceFile]:
    """One list without a file twice and without a name twice."""
    kept: list[tuple[str, list[SourceFile]]] = []
    seen: set[str] = set()
    for root in roots:
        fresh = [f for f in root.files if f.uri not in seen]
        seen.update(f.uri for f in fresh)
        kept.append((root.label, fresh))
    owners = Counter(f.name for _, files in kept for f in files)
    labels = Counter[str]()
    result: list[SourceFile] = []
    for label, files in kept:
        if any(owners[f.name] > 1 for f in files):
            labels[label] += 1
            prefix = label if labels[label] == 1 else f"{label}~{labels[label]}"
            files = [  # noqa: PLW2901
                SourceFile(f"{prefix}/{f.name}", f.uri, f.size, f.mtime_ns) for f in files
            ]
        result.extend(files)
    return result
