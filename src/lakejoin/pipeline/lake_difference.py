"""A lake compared with its index: what to read, what to keep, and what must not go by mistake."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lakejoin.errors import BuildFailed, IndexProblem
from lakejoin.locations import OUTSIDE, Location
from lakejoin.model import LogicalTable, Skipped, Source
from lakejoin.pipeline.retries import deserves_retry
from lakejoin.sources.lake_files import is_path, list_files
from lakejoin.sources.lake_tables import UNREAD_FORMATS
from lakejoin.store.manifest import Manifest
from lakejoin.store.snapshot import Snapshot
from lakejoin.store.source_states import SourceState, read_sources
from lakejoin.text_format import counted

UNLISTED = -1  # the size recorded for what could not be listed
FEW_TABLES = 10  # fewer may always be removed, unless the lake is empty
LARGEST_SHARE = 0.5  # a refresh that would remove a larger share of the tables is refused
_OUT_OF_REACH = ("cannot be listed", "broken link", OUTSIDE)


@dataclass(frozen=True, slots=True)
class Difference:
    """The lake compared with the index: which files and logical tables to read, and whose old
    tables to remove.

    `unreachable` are files of the index that may still exist, but could not be listed. `regrouped`
    were tables of their own and now belong to a logical table, or the other way round.
    """

    new: tuple[Source, ...]
    changed: tuple[Source, ...]
    gone: tuple[str, ...]
    unreachable: tuple[str, ...]
    kept: Mapping[str, SourceState]
    regrouped: tuple[str, ...] = ()

    @property
    def read(self) -> tuple[Source, ...]:
        return self.new + self.changed

    @property
    def dropped(self) -> set[str]:
        return {f.name for f in self.changed} | {*self.gone, *self.regrouped}


def compare_files(
    files: Sequence[Source],
    known: Mapping[str, SourceState],
    unlisted: Sequence[Skipped],
    allow_removal: bool,
    exhausted: Collection[str] = (),
) -> Difference:
    """Find new, changed and deleted files; what could not be listed is recorded as skipped, and
    its files stay unless removal is allowed. `exhausted` files failed too often to be tried again
    as they are."""
    new, changed = [], []
    kept = {s.name: SourceState(UNLISTED, 0, (s,)) for s in unlisted}
    blocked = {s.name: s for s in unlisted if s.reason in _OUT_OF_REACH and not allow_removal}
    cut_off = []
    for file in files:
        before = known.get(file.name)
        if before is None:
            new.append(file)
        elif before.same_as(file) and (file.name in exhausted or not deserves_retry(before)):
            kept[file.name] = before
        elif isinstance(file, LogicalTable) and _below(file.name, blocked):
            kept[file.name] = before  # some of its files are out of reach
            cut_off.append(file.name)
        else:
            changed.append(file)
    listed = {f.name for f in files}
    missing = [n for n, s in known.items() if n not in listed and s.size != UNLISTED]
    unread = {s.name: s for s in unlisted if s.reason in UNREAD_FORMATS}
    regrouped = tuple(_regrouped(missing, files, unread))
    missing = sorted(set(missing).difference(regrouped))
    waiting = {} if allow_removal else unread
    unreachable = tuple(name for name in missing if name in waiting or _above(name, blocked))
    for name in unreachable:
        before = known[name]
        # The time of a file that is itself out of reach is forgotten: it is read when it is back.
        lost = blocked.get(name) or waiting.get(name)
        kept[name] = before if lost is None else SourceState(before.size, 0, (lost,))
    gone = tuple(name for name in missing if name not in kept or kept[name].size == UNLISTED)
    return Difference(tuple(new), tuple(changed), gone, (*unreachable, *cut_off), kept, regrouped)


def _regrouped(
    missing: Sequence[str], files: Sequence[Source], unread: Mapping[str, Skipped]
) -> Iterator[str]:
    """The missing names that are in the lake all the same: as files of a logical table, below a
    Delta or Iceberg table that is skipped, or as the folder of files that are listed."""
    members = {
        member.file.name
        for table in files
        if isinstance(table, LogicalTable)
        for member in table.files
    }
    roots = {f.name for f in files if isinstance(f, LogicalTable)} | set(unread)
    folders = {folder for f in files for folder in _folders(f.name)}
    for name in missing:
        if name in members or name in folders or not roots.isdisjoint(_folders(name)):
            yield name


def _folders(name: str) -> Iterator[str]:
    """The folders above a file, by name.

    >>> list(_folders("a/b/c.csv"))
    ['a', 'a/b']
    """
    parts = name.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))


def _below(name: str, blocked: Mapping[str, Skipped]) -> bool:
    """Whether something below a folder could not be listed."""
    return any(other.startswith(f"{name}/") for other in blocked)


def _above(name: str, blocked: Mapping[str, Skipped]) -> bool:
    """Whether this file, or a folder above it, could not be listed. The name of a file in one of
    several lakes may begin with a label, which names of folders do not have."""
    parts = name.split("/")
    return any(
        "/".join(parts[start:end]) in blocked
        for start in (0, 1)
        for end in range(start + 1, len(parts) + 1)
    )


def check_removal(index: Location, old: Manifest, files: int, difference: Difference) -> None:
    """Raise if a refresh would remove so much that the lake is probably not all there."""
    before = old.totals.tables
    if before and not files and difference.gone:
        raise _refusal(f"the lake is empty, and the index has {counted(before, 'table')} of it")
    if len(difference.gone) == 0:
        return
    lost = _count_tables(index, set(difference.gone))
    if lost >= FEW_TABLES and lost > before * LARGEST_SHARE:
        raise _refusal(f"{lost:,} of the {before:,} tables in the index are gone from the lake")


def check_empty_lakes(
    lakes: Sequence[str], index: Location, difference: Difference, follow_links: bool
) -> None:
    """Raise if one of several lakes came up empty while files are gone: they may be its files.

    Names of files do not say which lake they are from, so it cannot be told whose they were.
    """
    if len(lakes) < 2 or not difference.gone:
        return
    empty = [
        lake for lake in lakes if is_path(lake) and not list_files([lake], [], index, follow_links)
    ]
    if empty:
        gone = counted(len(difference.gone), "file")
        raise _refusal(f"the lake {empty[0]} is empty, and {gone} of the index gone")


def check_replacement(
    index: Location, old: Manifest, files: Sequence[Source], unlisted: Sequence[Skipped]
) -> None:
    """The same for a build that replaces the index, where nothing out of reach can be kept. An
    index that is damaged does not say what it had, so only an empty lake is refused."""
    before = old.totals.tables
    if before and not files:
        raise _refusal(f"the lake is empty, and the index has {counted(before, 'table')}")
    try:
        known = read_sources(index, old.files)
        difference = compare_files(files, known, unlisted, allow_removal=False)
        check_removal(index, old, len(files), difference)
        lost = _count_tables(index, set(difference.unreachable))
    except IndexProblem:
        return
    if lost:
        links = any(s.reason == OUTSIDE for s in unlisted)
        where = "are out of reach" if links else "cannot be listed"
        follow = "follow links that lead outside it with --follow-links, " if links else ""
        raise _refusal(f"folders with {counted(lost, 'table')} of the index {where}", follow)


def _refusal(problem: str, way_out: str = "") -> BuildFailed:
    return BuildFailed(
        f"{problem}; nothing was changed: make sure that the lake is mounted and readable, "
        f"{way_out}or remove those tables with --allow-removal"
    )


def _count_tables(index: Location, sources: set[str]) -> int:
    """How many live tables of the index come from these files."""
    if not sources:
        return 0
    count = 0
    for segment in Snapshot(index).segments:
        dead = set(segment.record.dead)
        names = segment.catalog.tables["source"].to_pylist()
        count += sum(n in sources and table_id not in dead for table_id, n in enumerate(names))
    return count
