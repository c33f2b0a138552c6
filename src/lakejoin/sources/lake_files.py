"""List the files of a lake, and find a file by its name in the lake."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from urllib.parse import quote

from lakejoin.errors import InputError
from lakejoin.locations import Entry, Location, Problem, split_query
from lakejoin.model import Skipped, SourceFile

_MAGIC = re.compile(r"[*?\[]")
_JOB_LEFTOVERS = ("_SUCCESS", "_temporary", "_started_", "_committed_")


@dataclass(frozen=True, slots=True)
class _Root:
    """One LAKE argument: a label for its folder, and the files found in it."""

    label: str
    files: tuple[SourceFile, ...]


def list_files(
    lakes: Sequence[str],
    problems: list[Skipped] | None = None,
    exclude: Location | None = None,
    follow_links: bool = False,
) -> list[SourceFile]:
    """List every file of the lakes, named by its path relative to the root of its lake.

    A lake is a file, a folder (walked recursively), a glob such as `data/**/*.csv`, or a remote
    URI. Hidden files and folders, leftovers of Spark jobs and everything inside `exclude` are
    skipped; what cannot be listed goes to `problems`, and so do links that lead outside the root of
    their lake, unless `follow_links`. If two lakes contain the same relative path, their names
    start with the last folder of their root.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (pathlib.Path(folder) / "b.csv").write_text("x,y")
    ...     _ = (pathlib.Path(folder) / ".hidden").write_text("x")
    ...     [(f.name, f.size) for f in list_files([folder])]
    [('b.csv', 3)]
    """
    listing = _Listing([] if problems is None else problems, exclude, follow_links)
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
    """What all lakes share: where problems go, what is excluded, and whether to follow links."""

    problems: list[Skipped]
    exclude: Location | None
    follow_links: bool

    def root(self, lake: str) -> _Root:
        location = Location.of(lake)
        kind = location.kind()
        if kind == "file":
            excluded = self._inside_excluded(location)
            return _Root(_parent_label(location), () if excluded else _single_file(location))
        if kind == "folder":
            return self._folder(location, None)
        if _glob_start(location) is not None:
            root = self._folder(*_glob_parts(location))
            if root.files:
                return root
            raise InputError(f"nothing matches {_shown(lake)}")
        raise InputError(f"there is no file or folder {_shown(lake)}")

    def _folder(self, base: Location, glob: str | None) -> _Root:
        """The files below a folder; with a glob, those that match or are in a folder that does."""
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

        def matches(entry: Entry | Problem) -> bool:
            last = entry.relative.rpartition("/")[2]
            return _visible(last) and pattern.fullmatch(entry.relative) is not None

        problems: list[Problem] = []
        walk = base.walk(problems, enter, self.follow_links)
        entries = [entry for entry in walk if matches(entry)]
        for problem in problems:
            # A folder may contain matches even if its own name is not one.
            if problem.folder or matches(problem):
                name = _shown(problem.relative)
                self.problems.append(Skipped(name, problem.reason, _shown(problem.detail)))
        if glob is not None:
            entries.sort(key=lambda entry: entry.relative)
        return _Root(label, tuple(_sources(base, entries)))

    def _is_excluded(self, folder: Location) -> bool:
        """Whether this folder is the excluded one, or a link to it."""
        if self.exclude is None or folder.local != self.exclude.local:
            return False
        if not folder.local:
            return self._inside_excluded(folder)
        try:
            return Path(folder.uri).samefile(self.exclude.uri)
        except OSError:
            return False

    def _inside_excluded(self, location: Location) -> bool:
        if self.exclude is None or location.local != self.exclude.local:
            return False
        if location.local:
            return Path(location.uri).resolve().is_relative_to(Path(self.exclude.uri).resolve())
        inner, outer = split_query(location.uri)[0], split_query(self.exclude.uri)[0]
        return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def _glob_start(location: Location) -> int | None:
    """The first path component with a wildcard; a URI's authority and query do not count."""
    head = location.uri if location.local else split_query(location.uri)[0]
    first = 0 if location.local else 3
    parts = head.split("/")
    return next((i for i in range(first, len(parts)) if _MAGIC.search(parts[i])), None)


def _glob_parts(location: Location) -> tuple[Location, str]:
    """The folder where a glob begins, and the glob below it."""
    head, query = (location.uri, "") if location.local else split_query(location.uri)
    parts, start = head.split("/"), _glob_start(location)
    folder = Location("/".join(parts[:start]) + query or "/", location.local)
    return folder, "/".join(parts[start:])


def _glob_pattern(text: str) -> str:
    """A glob as a pattern over relative paths; everything below a match matches too."""
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
    """Whether something below this folder may match; other folders are not walked."""
    for pattern, name in zip(glob, folder, strict=False):
        if "**" in pattern:
            return True
        if not re.fullmatch(_glob_pattern(pattern), name, re.DOTALL):
            return False
    return True


def _visible(name: str) -> bool:
    return not name.startswith((".", *_JOB_LEFTOVERS))


def _sources(base: Location, entries: Iterable[Entry]) -> Iterator[SourceFile]:
    taken: set[str] = set()
    for entry in entries:
        name = _free(_shown(entry.relative), taken)
        yield SourceFile(name, _uri(base / entry.relative), entry.size, entry.mtime_ns)


def _shown(name: str) -> str:
    """A name as valid text: bytes that are not UTF-8 become escapes.

    >>> _shown("caf\\udce9.csv")
    'caf\\\\xe9.csv'
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace") if _is_odd(name) else name


def _uri(file: Location) -> str:
    """The URI to open a file by, as text that can be stored whatever bytes its name has."""
    if file.local and _is_odd(file.uri):
        return "file://" + quote(os.fsencode(file.uri))
    return file.uri


def _is_odd(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _single_file(file: Location) -> tuple[SourceFile]:
    entry = file.entry()
    return (SourceFile(_shown(file.name), _uri(file), entry.size, entry.mtime_ns),)


def _parent_label(file: Location) -> str:
    head = file.uri if file.local else split_query(file.uri)[0]
    return _shown(head.rpartition("/")[0].rpartition("/")[2]) or "lake"


def _unique(roots: list[_Root]) -> list[SourceFile]:
    """One list in which no file and no name repeats.

    Lakes whose names are all unique keep them; the names of the others start with a label, which
    is numbered until all are free. The order of the lakes decides, so that the same lakes always
    get the same names.
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
    """The name, numbered if it is taken; marks it as taken."""
    free = next(candidate for candidate in _numbered(name) if candidate not in taken)
    taken.add(free)
    return free


def find_file(lakes: Sequence[str], name: str) -> Location | None:
    """The file that `list_files` gives this name, if it still exists; found without listing.

    >>> find_file(["/nowhere"], "a.csv") is None
    True
    """
    bases = [_base(Location.of(lake)) for lake in lakes]
    label, _, below = name.partition("/")
    base_name, _, number = label.partition("~")
    labelled = [base for base in bases if below and _shown(base.name) == base_name]
    rank = int(number) - 1 if number.isdecimal() else 0
    candidates = [base / below for base in labelled[rank : rank + 1]] if len(bases) > 1 else []
    candidates += [base / name for base in bases]
    return next((file for file in candidates if file.kind() == "file"), None)


def possible_names(lakes: Sequence[str], file: Location) -> list[str]:
    """The names that `list_files` may have given a file of these lakes; `find_file` tells which one
    it did.

    >>> possible_names(["/data/lake"], Location.of("/data/lake/air/ports.csv"))
    ['air/ports.csv']
    """
    names = []
    for base in (_base(Location.of(lake)) for lake in lakes):
        below = file.uri.removeprefix(base.uri.rstrip("/") + "/")
        if below != file.uri:
            plain = _shown(base.name)
            numbered = [f"{plain}~{number}" for number in range(1, len(lakes) + 1)]
            labels = [plain, *numbered] if len(lakes) > 1 else []
            names += [*(f"{label}/{below}" for label in labels), below]
    return names


def _base(lake: Location) -> Location:
    """The folder that the file names of a lake are relative to."""
    kind = lake.kind()
    if kind == "file":
        parent = Location.of(lake.uri.rpartition("/")[0] or "/")
        return parent if lake.local else Location(lake.uri.rpartition("/")[0], False)
    if kind == "missing" and _glob_start(lake) is not None:
        return _glob_parts(lake)[0]
    return lake


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}~{number}" for number in count(2))
