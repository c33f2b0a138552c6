"""The join graph of a lake: all pairs of columns that join, in files by segment.

A small file that the manifest names says for which segments the graph was made, which of their
tables had gone, and which files hold the pairs: for each segment those of its columns with larger
ones, and the same pairs seen from the larger. Nobody needs the whole of it in memory: tasks write
these files, and a reader opens those of the tables that it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import IndexProblem, InputError, NewerIndex
from lakejoin.storage import Place
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, FileRecord
from lakejoin.store.manifest import Manifest, NamedFile
from lakejoin.store.pairs import PairFile

if TYPE_CHECKING:
    from lakejoin.store.segment import SegmentRecord

Array = np.ndarray[Any, Any]

VERSION = 2


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Which pairs of columns a graph holds.

    Two columns join where one holds at least the share `containment` of the other's distinct
    values. Columns with fewer than `least` of them meet by accident and are left out. A column
    keeps the `most` columns that hold most of it.

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
            raise InputError("a column has at least 1 value, and keeps at least 1 partner")


@dataclass(frozen=True, slots=True)
class Counted:
    """A segment as it was when its pairs were counted."""

    id: str
    dead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartRecord:
    """The file of the pairs of a segment: of its columns with larger ones, or `turned`."""

    segment: int
    turned: bool
    name: str
    bytes: int
    checksum: str
    pairs: int
    cut: int


class StoredGraph:
    """An opened graph; segments are numbered as in `segments`."""

    def __init__(self, index: Place, named: NamedFile) -> None:
        self.file = _opened(index / named.name, named)
        meta = self.file.meta
        version = meta.get("version", 1)
        if version > VERSION:
            raise NewerIndex(
                f"the join graph at {self.file.place} was written by a newer lakejoin (version "
                f"{version}, this one reads {VERSION}); upgrade lakejoin to read it"
            )
        if version < VERSION:
            raise IndexProblem(
                f"the join graph at {self.file.place} is of an older lakejoin: lakejoin graph "
                "makes it anew"
            )
        self.options = GraphOptions(**meta["options"])
        self.segments = tuple(Counted(one["id"], tuple(one["dead"])) for one in meta["segments"])
        self.parts = tuple(PartRecord(**one) for one in meta["parts"])
        self._folder = folder_of(index, named.name)
        self._records = {(one.segment, one.turned): one for one in self.parts}
        self._opened: dict[tuple[int, bool], PairFile] = {}

    @property
    def count(self) -> int:
        """How many pairs of columns it has."""
        return sum(one.pairs for one in self.parts if not one.turned)

    @property
    def cut(self) -> int:
        """How many columns have more partners than they keep."""
        return sum(one.cut for one in self.parts)

    def pairs(self, segment: int, turned: bool = False) -> PairFile | None:
        """The pairs of a segment's columns with larger ones, or with smaller ones (`turned`)."""
        record = self._records.get((segment, turned))
        if record is None:
            return None
        if (segment, turned) not in self._opened:
            file = _opened(self._folder / record.name, record)
            self._opened[segment, turned] = PairFile(file, segment)
        return self._opened[segment, turned]

    def check(self) -> None:
        """Verifies every file."""
        self.file.check_all()
        for one in self.parts:
            _opened(self._folder / one.name, one).check_all()

    def is_of(self, manifest: Manifest) -> bool:
        """Whether it was made of exactly these segments."""
        return self.segments == tuple(Counted(one.id, one.dead) for one in manifest.segments)


def _opened(place: Place, named: NamedFile | PartRecord) -> ArrayFile:
    known = FileRecord(named.bytes, named.checksum)
    return ArrayFile(place, known, "make it anew with: lakejoin graph --full")


def folder_of(index: Place, name: str) -> Place:
    """The folder beside a graph's file in which its pairs lie."""
    return index / name.removesuffix(".lj")


def write_graph(
    index: Place,
    name: str,
    records: Sequence[SegmentRecord],
    options: GraphOptions,
    parts: Iterable[PartRecord],
) -> NamedFile:
    """Writes what names the files of a graph."""
    with ArrayFileWriter(index / name) as out:
        out.meta["version"] = VERSION
        out.meta["options"] = asdict(options)
        out.meta["segments"] = [{"id": one.id, "dead": list(one.dead)} for one in records]
        out.meta["parts"] = [asdict(one) for one in parts]
    return NamedFile(name, out.record.bytes, out.record.checksum)
