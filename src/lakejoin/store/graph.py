"""The stored join graph of a lake: all pairs of columns that join, in one file per segment.

A small file named in the manifest lists the segments the graph was built from, their removed
tables, and the files with the pairs: for each segment the pairs of its columns with larger columns,
and the same pairs seen from the larger ones. The graph is never in memory as a whole: tasks write
these files, and a reader opens only those it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import IndexProblem, InputError, NewerIndex
from lakejoin.locations import Location
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, FileRecord
from lakejoin.store.manifest import Manifest, NamedFile
from lakejoin.store.graph_files import PairFile

if TYPE_CHECKING:
    from lakejoin.store.segment import SegmentRecord

Array = np.ndarray[Any, Any]

VERSION = 2


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Which pairs of columns a graph contains.

    Two columns join if one contains at least the share `containment` of the other's distinct
    values. Columns with fewer than `least` distinct values match by coincidence and are left out.
    A column keeps its `most` best partners.

    >>> GraphOptions(containment=0)
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: a containment must be above 0 and at most 1, not 0
    """

    containment: float = 0.5
    least: int = 10
    most: int = 1_000

    def __post_init__(self) -> None:
        if not 0 < self.containment <= 1:
            raise InputError(
                f"a containment must be above 0 and at most 1, not {self.containment:g}"
            )
        if self.least < 1 or self.most < 1:
            raise InputError("least and most must be at least 1")


@dataclass(frozen=True, slots=True)
class GraphSegment:
    """A segment as it was when its pairs were counted, with its removed tables."""

    id: str
    dead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PairFileRecord:
    """The file with a segment's pairs: with larger columns, or with smaller ones (`turned`)."""

    segment: int
    turned: bool
    name: str
    bytes: int
    checksum: str
    pairs: int
    cut: int


class StoredGraph:
    """An opened graph; segment indexes refer to `segments`."""

    def __init__(self, index: Location, named: NamedFile) -> None:
        self.file = _open_file(index / named.name, named)
        meta = self.file.meta
        version = meta.get("version", 1)
        if version > VERSION:
            raise NewerIndex(
                f"the join graph at {self.file.place} was written by a newer lakejoin (version "
                f"{version}, this one reads {VERSION}); upgrade lakejoin to read it"
            )
        if version < VERSION:
            raise IndexProblem(
                f"the join graph at {self.file.place} was written by an older lakejoin; rebuild it "
                "with: lakejoin graph"
            )
        self.options = GraphOptions(**meta["options"])
        self.segments = tuple(GraphSegment(s["id"], tuple(s["dead"])) for s in meta["segments"])
        self.parts = tuple(PairFileRecord(**record) for record in meta["parts"])
        self._folder = graph_folder(index, named.name)
        self._records = {(record.segment, record.turned): record for record in self.parts}
        self._opened: dict[tuple[int, bool], PairFile] = {}

    @property
    def count(self) -> int:
        """The number of column pairs."""
        return sum(record.pairs for record in self.parts if not record.turned)

    @property
    def cut(self) -> int:
        """The number of columns with more partners than are kept."""
        return sum(record.cut for record in self.parts)

    def pairs(self, segment: int, turned: bool = False) -> PairFile | None:
        """The pairs of a segment's columns with larger ones, or with smaller ones (`turned`)."""
        record = self._records.get((segment, turned))
        if record is None:
            return None
        if (segment, turned) not in self._opened:
            file = _open_file(self._folder / record.name, record)
            self._opened[segment, turned] = PairFile(file, segment)
        return self._opened[segment, turned]

    def check(self) -> None:
        """Verify every file."""
        self.file.check_all()
        for record in self.parts:
            _open_file(self._folder / record.name, record).check_all()

    def is_of(self, manifest: Manifest) -> bool:
        """Whether it was built from exactly these segments."""
        return self.segments == tuple(GraphSegment(s.id, s.dead) for s in manifest.segments)


def _open_file(location: Location, named: NamedFile | PairFileRecord) -> ArrayFile:
    record = FileRecord(named.bytes, named.checksum)
    return ArrayFile(location, record, "rebuild it with: lakejoin graph --full")


def graph_folder(index: Location, name: str) -> Location:
    """The folder with the pair files, next to the graph's own file."""
    return index / name.removesuffix(".lj")


def write_graph(
    index: Location,
    name: str,
    records: Sequence[SegmentRecord],
    options: GraphOptions,
    parts: Iterable[PairFileRecord],
) -> NamedFile:
    """Write the file that lists the files of a graph."""
    with ArrayFileWriter(index / name) as out:
        out.meta["version"] = VERSION
        out.meta["options"] = asdict(options)
        out.meta["segments"] = [{"id": s.id, "dead": list(s.dead)} for s in records]
        out.meta["parts"] = [asdict(part) for part in parts]
    return NamedFile(name, out.record.bytes, out.record.checksum)
