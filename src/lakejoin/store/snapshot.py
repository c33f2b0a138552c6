"""A snapshot: one version of an index, with its segments and their tables.

A snapshot never changes: a concurrent build writes new segments and a new manifest, and leaves the
files of the previous version in place for a while.
"""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lakejoin.errors import DamagedIndex, IndexProblem, LakejoinError, RetiredIndex, UnknownTable
from lakejoin.locations import Location
from lakejoin.quoting import lakejoin_command
from lakejoin.store.index_records import SegmentRecord
from lakejoin.store.manifest import Manifest, read_manifest

if TYPE_CHECKING:  # a manifest is read without the libraries that segments need
    from lakejoin.model import Skipped
    from lakejoin.store.catalog import TableEntry
    from lakejoin.store.graph_files import StoredGraph
    from lakejoin.store.segment import Segment


_CHECK_SECONDS = 60.0  # for finding out whether damage made a search fail


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check of a segment; with a `problem` if it is damaged."""

    segment: str
    what: str
    problem: str = ""


class Snapshot:
    """An opened version of an index: the current one, or that of a given manifest, which may list
    only some of its segments."""

    def __init__(self, location: Location, manifest: Manifest | None = None) -> None:
        self.location = location
        self.manifest: Manifest = read_manifest(location) if manifest is None else manifest

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments; their files are read on first use."""
        from lakejoin.store.segment import Segment

        return tuple(
            Segment(segment_folder(self.location, s), s, check_current=self._check_current)
            for s in self.manifest.segments
        )

    def _check_current(self) -> None:
        """Raise `RetiredIndex` if the files of this version may have been removed: after an hour,
        once it is no longer kept."""
        try:
            current = read_manifest(self.location).version
        except IndexProblem:
            return
        if current != self.manifest.version:
            raise RetiredIndex(
                f"version {self.manifest.version} of the index at {self.location} was replaced by "
                f"version {current}, and its files have been removed: open the index again"
            )

    def check_unchanged(self) -> None:
        """Raise `DamagedIndex` if a file that was used has been changed in place since."""
        for segment in self.segments:
            segment.check_unchanged()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Work with the index; raises `DamagedIndex` if a file that was used is changed in place,
        or if the work fails because the arrays of the index contradict each other."""
        self.check_unchanged()
        try:
            yield
        except (LakejoinError, OSError):
            raise
        except Exception as problem:
            # What each array may hold is checked when it is read, but not whether two of them
            # agree: forged ones then fail somewhere in the work.
            self.check_unchanged()
            damage = self._find_damage()
            if damage:
                raise DamagedIndex(damage) from problem
            raise
        self.check_unchanged()

    def _find_damage(self) -> str:
        """What is damaged, looked for with the checks of `lakejoin check` for a limited time."""
        until = time.monotonic() + _CHECK_SECONDS
        for result in self.check():
            if result.problem or time.monotonic() > until:
                return result.problem
        return ""

    def tables(self, pattern: str | None = None) -> Iterator[tuple[Segment, TableEntry]]:
        """The live tables by name: all, or those that match a glob or contain a text."""
        for _, segment, table_id in self.list_tables(pattern):
            yield segment, segment.catalog.table(table_id)

    def list_tables(self, pattern: str | None = None) -> list[tuple[str, Segment, int]]:
        """The name, segment and id of the same tables, in the same order; cheap for a million."""
        matching = []
        for segment in self.segments:
            dead = set(segment.record.dead)
            names = segment.catalog.tables["name"].to_pylist()
            for table_id, name in enumerate(names):
                if table_id not in dead and (pattern is None or _matches(name, pattern)):
                    matching.append((name, segment, table_id))
        return sorted(matching, key=lambda table: table[0])

    def table(self, name: str) -> tuple[Segment, TableEntry]:
        """The live table of that name; the error suggests similar names."""
        table = self.find_table(name)
        if table is None:
            hint = self._suggest(name)
            raise UnknownTable(f"no table {name!r} in the index at {self.location}{hint}")
        return table

    def find_table(self, name: str) -> tuple[Segment, TableEntry] | None:
        import pyarrow.compute as pc

        for segment in reversed(self.segments):
            table_id = pc.index(segment.catalog.tables["name"], name).as_py()
            if table_id >= 0 and table_id not in segment.record.dead:
                return segment, segment.catalog.table(table_id)
        return None

    def skipped(self) -> list[Skipped]:
        from lakejoin.store.arrayfile import MissingFile
        from lakejoin.store.source_states import read_skipped

        try:
            return read_skipped(self.location, self.manifest.files)
        except MissingFile:
            self._check_current()
            raise

    def check(self) -> Iterator[CheckResult]:
        """Verify everything; reports damage and continues with the rest."""
        for segment in self.segments:
            try:
                for done in segment.check():
                    yield CheckResult(segment.record.id, done)
            except DamagedIndex as problem:
                yield CheckResult(segment.record.id, "damaged", str(problem))
        try:
            self.skipped()
            yield CheckResult("files", "list of files")
        except DamagedIndex as problem:
            yield CheckResult("files", "damaged", str(problem))
        try:
            if (graph := self.graph()) is not None:
                graph.check()
                yield CheckResult("graph", "join graph")
        except IndexProblem as problem:
            yield CheckResult("graph", "damaged", str(problem))

    def graph(self) -> StoredGraph | None:
        """The join graph, if there is one; it may be of an older version."""
        from lakejoin.store.arrayfile import MissingFile
        from lakejoin.store.graph_files import StoredGraph

        named = self.manifest.graph
        try:
            return None if named is None else StoredGraph(self.location, named)
        except MissingFile:
            self._check_current()
            raise

    def _suggest(self, name: str) -> str:
        import difflib

        names = [
            name
            for segment in self.segments
            for table_id, name in enumerate(segment.catalog.tables["name"].to_pylist())
            if table_id not in segment.record.dead
        ]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        near += [n for n in names if name.lower() in n.lower() and n not in near][: 3 - len(near)]
        if near:
            return "; did you mean " + " or ".join(near) + "?"
        return f"; list them with: {lakejoin_command('tables', self.location.uri)}"


def segment_folder(index: Location, record: SegmentRecord) -> Location:
    return index / "segments" / record.id


def _matches(name: str, pattern: str) -> bool:
    if any(mark in pattern for mark in "*?["):
        return fnmatch.fnmatchcase(name.lower(), pattern.lower())
    return pattern.lower() in name.lower()
