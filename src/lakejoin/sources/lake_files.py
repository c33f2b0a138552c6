"""List the files of a lake, and find a file by its name in the lake."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from urllib.parse import quote

from lakejoin.errors import InputError
from lakejoin.locations import Entry, Location, Problem, split_query
from lakejoin.model import Skipped, Source, SourceFile
from lakejoin.sources.database_urls import is_database

# Folders that only a table of such a format has, in its own folder.
FORMAT_FOLDERS = {"_delta_log": "delta", "metadata": "iceberg", ".hoodie": "hudi"}
# What stands for frames, and for tables of a Spark catalog, among the lakes of an index.
FRAMES = "frames of a Python program"
SPARK_TABLES = "spark tables "
_MAGIC = re.compile(r"[*?\[]")
_JOB_LEFTOVERS = ("_SUCCESS", "_temporary", "_started_", "_committed_")
_SUMMARIES = ("_metadata", "_common_metadata")  # of the Parquet files beside them


@dataclass(frozen=True, slots=True)
class LakeRoot:
    """One LAKE argument: its folder with a label, and what was found in it.

    `format_folders` are the folders in it, relative, that may be tables of a format: the names in
    `FORMAT_FOLDERS` that they contain say of which.
    """

    label: str
    base: Location
    sources: tuple[Source, ...]
    format_folders: Mapping[str, str] = field(default_factory=dict)


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
    roots = list_roots(lakes, [] if problems is None else problems, exclude, follow_links)
    return [source for source in name_uniquely(roots) if isinstance(source, SourceFile)]


def list_roots(
    lakes: Sequence[str],
    problems: list[Skipped],
    exclude: Location | None = None,
    follow_links: bool = False,
) -> list[LakeRoot]:
    """The files of each lake, named within it."""
    listing = _Listing(problems, exclude, follow_links)
    roots = []
    for lake in lakes:
        try:
            roots.append(listing.root(lake))
        except OSError as problem:
            reason = (problem.strerror or str(problem)).partition("\n")[0]
            raise InputError(f"cannot list {shown_name(lake)}: {reason}") from problem
    return roots


@dataclass(frozen=True, slots=True)
class _Listing:
    """What all lakes share: where problems go, what is excluded, and whether to follow links."""

    problems: list[Skipped]
    exclude: Location | None
    follow_links: bool

    def root(self, lake: str) -> LakeRoot:
        location = Location.of(lake)
        kind = location.kind()
        if kind == "file":
            files = () if self._inside_excluded(location) else _single_file(location)
            return LakeRoot(_parent_label(location), _base(location), files)
        if kind == "folder":
            return self._folder(location, None)
        if _glob_start(location) is not None:
            root = self._folder(*_glob_parts(location))
            if root.sources:
                return root
            raise InputError(f"nothing matches {shown_name(lake)}")
        raise InputError(f"there is no file or folder {shown_name(lake)}")

    def _folder(self, base: Location, glob: str | None) -> LakeRoot:
        """The files below a folder; with a glob, those that match or are in a folder that does."""
        label = shown_name(base.name) or "lake"
        if self._inside_excluded(base) or base.kind() != "folder":
            return LakeRoot(label, base, ())
        pattern = re.compile(".*" if glob is None else glob_pattern(glob), re.DOTALL)
        parts = [] if glob is None else glob.split("/")
        format_folders: dict[str, str] = {}

        def enter(relative: str) -> bool:
            folder, _, last = relative.rpartition("/")
            if last in FORMAT_FOLDERS:  # whether or not a glob matches what is in it
                format_folders.setdefault(folder, last)
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
                name = shown_name(problem.relative)
                self.problems.append(Skipped(name, problem.reason, shown_name(problem.detail)))
        if glob is not None:
            entries.sort(key=lambda entry: entry.relative)
        return LakeRoot(label, base, tuple(_sources(base, entries)), format_folders)

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


def glob_pattern(text: str) -> str:
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
        if not re.fullmatch(glob_pattern(pattern), name, re.DOTALL):
            return False
    return True


def _visible(name: str) -> bool:
    return not name.startswith((".", *_JOB_LEFTOVERS)) and name not in _SUMMARIES


def _sources(base: Location, entries: Iterable[Entry]) -> Iterator[SourceFile]:
    taken: set[str] = set()
    for entry in entries:
        name = free_name(shown_name(entry.relative), taken)
        yield SourceFile(name, _uri(base / entry.relative), entry.size, entry.mtime_ns)


def shown_name(name: str) -> str:
    """A name as valid text: bytes that are not UTF-8 become escapes.

    >>> shown_name("caf\\udce9.csv")
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
    return (SourceFile(shown_name(file.name), _uri(file), entry.size, entry.mtime_ns),)


def _parent_label(file: Location) -> str:
    head = file.uri if file.local else split_query(file.uri)[0]
    return shown_name(head.rpartition("/")[0].rpartition("/")[2]) or "lake"


def name_uniquely(roots: Sequence[LakeRoot]) -> list[Source]:
    """What is in the lakes, as one list in which nothing and no name repeats.

    Lakes whose names are all unique keep them; the names of the others start with a label, which
    is numbered until all are free. The order of the lakes decides, so that the same lakes always
    get the same names.
    """
    fresh: list[list[Source]] = []
    seen: set[str] = set()
    for root in roots:
        fresh.append([f for f in root.sources if f.uri not in seen])
        seen.update(f.uri for f in fresh[-1])
    owners = Counter(f.name for sources in fresh for f in sources)
    shared = [any(owners[f.name] > 1 for f in sources) for sources in fresh]
    taken = {
        f.name
        for sources, is_shared in zip(fresh, shared, strict=True)
        if not is_shared
        for f in sources
    }
    labels: set[str] = set()
    result: list[Source] = []
    for root, sources, is_shared in zip(roots, fresh, shared, strict=True):
        if is_shared:
            label = next(
                label
                for label in _numbered(root.label)
                if label not in labels and not any(f"{label}/{f.name}" in taken for f in sources)
            )
            labels.add(label)
            sources = [_labelled(f, label) for f in sources]  # noqa: PLW2901
            taken.update(f.name for f in sources)
        result.extend(sources)
    return result


def _labelled(source: Source, label: str) -> Source:
    name = f"{label}/{source.name}"
    if isinstance(source, SourceFile):
        return replace(source, name=name)
    files = (replace(f, file=replace(f.file, name=f"{label}/{f.file.name}")) for f in source.files)
    return replace(source, name=name, files=tuple(files))


def free_name(name: str, taken: set[str]) -> str:
    """The name, numbered if it is taken; marks it as taken."""
    free = next(candidate for candidate in _numbered(name) if candidate not in taken)
    taken.add(free)
    return free


def find_file(lakes: Sequence[str], name: str) -> Location | None:
    """The file that `list_files` gives this name, if it still exists; found without listing.

    >>> find_file(["/nowhere"], "a.csv") is None
    True
    """
    bases = [_base(Location.of(lake)) for lake in _file_lakes(lakes)]
    label, _, below = name.partition("/")
    base_name, _, number = label.partition("~")
    labelled = [base for base in bases if below and shown_name(base.name) == base_name]
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
    for base in (_base(Location.of(lake)) for lake in _file_lakes(lakes)):
        below = file.uri.removeprefix(base.uri.rstrip("/") + "/")
        if below != file.uri:
            plain = shown_name(base.name)
            numbered = [f"{plain}~{number}" for number in range(1, len(lakes) + 1)]
            labels = [plain, *numbered] if len(lakes) > 1 else []
            names += [*(f"{label}/{below}" for label in labels), below]
    return names


def is_path(lake: str) -> bool:
    """Whether a lake of an index is files, and not a database or what a program has passed.

    >>> is_path("/data"), is_path("sqlite:////data/shop.db"), is_path(SPARK_TABLES + "sales.*")
    (True, False, False)
    """
    return not (is_database(lake) or lake == FRAMES or lake.startswith(SPARK_TABLES))


def _file_lakes(lakes: Sequence[str]) -> list[str]:
    return [lake for lake in lakes if is_path(lake)]


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
