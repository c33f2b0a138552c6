"""Vectors in some 73 bytes each, enough to tell for nearly all of them that they are not near.

A vector becomes its coordinates on the first principal axes of the collection, as bytes, and the
length of what is left beside them (its *rest*). From a query with the coordinates a and the rest r,
a point with the (rounded) coordinates b and the rest s is at a distance of at least

    sqrt(|a - b|^2 + (r - s)^2) - e

where e is how far its coordinates were rounded: what is left of both lies in one space, so it
differs by at least the difference of its lengths. This does what the pivots of PEXESO do in its
first lemma, and more tightly, since the axes are at right angles.

The axes are kept in single precision, so they are not quite at right angles. That costs nothing: as
long as the matrix A of the axes makes no vector longer, I - A'A has a square root R, the rest of x
is |R x|, and |A x|^2 + |R x|^2 = |x|^2 as before. So the axes are made shorter than 1 by more than
rounding can make them longer.

The points lie in the order of a kd-tree (`kernels/vectors/ordering.py`), in leaves of 64, and every
node has a box around its points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from lakejoin.errors import DamagedIndex, InputError

if TYPE_CHECKING:
    from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, CheckedArray

Array = np.ndarray[Any, Any]

AXES = 64  # coordinates that are kept; of fewer dimensions all are, of few vectors not so many
WIDE = 16  # coordinates that the tree is built on, and that boxes have
LEAF = 64  # as in kernels/vectors/ordering.py
_SAMPLE = 16_384  # vectors from which the axes are found
_BATCH = 16_384
# Bytes for a vector's coordinates and its share of the axes (14 others make 80), and what a file
# takes beside that.
_BYTES, _FIXED = 66, 4096
# Each row of 64 may be off by 2^-24 of its length, so all together by 2^-21 at most.
_SHORTER = 1.0 - 2.0**-20
_REACH = 127  # a coordinate as a byte lies in [-127, 127]
LARGEST = 1e12  # a number of a vector: squares of larger ones would not fit single precision
_BY_LEAF = ("blocks", "rest", "order")
_NAMES = ("mean", "axes", "scale", "blocks", "rest", "order", "low", "high", "span")


class VectorSource(Protocol):
    """Vectors by number."""

    @property
    def count(self) -> int:
        """How many there are."""

    @property
    def dimension(self) -> int:
        """How many numbers each has."""

    def take(self, ids: Array) -> Array:
        """The vectors with these numbers, a row of float32 each."""

    def rows(self, ids: Array) -> tuple[Array, Array]:
        """A matrix that holds these vectors, and the row of each: without a copy where it can."""

    def whole(self) -> Array | None:
        """All vectors as a matrix of float32; None where they are made when they are needed."""


@dataclass(frozen=True, slots=True, eq=False)
class MatrixSource:
    """The rows of a matrix as vectors.

    >>> MatrixSource(np.eye(3, dtype=np.float32)).take(np.array([2, 0])).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    matrix: Array

    @property
    def count(self) -> int:
        """The rows."""
        return len(self.matrix)

    @property
    def dimension(self) -> int:
        """The columns."""
        return int(self.matrix.shape[1])

    def take(self, ids: Array) -> Array:
        """Some rows."""
        return np.ascontiguousarray(self.matrix[np.asarray(ids)], dtype=np.float32)

    def rows(self, ids: Array) -> tuple[Array, Array]:
        """The matrix, as it is."""
        matrix = self.whole()
        return (self.take(ids), np.arange(len(ids))) if matrix is None else (matrix, ids)

    def whole(self) -> Array | None:
        """The matrix, if it is of float32 and row by row."""
        ready = self.matrix.dtype == np.float32 and self.matrix.flags.c_contiguous
        return np.asarray(self.matrix) if ready else None


@dataclass(frozen=True, eq=False)
class Compact:
    """The compact form of `count` vectors; zero vectors match nothing unless `zeros`.

    `mean` and `axes` (one a row) turn a vector into coordinates; that on axis j is a byte times
    `scale[j]`. By leaf, `blocks` has the coordinates, one dimension after the other. By position,
    `rest` is what is left beside them (infinite where a vector matches nothing) and `order` the
    vector's number. By node, `low` and `high` are its box and `span` (the least rest, the largest,
    the largest error of rounding).

    In a file, what is by leaf or position is verified only as it is used: call `check` for the
    leaves that were read before anything is answered.
    """

    count: int
    zeros: bool
    mean: Array
    axes: Array
    scale: Array
    blocks: Array
    rest: Array
    order: Array
    low: Array
    high: Array
    span: Array
    mapped: tuple[CheckedArray, ...] = ()

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return len(self.mean)

    def coordinates(self, vectors: Array) -> tuple[Array, Array]:
        """The coordinates of other vectors, not rounded, and their rests; float64."""
        return _coordinates(vectors, self.mean, self.axes)

    @cached_property
    def leaf_nodes(self) -> Array:
        """The node of every leaf."""
        from lakejoin.kernels.vectors.ordering import leaf_nodes

        return leaf_nodes(len(self.blocks))

    def check(self, leaves: Array) -> None:
        """Verifies what a file holds of some leaves; raises where it is damaged."""
        for array in self.mapped:
            size = self.blocks[0].size if len(array) == self.blocks.size else LEAF
            array.touch(leaves * size, np.minimum((leaves + 1) * size, len(array)))

    @classmethod
    def made(cls, source: VectorSource, *, zeros: bool = False) -> Self:
        """The compact form of some vectors; zero vectors match nothing unless `zeros`."""
        return cls(source.count, zeros, *_arranged(source, *_principal(source), zeros))

    @classmethod
    def opened(cls, file: ArrayFile, prefix: str = "") -> Self:
        """What `write_compact` wrote, mapped."""
        count, dimension, zeros = file.meta[prefix + "compact"]
        arrays = {name: file.array(prefix + name) for name in _NAMES}
        mapped = tuple(arrays[name] for name in _BY_LEAF)
        mean, axes, scale, blocks, rest, order, low, high, span = (
            array.raw if name in _BY_LEAF else array.all() for name, array in arrays.items()
        )
        kept, leaves = (len(axes) // dimension if dimension else 0), -(-count // LEAF)
        try:
            return cls(
                count,
                zeros,
                mean,
                axes.reshape(kept, dimension),
                scale.reshape(kept),
                blocks.reshape(leaves, kept, LEAF),
                rest.reshape(leaves * LEAF),
                order.reshape(count),
                low.reshape(_nodes(leaves), min(kept, WIDE)),
                high.reshape(_nodes(leaves), min(kept, WIDE)),
                span.reshape(_nodes(leaves), 3),
                mapped,
            )
        except ValueError:
            raise DamagedIndex(
                f"the index is damaged: {file.place} is inconsistent; rebuild it with: "
                "lakejoin index --full"
            ) from None


def write_compact(
    source: VectorSource, out: ArrayFileWriter, *, prefix: str = "", zeros: bool = False
) -> None:
    """Writes the compact form of some vectors; `prefix` tells several in one file apart.

    Takes each vector once, and some of them twice. Beside one batch of vectors that needs some 150
    bytes for each of them.
    """
    made = Compact.made(source, zeros=zeros)
    out.meta[prefix + "compact"] = [made.count, made.dimension, zeros]
    for name in _NAMES:
        out.add(prefix + name, getattr(made, name))


def _nodes(leaves: int) -> int:
    return max(2 * leaves - 1, 0)


def _coordinates(vectors: Array, mean: Array, axes: Array) -> tuple[Array, Array]:
    # In float64, since the rest is a small difference of large numbers.
    centred = vectors.astype(np.float64) - mean
    found = centred @ axes.T.astype(np.float64)
    if len(axes) == len(mean):
        return found, np.zeros(len(vectors))  # next to nothing is left beside all axes
    left = np.einsum("ij,ij->i", centred, centred) - np.einsum("ij,ij->i", found, found)
    return found, np.sqrt(np.maximum(left, 0.0))


def _principal(source: VectorSource) -> tuple[Array, Array, Array]:
    """The mean of a sample, its principal axes, those of the largest variance first, and what a
    step of a byte is on each.

    Few vectors have fewer axes, which would take more room than what they say of the vectors.
    """
    dimension = source.dimension
    kept = max((_BYTES * source.count - _FIXED) // (source.count + 4 * dimension), WIDE)
    ids = np.arange(source.count)
    if source.count > _SAMPLE:
        ids = np.sort(np.random.default_rng(0).choice(source.count, _SAMPLE, replace=False))
    sample = source.take(ids).astype(np.float64)
    sample = sample[np.isfinite(sample).all(axis=1)]
    mean = sample.mean(axis=0) if len(sample) else np.zeros(dimension)
    mean = mean.astype(np.float32)
    centred = sample - mean
    _, found = np.linalg.eigh(centred.T @ centred)
    axes = (_SHORTER * found[:, ::-1][:, : min(kept, AXES)].T).astype(np.float32, order="C")
    # With some room, since others are larger; what lies outside is cut off, and has an error.
    reach = 1.25 * np.abs(centred @ axes.T).max(axis=0, initial=0.0)
    return mean, axes, np.where(reach > 0, reach, 1.0) / _REACH


def _arranged(
    source: VectorSource, mean: Array, axes: Array, scale: Array, zeros: bool
) -> tuple[Any, ...]:
    """The arrays of `Compact`."""
    from lakejoin.kernels.vectors.ordering import box_nodes, fill_blocks, order_points

    count, kept = source.count, len(axes)
    points = np.empty((count, kept), dtype=np.int8)
    rest, error = np.empty((2, count), dtype=np.float32)
    for begin in range(0, count, _BATCH):
        part = slice(begin, min(begin + _BATCH, count))
        vectors = source.take(np.arange(part.start, part.stop))
        matching = matches_any(vectors, zeros)
        if not matching.all():
            vectors = np.where(matching[:, None], vectors, np.float32(0))
        check_size(vectors)
        found, left = _coordinates(vectors, mean, axes)
        points[part] = rounded = np.clip(np.rint(found / scale), -_REACH, _REACH)
        rest[part] = np.where(matching, left, np.inf)
        gone = found - rounded * scale
        error[part] = np.sqrt(np.einsum("ij,ij->i", gone, gone))
    wide, leaves = min(kept, WIDE), -(-count // LEAF)
    order = np.arange(count, dtype=np.uint32)
    order_points(points, wide, order)
    blocks = np.zeros((leaves, kept, LEAF), dtype=np.int8)
    fill_blocks(points, order, blocks)
    padded = np.full(leaves * LEAF, np.inf, dtype=np.float32)
    padded[:count] = rest[order]
    low, high = np.empty((2, _nodes(leaves), wide), dtype=np.int8)
    span = np.empty((_nodes(leaves), 3), dtype=np.float32)
    box_nodes(blocks, padded, error[order], count, low, high, span)
    return mean, axes, scale, blocks, padded, order, low, high, span


def check_size(vectors: Array) -> None:
    """Raises where vectors have numbers that are too large to be computed with."""
    if np.abs(vectors).max(initial=0.0) > LARGEST:
        raise InputError(f"vectors must not have numbers beyond {LARGEST:g}")


def matches_any(vectors: Array, zeros: bool) -> Array:
    """Which vectors can match any: finite ones, and not zero unless `zeros`."""
    matching = np.isfinite(vectors).all(axis=1)
    return np.asarray(matching if zeros else matching & vectors.any(axis=1))
