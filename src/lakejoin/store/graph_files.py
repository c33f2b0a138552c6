"""The files of the join graph: pairs of columns that join, sorted by segment and column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.errors import IndexProblem, InputError, NewerIndex
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.quoting import lakejoin_command
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, FileRecord, Limits
from lakejoin.store.index_records import NamedFile, read_numbers, read_record
from lakejoin.store.manifest import Manifest

if TYPE_CHECKING:
    from lakejoin.store.index_records import SegmentRecord


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPairs:
    """Pairs of columns: (`segment`, `column`) with `size` distinct values shares `shared` of them
    with (`other_segment`, `other_column`), which has `other_size`."""

    segment: Array
    column: Array
    size: Array
    other_segment: Array
    other_column: Array
    other_size: Array
    shared: Array

    def __len__(self) -> int:
        return len(self.shared)

    def take(self, chosen: Array) -> ColumnPairs:
        """The pairs at some positions, or of a mask, in this order."""
        return ColumnPairs(*(getattr(self, name)[chosen] for name in PAIR_FIELDS))

    def reverse(self) -> ColumnPairs:
        """The same pairs seen from the other columns."""
        first = self.segment, self.column, self.size
        return ColumnPairs(
            self.other_segment, self.other_column, self.other_size, *first, self.shared
        )


PAIR_FIELDS = ("segment", "column", "size", "other_segment", "other_column", "other_size", "shared")
_STORED = PAIR_FIELDS[3:]  # per pair; the other fields follow from its position


def column_keys(segment: Array, column: Array) -> Array:
    """Columns as one integer each."""
    return np.asarray((np.asarray(segment, dtype=np.int64) << 32) | column)


def concat_pairs(parts: Sequence[ColumnPairs]) -> ColumnPairs:
    empty = np.zeros(0, dtype=np.int64)
    return ColumnPairs(
        *(np.concatenate([empty, *(getattr(p, name) for p in parts)]) for name in PAIR_FIELDS)
    )


def _rows(pairs: ColumnPairs) -> Array:
    return np.stack([getattr(pairs, name).astype(np.uint32) for name in _STORED], axis=1)


def _make_pairs(segment: int, column: Array, size: Array, rows: Array) -> ColumnPairs:
    """The pairs of a segment's columns from the rows that `_rows` made of them."""
    return ColumnPairs(np.full(len(column), segment), column, size, *rows.astype(np.int64).T)


class PairFileWriter:
    """Writes the pairs of one segment's columns, added in column order."""

    def __init__(self, out: ArrayFileWriter, sizes: Array) -> None:
        self._out = out
        self._sizes = sizes
        self._counts = np.zeros(len(sizes), dtype=np.int64)
        self._cut = [np.zeros(0, dtype=np.uint32)]
        out.begin("pairs", np.dtype(np.uint32))

    def append(self, pairs: ColumnPairs, cut: Array) -> None:
        """Add the pairs of some columns, sorted; `cut` are the columns that have more."""
        self._counts += np.bincount(pairs.column, minlength=len(self._counts))
        self._cut.append(cut.astype(np.uint32))
        self._out.append(_rows(pairs))

    def finish(self) -> tuple[int, int]:
        """Write the rest; returns the number of pairs, and of columns that have more."""
        cut = np.unique(np.concatenate(self._cut))
        start = np.concatenate(([0], np.cumsum(self._counts)))
        self._out.add("start", start.astype(np.int64))
        self._out.add("size", self._sizes.astype(np.uint32))
        self._out.add("cut", cut)
        return int(start[-1]), len(cut)


class PairFile:
    """The pairs of one segment's columns; for each column, those that share most come first.

    `start` is where the pairs of each column begin, and where the last end.
    """

    def __init__(self, file: ArrayFile, segment: int) -> None:
        self._file = file
        self._segment = segment
        self._pairs = file.array("pairs", None, "u4")
        in_pairs = Limits(len(self._pairs) // 4 + 1, ascend=True)
        self.start = file.array("start", in_pairs, "i8").all()
        columns = len(self.start) - 1
        self._size = file.array("size", None, "u4")
        file.require(columns >= 0 and len(self._size) == columns and len(self._pairs) % 4 == 0)
        self._cut = file.array("cut", Limits(columns, ascend=True), "u4")

    def __len__(self) -> int:
        return int(self.start[-1])

    def cut(self) -> Array:
        """The columns with more joins than are kept."""
        return self._cut.all().astype(np.int64)

    def pairs_of(self, columns: Array) -> ColumnPairs:
        columns = np.asarray(columns, dtype=np.int64)
        begin, end = self.start[columns], self.start[columns + 1]
        raw = self._pairs.touch(4 * begin, 4 * end).reshape(-1, 4)
        length = end - begin
        offset = np.cumsum(length) - length
        at = np.repeat(begin - offset, length) + np.arange(int(length.sum()))
        size = self._size.take(columns).astype(np.int64)
        return _make_pairs(
            self._segment, np.repeat(columns, length), np.repeat(size, length), raw[at]
        )


def cut_ranges(start: Array, most: int, first: Array | None = None) -> list[tuple[int, int]]:
    """Cut columns into ranges of at most `most` pairs, unless a single column has more.

    If `first` is given, ranges begin only at these columns.

    >>> cut_ranges(np.array([0, 3, 4, 9, 9]), 4)
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.arange(1, len(start)) if first is None else np.append(first[1:], len(start) - 1)
    ends = np.unique(ends)
    upto = start[ends]
    ranges, begin = [], 0
    while begin < len(start) - 1:
        least = np.searchsorted(ends, begin, "right")
        at = max(least, np.searchsorted(upto, start[begin] + most, "right") - 1)
        ranges.append((begin, int(ends[at])))
        begin = int(ends[at])
    return ranges


def write_pair_slices(out: ArrayFileWriter, pairs: ColumnPairs) -> None:
    """Write pairs of several segments for other tasks to read."""
    order = np.argsort(column_keys(pairs.segment, pairs.column), kind="stable")
    pairs = pairs.take(order)
    segments, first = np.unique(pairs.segment, return_index=True)
    out.add("segment", segments.astype(np.int64))
    out.add("first", np.append(first, len(pairs)).astype(np.int64))
    out.add("column", pairs.column.astype(np.uint32))
    out.add("pairs", _rows(pairs))


class PairSlices:
    """Reads what `write_pair_slices` wrote for one segment."""

    def __init__(self, file: ArrayFile, segment: int, sizes: Array) -> None:
        self._file = file
        self._segment = segment
        self._sizes = sizes
        segments = file.array("segment").all()
        at = np.searchsorted(segments, segment)
        present = at < len(segments) and segments[at] == segment
        first = file.array("first").all()
        begin, end = first[at : at + 2].tolist() if present else (0, 0)
        self._begin = int(begin)
        self._columns = file.array("column").slice(self._begin, int(end))

    def columns(self) -> Array:
        """The column of every pair, ascending."""
        return self._columns

    def pairs_in(self, begin: int, end: int) -> ColumnPairs:
        at, to = np.searchsorted(self._columns, [begin, end]).tolist()
        column = self._columns[at:to].astype(np.int64)
        flat = self._file.array("pairs").slice(4 * (self._begin + at), 4 * (self._begin + to))
        return _make_pairs(self._segment, column, self._sizes[column], flat.reshape(-1, 4))


VERSION = 2


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Which pairs of columns a graph contains.

    Two columns join if one contains at least the share `containment` of the other's distinct
    values. Columns with fewer than `least` distinct values match by coincidence and are left out.
    A column keeps its `most` best joins.

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
        self._index = index
        self.file = _open_file(index, index / named.name, named)
        meta = self.file.meta
        version = meta.get("version", 1)
        self.file.require(type(version) is int)
        if version > VERSION:
            raise NewerIndex(
                f"the join graph at {self.file.location} was written by a newer lakejoin (version "
                f"{version}, this one reads {VERSION}); upgrade lakejoin to read it"
            )
        if version < VERSION:
            raise IndexProblem(
                f"the join graph at {self.file.location} was written by an older lakejoin; rebuild "
                f"it with: {lakejoin_command('graph', index.uri)}"
            )
        try:
            self.options = read_record(GraphOptions, meta["options"])
            self.segments = tuple(
                read_record(GraphSegment, s, dead=read_numbers(s["dead"])) for s in meta["segments"]
            )
            self.pair_files = tuple(read_record(PairFileRecord, part) for part in meta["parts"])
        except (ValueError, TypeError, KeyError, InputError):
            raise self.file.inconsistency() from None
        self._folder = graph_folder(index, named.name)
        self._records = {(record.segment, record.turned): record for record in self.pair_files}
        self._opened: dict[tuple[int, bool], PairFile] = {}

    @property
    def count(self) -> int:
        return sum(record.pairs for record in self.pair_files if not record.turned)

    @property
    def cut(self) -> int:
        """The number of columns with more joins than are kept."""
        return sum(record.cut for record in self.pair_files)

    def pairs(self, segment: int, turned: bool = False) -> PairFile | None:
        """The pairs of a segment's columns with larger ones, or with smaller ones (`turned`)."""
        record = self._records.get((segment, turned))
        if record is None:
            return None
        if (segment, turned) not in self._opened:
            file = _open_file(self._index, self._folder / record.name, record)
            self._opened[segment, turned] = PairFile(file, segment)
        return self._opened[segment, turned]

    def check(self) -> None:
        self.file.check_all()
        for record in self.pair_files:
            _open_file(self._index, self._folder / record.name, record).check_all()

    def matches(self, manifest: Manifest) -> bool:
        """Whether it was built from exactly these segments."""
        return self.segments == tuple(GraphSegment(s.id, s.dead) for s in manifest.segments)


def _open_file(index: Location, location: Location, named: NamedFile | PairFileRecord) -> ArrayFile:
    record = FileRecord(named.bytes, named.checksum)
    advice = f"rebuild it with: {lakejoin_command('graph --full', index.uri)}"
    return ArrayFile(location, record, advice)


def graph_folder(index: Location, name: str) -> Location:
    """The folder with the pair files, next to the graph's own file."""
    return index / name.removesuffix(".lj")


def write_graph(
    index: Location,
    name: str,
    records: Sequence[SegmentRecord],
    options: GraphOptions,
    pair_files: Iterable[PairFileRecord],
) -> NamedFile:
    with ArrayFileWriter(index / name) as out:
        out.meta["version"] = VERSION
        out.meta["options"] = asdict(options)
        out.meta["segments"] = [{"id": s.id, "dead": list(s.dead)} for s in records]
        out.meta["parts"] = [asdict(part) for part in pair_files]
    return NamedFile(name, out.record.bytes, out.record.checksum)
