"""Which files does a lake hold?"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from lakejoin.errors import InputError
from lakejoin.model import Skipped, SourceFile
from lakejoin.storage import Entry, Place, Problem, split_query

_MAGIC = re.compile(r"[*?\[]")
_JOB_LEFTOVERS = ("_SUCCESS", "_temporary", "_started_", "_committed_")


@dataclass(frozen=True, slots=True)
class _Root:
    """One LAKE argument: the folder that names are relative to, and what was found below it."""

    label: str
    files: tuple[SourceFile, ...]


def list_files(
    lakes: Sequence[str], problems: list[Skipped] | None = None, exclude: Place | None = None
) -> list[SourceFile]:
    """Every file of the lakes, each named by its path relative to its lake's root.

    A lake is a file, a folder (walked through), a glob such as `data/**/*.csv`, or a remote URI.
    Hidden files and folders, what Spark leaves beside its output, and all that lies inside
    `exclude` are passed over; what else cannot be listed goes to `problems`. Where two lakes hold
    the same relative path, their names begin with the last folder of their root.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (pathlib.Path(folder) / "b.csv").write_text("x,y")
    ...     _ = (pathlib.Path(folder) / ".hidden").write_text("x")
    ...     [(f.name, f.size) for f in list_files([folder])]
    [('b.csv', 3)]
    """
    listing = _Listing([] if problems is None else problems, exclude)
    roots = []
    for lake in lakes:
        try:
            roots.append(listing.root(lake))
        except OSError as problem:
            reason = (problem.strerror or str(problem)).partition("\n")[0]
            raise InputError(f"cannot list {_shown(lake)}: {reason}") from problem
    return _unique(roots)


@dataclass(frozen=True, slots=True)
class _Listing:
    """What all lakes share: where problems go, and which place is left out."""

    problems: list[Skipped]
    exclude: Place | None

    def root(self, lake: str) -> _Root:
        place = Place.of(lake)
        kind = place.kind()
        if kind == "file":
            return _Root(_parent_label(place), () if self._inside_excluded(place) else _one(place))
        if kind == "folder":
            return self._folder(place, None)
        if _glob_start(place) is not None:
            found = self._folder(*_glob_parts(place))
            if found.files:
                return found
            raise InputError(f"nothing matches {_shown(lake)}")
        raise InputError(f"there is no file or folder {_shown(lake)}")

    def _folder(self, base: Place, glob: str | None) -> _Root:
        """The files below a folder; with a glob, those that match or lie in a folder that does."""
        label = _shown(base.name) or "lake"
        if self._inside_excluded(base) or base.kind() != "folder":
            return _Root(label, ())
        pattern = re.compile(".*" if glob is None else _glob_pattern(glob), re.DOTALL)
        parts = [] if glob is None else glob.split("/")

        def enter(relative: str) -> bool:
            last = relative.rpartition("/")[2]
            return (
                _visible(last)
                and _may_match(parts, relative.split("/"))
                and not self._is_excluded(base / relative)
            )

        def wanted(found: Entry | Problem) -> bool:
            last = found.relative.rpartition("/")[2]
            return _visible(last) and pattern.fullmatch(found.relative) is not None

        problems: list[Problem] = []
        entries = [entry for entry in base.walk(problems, enter) if wanted(entry)]
        for problem in problems:
            # A folder that was entered may hold matches even where its own name is none.
            if wanted(problem) or problem.reason != "broken link":
                name = _shown(problem.relative)
                self.problems.append(Skipped(name, problem.reason, _shown(problem.detail)))
        if glob is not None:
            entries.sort(key=lambda entry: entry.relative)
        return _Root(label, tuple(_sources(base, entries)))

    def _is_excluded(self, place: Place) -> bool:
        """Whether this folder is the excluded one, also where a link leads to it."""
        if self.exclude is None or place.local != self.exclude.local:
            return False
        if not place.local:
            return self._inside_excluded(place)
        try:
            return Path(place.uri).samefile(self.exclude.uri)
        except OSError:
            return False

    def _inside_excluded(self, place: Place) -> bool:
        if self.exclude is None or place.local != self.exclude.local:
            return False
        if place.local:
            return Path(place.uri).resolve().is_relative_to(Path(self.exclude.uri).resolve())
        inner, outer = split_query(place.uri)[0], split_query(self.exclude.uri)[0]
        return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def _glob_start(place: Place) -> int | None:
    """The first part of the path with a wildcard in it; a URI's authority and query have none."""
    head = place.uri if place.local else split_query(place.uri)[0]
    first = 0 if place.local else 3
    parts = head.split("/")
    return next((i for i in range(first, len(parts)) if _MAGIC.search(parts[i])), None)


def _glob_parts(place: Place) -> tuple[Place, str]:
    """The folder where a glob begins, and the glob below it."""
    head, query = (place.uri, "") if place.local else split_query(place.uri)
    parts, start = head.split("/"), _glob_start(place)
    return Place("/".join(parts[:start]) + query or "/", place.local), "/".join(parts[start:])


def _glob_pattern(text: str) -> str:
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
    return "".join(out) + "(?:/.*)?"


def _may_match(glob: list[str], folder: list[str]) -> bool:
    """Whether something below this folder may match: no time goes into any other."""
    for wanted, part in zip(glob, folder, strict=False):
        if "**" in wanted:
            return True
        if not re.fullmatch(_glob_pattern(wanted), part, re.DOTALL):
            return False
    return True


def _visible(name: str) -> bool:
    return not name.startswith((".", *_JOB_LEFTOVERS))


def _sources(base: Place, entries: Iterable[Entry]) -> Iterator[SourceFile]:
    taken: set[str] = set()
    for entry in entries:
        name = _free(_shown(entry.relative), taken)
        yield SourceFile(name, _uri(base / entry.relative), entry.size, entry.mtime_ns)


def _shown(name: str) -> str:
    """A name as valid text: bytes that are not UTF-8 are shown as escapes.

    >>> _shown("caf\\udce9.csv")
    'caf\\\\xe9.csv'
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace") if _is_odd(name) else name


def _uri(place: Place) -> str:
    """Where to open a file, as text that can be stored whatever the bytes of its name are."""
    if place.local and _is_odd(place.uri):
        return "file://" + quote(os.fsencode(place.uri))
    return place.uri


def _is_odd(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _one(place: Place) -> tuple[SourceFile]:
    entry = place.entry()
    return (SourceFile(_shown(place.name), _uri(place), entry.size, entry.mtime_ns),)


def _parent_label(place: Place) -> str:
    head = place.uri if place.local else split_query(place.uri)[0]
    return _shown(head.rpartition("/")[0].rpartition("/")[2]) or "lake"


def _unique(roots: list[_Root]) -> list[SourceFile]:
    """One list without a file twice and without a name twice.

    Lakes whose names are all their own keep them; the others begin with a label, which is
    numbered until no name of theirs is taken. The order of the lakes decides, so that the same
    lakes always give the same names.
    """
    fresh: list[list[SourceFile]] = []
    seen: set[str] = set()
    for root in roots:
        fresh.append([f for f in root.files if f.uri not in seen])
        seen.update(f.uri for f in fresh[-1])
    owners = Counter(f.name for files in fresh for f in files)
    shared = [any(owners[f.name] > 1 for f in files) for files in fresh]
    taken = {
        f.name
        for files, is_shared in zip(fresh, shared, strict=True)
        if not is_shared
        for f in files
    }
    labels: set[str] = set()
    result: list[SourceFile] = []
    for root, files, is_shared in zip(roots, fresh, shared, strict=True):
        if is_shared:
            label = next(
                label
                for label in _numbered(root.label)
                if label not in labels and not any(f"{label}/{f.name}" in taken for f in files)
            )
            labels.add(label)
            files = [replace(f, name=f"{label}/{f.name}") for f in files]  # noqa: PLW2901
            taken.update(f.name for f in files)
        result.extend(files)
    return result


def _free(name: str, taken: set[str]) -> str:
    """The name, numbered where it is taken; it is taken from now on."""
    found = next(candidate for candidate in _numbered(name) if candidate not in taken)
    taken.add(found)
    return found


def file_of(lakes: Sequence[str], name: str) -> Place | None:
    """The file that `list_files` names so, if it is still there; nothing is listed for it.

    >>> file_of(["/nowhere"], "a.csv") is None
    True
    """
    bases = [_base(Place.of(lake)) for lake in lakes]
    label, _, below = name.partition("/")
    wanted, _, number = label.partition("~")
    labelled = [base for base in bases if below and _shown(base.name) == wanted]
    place = int(number) - 1 if number.isdecimal() else 0
    tries = [base / below for base in labelled[place : place + 1]] if len(bases) > 1 else []
    tries += [base / name for base in bases]
    return next((one for one in tries if one.kind() == "file"), None)


def names_in(lakes: Sequence[str], file: Place) -> list[str]:
    """What `list_files` may have named a file that lies in one of these lakes; `file_of` tells
    which of the names is its own.

    >>> names_in(["/data/lake"], Place.of("/data/lake/air/ports.csv"))
    ['air/ports.csv']
    """
    found = []
    for base in (_base(Place.of(lake)) for lake in lakes):
        below = file.uri.removeprefix(base.uri.rstrip("/") + "/")
        if below != file.uri:
            label = _shown(base.name)
            numbered = [f"{label}~{number}" for number in range(1, len(lakes) + 1)]
            labels = [label, *numbered] if len(lakes) > 1 else []
            found += [*(f"{one}/{below}" for one in labels), below]
    return found


def _base(lake: Place) -> Place:
    """The folder that the names of a lake's files are relative to."""
    kind = lake.kind()
    if kind == "file":
        parent = Place.of(lake.uri.rpartition("/")[0] or "/")
        return parent if lake.local else Place(lake.uri.rpartition("/")[0], False)
    if kind == "missing" and _glob_start(lake) is not None:
        return _glob_parts(lake)[0]
    return lake


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}~{number}"
        number += 1
