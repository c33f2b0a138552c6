"""Point sets: the numbers, coordinates and vectors of a segment's columns, for distance search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, CheckedArray, Limits
from lakejoin.store.indexed_vectors import (
    IndexedVectors,
    IndexedVectorsWriter,
    open_indexed_vectors,
)
from lakejoin.store.point_detection import KINDS, VECTOR, PointSet, find_point_sets

if TYPE_CHECKING:
    from lakejoin.store.segment import Segment

BLOCK = 256  # points per bounding box
NO_COLUMN = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class PointsComponent:
    name: ClassVar[str] = "points"
    version: ClassVar[int] = 1
    made_with: ClassVar[str] = "compact vectors"

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        writer = PointsWriter(out)
        for point_set in find_point_sets(source):
            writer.add(point_set)
        writer.finish()


class PointsWriter:
    def __init__(self, out: ArrayFileWriter) -> None:
        self._out = out
        self._sets: list[tuple[int, ...]] = []
        self._columns: list[tuple[int, int]] = []
        self._boxes: list[Array] = []
        self._blocks: list[Array] = []
        self._repeats: list[Array] = []
        self._repeat_bytes = 0
        self._vectors = IndexedVectorsWriter()
        out.begin("points", np.dtype(np.uint8))

    def add(self, points: PointSet) -> None:
        """Write the points of a set; the rest follows in `finish`."""
        count, dimension = points.points.shape
        form, power, stored = narrow_numbers(points.points)
        start = self._out.align()
        # Axis by axis, except vectors: their elements are always read together.
        stored = stored if points.kind == VECTOR and dimension > 2 else stored.T
        self._out.append(np.ascontiguousarray(stored).reshape(-1).view(np.uint8))
        if points.kind == VECTOR:
            self._vectors.add(points.points)
        times, at = self._add_repeats(points.repeats)
        kind = KINDS.index(points.kind)
        self._sets.append((kind, dimension, count, form, power, start, times, at))
        second = points.columns[1] if len(points.columns) > 1 else int(NO_COLUMN)
        self._columns.append((points.columns[0], second))
        box = np.zeros(4)
        axes = points.points[:, :2]
        box[: 2 * axes.shape[1] : 2], box[1 : 2 * axes.shape[1] : 2] = axes.min(0), axes.max(0)
        self._boxes.append(box)
        self._blocks.append(_block_boxes(axes) if dimension == 2 else np.zeros((0, 4)))

    def _add_repeats(self, repeats: Array) -> tuple[int, int]:
        most = int(repeats.max())
        if most == 1:
            return 0, 0
        form = next(i for i, f in enumerate(REPEAT_FORMS) if most <= np.iinfo(f).max)
        stored = repeats.astype(REPEAT_FORMS[form]).view(np.uint8)
        at = self._repeat_bytes
        self._repeats.append(np.append(stored, np.zeros(-len(stored) % 8, dtype=np.uint8)))
        self._repeat_bytes += len(self._repeats[-1])
        return form + 1, at

    def finish(self) -> None:
        """Write the row counts, the fields of all sets and the bounding boxes."""
        out = self._out
        out.align()
        out.begin("repeats", np.dtype(np.uint8))
        for repeats in self._repeats:
            out.append(repeats)
        fields = np.array(self._sets, dtype=np.int64).reshape(-1, 8)
        for field, (name, kind) in zip(fields.T, _FIELDS.items(), strict=True):
            out.add(name, field.astype(kind))
        out.add("columns", np.array(self._columns, dtype=np.uint32).reshape(-1))
        out.add("box", np.array(self._boxes, dtype=np.float64).reshape(-1))
        counts = [len(blocks) for blocks in self._blocks]
        out.add("block_start", np.concatenate(([0], np.cumsum(counts))).astype(np.int64))
        out.begin("blocks", np.dtype(np.float64))
        for blocks in self._blocks:
            out.append(blocks)
        self._vectors.finish(out)


_FIELDS = {
    "kind": np.uint8,
    "dimension": np.uint32,
    "size": np.int64,
    "form": np.uint8,
    "power": np.uint8,
    "start": np.int64,
    "repeat_form": np.uint8,
    "repeat_start": np.int64,
}


def _block_boxes(points: Array) -> Array:
    """The bounding boxes (low, high of the first axis, low, high of the second) of all blocks."""
    begin = np.arange(0, len(points), BLOCK)
    low = np.minimum.reduceat(points, begin, axis=0)
    high = np.maximum.reduceat(points, begin, axis=0)
    return np.stack([low[:, 0], high[:, 0], low[:, 1], high[:, 1]], axis=1)


class PointSets:
    """The opened point sets of a segment with this many `columns`, with the ids 0, 1, 2, …"""

    def __init__(self, file: ArrayFile, columns: int | None = None) -> None:
        self.location = file.location
        self._file = file
        self._indexed: dict[tuple[str, int], IndexedVectors | None] = {}
        self.pool: CheckedArray = file.array("points", None, "u1")
        self.repeat_pool: CheckedArray = file.array("repeats", None, "u1")
        some = len(self.pool) + 1
        limits = {
            "kind": Limits(len(KINDS)),
            "dimension": Limits(some),
            "size": Limits(some),
            "form": Limits(len(FORMS)),
            "power": Limits(_POWERS),
            "start": Limits(some),
            "repeat_form": Limits(len(REPEAT_FORMS) + 1),
            "repeat_start": Limits(len(self.repeat_pool) + 1),
        }
        fields = [
            file.array(name, limits[name], np.dtype(kind).str.lstrip("<|")).all()
            for name, kind in _FIELDS.items()
        ]
        self.kinds, self.dimensions, self.sizes, self.forms, self.powers, self.starts = fields[:6]
        self.repeat_forms, self.repeat_starts = fields[6:]
        in_columns = None if columns is None else Limits(columns, other=int(NO_COLUMN))
        pairs = file.array("columns", in_columns, "u4").all()
        boxes = file.array("box", None, "f8").all()
        self.blocks = file.array("blocks", None, "f8")
        in_blocks = Limits(len(self.blocks) // 4 + 1, ascend=True)
        self.block_start = file.array("block_start", in_blocks, "i8").all()
        file.require(len({*map(len, fields), len(pairs) // 2, len(boxes) // 4}) == 1)
        file.require(len(pairs) % 2 == 0 and len(boxes) % 4 == 0)
        self.column_pairs, self.boxes = pairs.reshape(-1, 2), boxes.reshape(-1, 4)
        self._check(file)

    def _check(self, file: ArrayFile) -> None:
        widths = np.array([np.dtype(form).itemsize for form in FORMS], dtype=np.int64)
        counts = np.array([0, *(np.dtype(form).itemsize for form in REPEAT_FORMS)], dtype=np.int64)
        need = self.sizes.astype(float) * self.dimensions * widths[self.forms]
        file.require((self.starts + need <= len(self.pool)).all())
        file.require((self.starts % 8 == 0).all() and (self.repeat_starts % 8 == 0).all())
        need = self.sizes.astype(float) * counts[self.repeat_forms]
        file.require((self.repeat_starts + need <= len(self.repeat_pool)).all())
        file.require((self.sizes > 0).all() and (self.dimensions > 0).all())
        file.require((self.column_pairs[:, 0] != NO_COLUMN).all())
        blocks = np.where(self.dimensions == 2, -(-self.sizes // BLOCK), 0)
        file.require(len(self.block_start) == len(self.kinds) + 1)
        file.require(np.array_equal(np.diff(self.block_start), blocks))

    @property
    def count(self) -> int:
        return len(self.kinds)

    def kind(self, s: int) -> str:
        return KINDS[self.kinds[s]]

    def columns(self, s: int) -> tuple[int, ...]:
        """Its column ids in the segment: one, or latitude and longitude."""
        first, second = self.column_pairs[s].tolist()
        return (first,) if second == NO_COLUMN else (first, second)

    def dimension(self, s: int) -> int:
        return int(self.dimensions[s])

    def size(self, s: int) -> int:
        return int(self.sizes[s])

    def points(self, s: int) -> Array:
        """The distinct points, one per row."""
        size, dimension = self.size(s), self.dimension(s)
        kind = np.dtype(FORMS[self.forms[s]])
        begin = int(self.starts[s])
        raw = self.pool.slice(begin, begin + size * dimension * kind.itemsize).view(kind)
        by_axis = not (self.kind(s) == VECTOR and dimension > 2)
        shaped = raw.reshape(dimension, size).T if by_axis else raw.reshape(size, dimension)
        return widen_numbers(shaped, int(self.powers[s]))

    def vectors_at(self, s: int, rows: Array) -> Array:
        """Some points of a set of vectors with more than two elements."""
        kind, dimension = np.dtype(FORMS[self.forms[s]]), self.dimension(s)
        width = dimension * kind.itemsize
        begin = int(self.starts[s]) + rows * width
        raw = self.pool.touch(begin, begin + width)
        first = int(self.starts[s])
        stored = raw[first : first + self.size(s) * width].view(kind).reshape(-1, dimension)
        return widen_numbers(stored[rows], int(self.powers[s]))

    def indexed(self, metric: str, dimension: int) -> IndexedVectors | None:
        """The compact form of all vectors of a dimension; None if there is none."""
        key = metric, dimension
        if key not in self._indexed:
            sets = np.flatnonzero(
                (self.kinds == KINDS.index(VECTOR)) & (self.dimensions == dimension)
            )
            self._indexed[key] = open_indexed_vectors(
                self._file, metric, dimension, sets, self.sizes[sets]
            )
        return self._indexed[key]

    def repeats(self, s: int) -> Array:
        """The number of rows of each point."""
        if self.repeat_forms[s] == 0:
            return np.ones(self.size(s), dtype=np.int64)
        kind = np.dtype(REPEAT_FORMS[self.repeat_forms[s] - 1])
        begin = int(self.repeat_starts[s])
        stored = self.repeat_pool.slice(begin, begin + self.size(s) * kind.itemsize)
        return np.asarray(stored.view(kind), dtype=np.int64)


FORMS: tuple[Any, ...] = (np.int8, np.int16, np.int32, np.float32, np.float64)
REPEAT_FORMS: tuple[Any, ...] = (np.uint8, np.uint16, np.uint32, np.int64)

_POWERS = 10  # decimals that are tried
_SAMPLE = 64


def narrow_numbers(numbers: Array) -> tuple[int, int, Array]:
    """(form, power, stored): `stored / 10 ** power` gives back every number exactly.

    >>> form, power, stored = narrow_numbers(np.array([1.5, 12.34]))
    >>> FORMS[form].__name__, power, stored.tolist()
    ('int16', 2, [150, 1234])
    """
    for power in range(_POWERS):
        sample = numbers[:: max(1, len(numbers) // _SAMPLE)]
        if _is_whole(sample, power) and _is_whole(numbers, power):
            whole = np.rint(numbers * 10.0**power)
            low, high = float(whole.min()), float(whole.max())
            for form in range(3):
                limits = np.iinfo(FORMS[form])
                if limits.min <= low and high <= limits.max:
                    return form, power, whole.astype(FORMS[form])
            break
    with np.errstate(over="ignore"):
        short = numbers.astype(np.float32)
    if np.array_equal(short, numbers):
        return 3, 0, short
    return 4, 0, numbers.astype(np.float64)


def _is_whole(numbers: Array, power: int) -> bool:
    """Whether all numbers are exactly integers over this power of ten."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(numbers * 10.0**power)
        return bool((scaled / 10.0**power == numbers).all())


def widen_numbers(stored: Array, power: int) -> Array:
    return stored.astype(np.float64) if power == 0 else stored / 10.0**power
