"""One version of an index, opened: its segments and the tables in them.

A snapshot never changes: a build that commits meanwhile writes other segments and another
manifest, and leaves the files of the previous version in place for a while.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lakejoin.errors import DamagedIndex, IndexProblem, UnknownTable
from lakejoin.storage import Place
from lakejoin.store.catalog import TableEntry
from lakejoin.store.graph import StoredGraph
from lakejoin.store.manifest import Manifest, read_manifest
from lakejoin.store.segment import Segment, SegmentRecord
from lakejoin.store.sources import read_skipped

if TYPE_CHECKING:
    from lakejoin.model import Skipped


@dataclass(frozen=True, slots=True)
class Checked:
    """Something that was verified in a segment, or, with a `problem`, found damaged."""

    segment: str
    what: str
    problem: str = ""


class Snapshot:
    """An opened version of the index at a place: the current one, or the one of a manifest, which
    may name only some of its segments."""

    def __init__(self, place: Place, manifest: Manifest | None = None) -> None:
        self.place = place
        self.manifest: Manifest = read_manifest(place) if manifest is None else manifest

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments; nothing of them is read before it is needed."""
        return tuple(Segment(segment_place(self.place, s), s) for s in self.manifest.segments)

    def tables(self, pattern: str | None = None) -> Iterator[tuple[Segment, TableEntry]]:
        """The live tables by name, all or those that fit a glob or contain a text."""
        for _, segment, number in self.named(pattern):
            yield segment, segment.catalog.table(number)

    def named(self, pattern: str | None = None) -> list[tuple[str, Segment, int]]:
        """The names of the same tables in the same order, and the segment and number of each: all
        that a list of a million of them should need."""
        found = []
        for segment in self.segments:
            dead = set(segment.record.dead)
            names = segment.catalog.tables["name"].to_pylist()
            for number, name in enumerate(names):
                if number not in dead and (pattern is None or _fits(name, pattern)):
                    found.append((name, segment, number))
        return sorted(found, key=lambda f: f[0])

    def table(self, name: str) -> tuple[Segment, TableEntry]:
        """The live table of that name; the error lists the nearest names."""
        found = self.find_table(name)
        if found is None:
            raise UnknownTable(f"no table {name!r} in the index at {self.place}{self._near(name)}")
        return found

    def find_table(self, name: str) -> tuple[Segment, TableEntry] | None:
        """The live table of that name, if there is one."""
        import pyarrow.compute as pc

        for segment in reversed(self.segments):
            place = pc.index(segment.catalog.tables["name"], name).as_py()
            if place >= 0 and place not in segment.record.dead:
                return segment, segment.catalog.table(place)
        return None

    def skipped(self) -> list[Skipped]:
        """What was skipped, with reasons."""
        return read_skipped(self.place, self.manifest.files)

    def check(self) -> Iterator[Checked]:
        """Verifies everything; what is damaged is told and the rest is still looked at."""
        for segment in self.segments:
            try:
                for done in segment.check():
                    yield Checked(segment.record.id, done)
            except DamagedIndex as problem:
                yield Checked(segment.record.id, "damaged", str(problem))
        try:
            self.skipped()
            yield Checked("files", "list of files")
        except DamagedIndex as problem:
            yield Checked("files", "damaged", str(problem))
        try:
            if (graph := self.graph()) is not None:
                graph.check()
                yield Checked("graph", "join graph")
        except IndexProblem as problem:
            yield Checked("graph", "damaged", str(problem))

    def graph(self) -> StoredGraph | None:
        """The join graph, if there is one; perhaps of an older version."""
        named = self.manifest.graph
        return None if named is None else StoredGraph(self.place, named)

    def _near(self, name: str) -> str:
        import difflib

        names = [
            name
            for segment in self.segments
            for number, name in enumerate(segment.catalog.tables["name"].to_pylist())
            if number not in segment.record.dead
        ]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        near += [n for n in names if name.lower() in n.lower() and n not in near][: 3 - len(near)]
        if near:
            return "; did you mean " + " or ".join(near) + "?"
        return "; list them with: lakejoin tables"


def segment_place(index: Place, record: SegmentRecord) -> Place:
    """The folder of a segment."""
    return index / "segments" / record.id


def _fits(name: str, pattern: str) -> bool:
    if any(mark in pattern for mark in "*?["):
        return fnmatch.fnmatchcase(name.lower(), pattern.lower())
    return pattern.lower() in name.lower()
