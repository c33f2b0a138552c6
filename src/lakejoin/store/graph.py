"""The join graph of a lake: all pairs of columns that join, in a file that the manifest names.

The file knows for which segments it was made, and which of their tables had gone. A refresh keeps
the pairs of segments that are still there, and counts those of new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.storage import Place
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, FileRecord
from lakejoin.store.manifest import Manifest, NamedFile

if TYPE_CHECKING:
    from lakejoin.store.segment import SegmentRecord

Array = np.ndarray[Any, Any]


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


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of columns: the one at (`segment`, `column`), of `size` values, has `shared` of them in
    the one at (`other_segment`, `other_column`), which has at least as many."""

    segment: Array
    column: Array
    size: Array
    other_segment: Array
    other_column: Array
    other_size: Array
    shared: Array

    def __len__(self) -> int:
        return len(self.shared)

    def take(self, chosen: Array) -> Pairs:
        """Those at some places, or of a mask, in this order."""
        return Pairs(*(getattr(self, name)[chosen] for name in FIELDS))


FIELDS = ("segment", "column", "size", "other_segment", "other_column", "other_size", "shared")


def place_of(segment: Array, column: Array) -> Array:
    """Columns as one number each."""
    return np.asarray((np.asarray(segment, dtype=np.int64) << 32) | column)


def together(parts: Sequence[Pairs]) -> Pairs:
    """All pairs of several."""
    none = np.zeros(0, dtype=np.int64)
    return Pairs(*(np.concatenate([none, *(getattr(p, name) for p in parts)]) for name in FIELDS))


@dataclass(frozen=True, slots=True)
class Counted:
    """A segment as it was when its pairs were counted."""

    id: str
    dead: tuple[int, ...]


class StoredGraph:
    """An opened graph file."""

    def __init__(self, index: Place, named: NamedFile) -> None:
        self.file = ArrayFile(index / named.name, FileRecord(named.bytes, named.checksum))
        meta = self.file.meta
        self.options = GraphOptions(**meta["options"])
        self.segments = tuple(Counted(one["id"], tuple(one["dead"])) for one in meta["segments"])

    def cut(self) -> Array:
        """The columns that have more partners than they keep, by `place_of`."""
        return self.file.array("cut").all()

    def pairs(self) -> Pairs:
        """All pairs; segments are numbered as in `segments`."""
        return read_pairs(self.file)

    def is_of(self, manifest: Manifest) -> bool:
        """Whether it was made of exactly these segments."""
        return self.segments == tuple(Counted(one.id, one.dead) for one in manifest.segments)


def write_graph(
    index: Place,
    name: str,
    records: Sequence[SegmentRecord],
    pairs: Pairs,
    options: GraphOptions,
    cut: Array,
) -> NamedFile:
    """Writes a graph; the columns `cut`, by `place_of`, have more partners than they keep."""
    with ArrayFileWriter(index / name) as out:
        out.meta["options"] = asdict(options)
        out.meta["segments"] = [{"id": one.id, "dead": list(one.dead)} for one in records]
        out.add("cut", np.unique(cut))
        write_pairs(out, pairs)
    return NamedFile(name, out.record.bytes, out.record.checksum)


def write_pairs(out: ArrayFileWriter, pairs: Pairs) -> None:
    """Writes pairs as arrays of 32 bits: numbers of columns and sizes fit, as in a segment."""
    for name in FIELDS:
        out.add(name, getattr(pairs, name).astype(np.uint32))


def read_pairs(file: ArrayFile) -> Pairs:
    """The pairs that `write_pairs` wrote."""
    return Pairs(*(file.array(name).all().astype(np.int64) for name in FIELDS))
