"""Compact vectors: about 73 bytes each, enough to rule out nearly all vectors that are not near.

A vector is stored as its coordinates on the first principal axes of the collection, as bytes, and
the length of the remainder (its *rest*). For a query with coordinates a and rest r, a point with
(rounded) coordinates b and rest s is at a distance of at least

    sqrt(|a - b|^2 + (r - s)^2) - e

where e is the rounding error of its coordinates: both remainders lie in the same space, so they
differ by at least the difference of their lengths. This replaces the pivots of PEXESO's first
lemma, with a tighter bound because the axes are orthogonal.

The axes are stored in single precision, so they are not exactly orthogonal. The bound still holds:
as long as the matrix A of the axes makes no vector longer, I - A'A has a square root R, the rest of
x is |R x|, and |A x|^2 + |R x|^2 = |x|^2 as before. So the axes are shortened below 1 by more than
rounding can lengthen them.

Vectors that are compared by the sum of differences (L1) keep their own elements, those that vary
most first, in place of coordinates on principal axes; the rest is the sum of the others. The bound
is then |a - b| + |r - s| - e with sums in place of lengths.

The points are in kd-tree order (`kernels/kd_trees.py`), in leaves of 64, and every node has
a bounding box.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from lakejoin.errors import InputError
from lakejoin.model import Array
from lakejoin.store.arrayfile import Limits

if TYPE_CHECKING:
    from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, CheckedArray

AXES = 64  # coordinates stored; all of them in fewer dimensions, fewer for few vectors
ELEMENTS = 256  # elements stored for sums of differences
WIDE = 16  # coordinates that the tree and its boxes use
LEAF = 64  # as in kernels/kd_trees.py
_SAMPLE = 16_384  # vectors from which the axes are computed
_BATCH = 16_384
_LEAVES = 4096  # leaves whose centres are computed at once
# Bytes for a vector's coordinates and its share of the axes (80 with 14 others), and the fixed
# size of a file.
_BYTES, _FIXED = 66, 4096
# Each of 64 rows may be off by 2^-24 of its length, so all together by at most 2^-21.
_SHORTER = 1.0 - 2.0**-20
_REACH = 127  # a coordinate, as a byte, is in [-127, 127]
LARGEST = 1e12  # squares of larger numbers do not fit single precision
_BY_LEAF = ("blocks", "rest", "order")
_NAMES = {"mean": "f4 f8", "axes": "f4 f8", "scale": "f8", "blocks": "i1", "rest": "f4"}
_NAMES |= {"order": "u4", "low": "i1", "high": "i1", "span": "f4"}  # arrays and their types
_CENTRES = "centres"


class VectorSource(Protocol):
    """Vectors by id."""

    @property
    def count(self) -> int:
        """The number of vectors."""

    @property
    def dimension(self) -> int:
        """The number of elements of each vector."""

    def take(self, ids: Array) -> Array:
        """The vectors with these ids, one row each; float32, or float64 if only they are exact."""

    def rows(self, ids: Array) -> tuple[Array, Array]:
        """A matrix with these vectors, and the row of each; avoids a copy if possible."""

    def whole(self) -> Array | None:
        """All vectors as a float32 matrix; None if they are computed on demand."""


@dataclass(frozen=True, slots=True, eq=False)
class MatrixSource:
    """A `VectorSource` over the rows of a matrix.

    >>> MatrixSource(np.eye(3, dtype=np.float32)).take(np.array([2, 0])).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    matrix: Array

    @property
    def count(self) -> int:
        return len(self.matrix)

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])

    def take(self, ids: Array) -> Array:
        return np.ascontiguousarray(self.matrix[np.asarray(ids)], dtype=np.float32)

    def rows(self, ids: Array) -> tuple[Array, Array]:
        """The matrix itself if it can be used directly."""
        matrix = self.whole()
        return (self.take(ids), np.arange(len(ids))) if matrix is None else (matrix, ids)

    def whole(self) -> Array | None:
        ready = self.matrix.dtype == np.float32 and self.matrix.flags.c_contiguous
        return np.asarray(self.matrix) if ready else None


@dataclass(frozen=True, eq=False)
class CompactVectors:
    """The compact form of `count` vectors; zero vectors match nothing unless `zeros`.

    With `sums`, distances are sums of differences.
    `mean` and `axes` (one per row) map a vector to coordinates; on axis j the coordinate is a byte
    times `scale[j]`. Per leaf, `blocks` has the coordinates, one dimension after the other. Per
    position, `rest` is the length of the remainder (infinite if the vector matches nothing) and
    `order` the vector's id. Per node, `low` and `high` are its box and `span` is (smallest rest,
    largest rest, largest rounding error).

    In a file, what is stored per leaf or position is not verified on opening: call `check` for the
    leaves that were read before returning results.
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
    stored_centres: Array | None = None
    mapped: tuple[CheckedArray, ...] = ()
    sums: bool = False

    @property
    def dimension(self) -> int:
        return len(self.mean)

    def coordinates(self, vectors: Array) -> tuple[Array, Array]:
        """The unrounded coordinates of other vectors, and their rests; float64."""
        return _coordinates(vectors, self.mean, self.axes, self.sums)

    @cached_property
    def centres(self) -> Array:
        """The mean coordinates of each leaf, as bytes; computed if the index does not have them."""
        return _centres(self.blocks) if self.stored_centres is None else self.stored_centres

    @cached_property
    def leaf_nodes(self) -> Array:
        from lakejoin.kernels.kd_trees import leaf_nodes

        return leaf_nodes(len(self.blocks))

    @cached_property
    def positions(self) -> Array:
        """The position of each vector, by id."""
        self.check(np.arange(len(self.blocks)))
        positions = np.empty(self.count, np.int64)
        positions[self.order] = np.arange(self.count)
        return positions

    def check(self, leaves: Array) -> None:
        """Verify some leaves of the file; raises if they are damaged."""
        for array in self.mapped:
            size = self.blocks[0].size if len(array) == self.blocks.size else LEAF
            array.touch(leaves * size, np.minimum((leaves + 1) * size, len(array)))

    @classmethod
    def build(cls, source: VectorSource, *, zeros: bool = False, sums: bool = False) -> Self:
        """Compute the compact form of vectors; zero vectors match nothing unless `zeros`."""
        frame = _principal(source, sums)
        arrays = _arranged(source, *frame, zeros=zeros, sums=sums)
        return cls(source.count, zeros, *(*arrays, None, (), sums))

    @classmethod
    def open(cls, file: ArrayFile, prefix: str = "", *, sums: bool = False) -> Self:
        """Map what `write_compact_vectors` wrote under the names with this prefix."""
        try:
            count, dimension, zeros = (int(number) for number in file.meta[prefix + "compact"])
        except (KeyError, TypeError, ValueError):
            raise file.inconsistency() from None
        file.require(count >= 0 and dimension >= 0)
        limits = {"order": Limits(count)}
        arrays = {
            name: file.array(prefix + name, limits.get(name), kind) for name, kind in _NAMES.items()
        }
        mapped = tuple(arrays[name] for name in _BY_LEAF)
        mean, axes, scale, blocks, rest, order, low, high, span = (
            array.raw if name in _BY_LEAF else array.all() for name, array in arrays.items()
        )
        stored = prefix + _CENTRES in file.names()
        centres = file.array(prefix + _CENTRES, None, "i1").all() if stored else None
        axis_count, leaves = (len(axes) // dimension if dimension else 0), -(-count // LEAF)
        file.require(np.isfinite(mean).all() and np.isfinite(axes).all())
        file.require(np.isfinite(scale).all() and (scale > 0).all())
        padding = arrays["rest"].slice(count, len(rest))
        file.require((padding == np.inf).all())  # what fills the last leaf matches nothing
        try:
            return cls(
                count,
                bool(zeros),
                mean.reshape(dimension),
                axes.reshape(axis_count, dimension),
                scale.reshape(axis_count),
                blocks.reshape(leaves, axis_count, LEAF),
                rest.reshape(leaves * LEAF),
                order.reshape(count),
                low.reshape(_nodes(leaves), min(axis_count, WIDE)),
                high.reshape(_nodes(leaves), min(axis_count, WIDE)),
                span.reshape(_nodes(leaves), 3),
                None if centres is None else centres.reshape(leaves, axis_count),
                mapped,
                sums,
            )
        except ValueError:
            raise file.inconsistency() from None


def write_compact_vectors(
    source: VectorSource,
    out: ArrayFileWriter,
    prefix: str = "",
    *,
    zeros: bool = False,
    sums: bool = False,
) -> None:
    """Write the compact form of vectors; zero vectors match nothing unless `zeros`.

    Reads each vector once, and a sample twice. Needs one batch of vectors in memory and about 150
    bytes per vector.
    """
    made = CompactVectors.build(source, zeros=zeros, sums=sums)
    out.meta[prefix + "compact"] = [made.count, made.dimension, made.zeros]
    for name in _NAMES:
        out.add(prefix + name, getattr(made, name))
    out.add(prefix + _CENTRES, made.centres)


def _nodes(leaves: int) -> int:
    return max(2 * leaves - 1, 0)


def _coordinates(vectors: Array, mean: Array, axes: Array, sums: bool) -> tuple[Array, Array]:
    # float64, since the rest is a small difference of large numbers.
    centred = vectors.astype(np.float64) - mean
    if sums:
        chosen = axes.argmax(axis=1)
        others = np.delete(centred, chosen, axis=1)
        return centred[:, chosen], np.abs(others).sum(axis=1)
    coordinates = centred @ axes.T.astype(np.float64)
    if len(axes) == len(mean):
        return coordinates, np.zeros(len(vectors))  # all axes leave no remainder
    left = np.einsum("ij,ij->i", centred, centred)
    left -= np.einsum("ij,ij->i", coordinates, coordinates)
    return coordinates, np.sqrt(np.maximum(left, 0.0))


def _principal(source: VectorSource, sums: bool) -> tuple[Array, Array, Array]:
    """The mean of a sample, its principal axes by falling variance, and the step of a byte on each.

    For `sums` the axes are those of the elements that vary most. Few vectors get fewer axes, since
    the axes would take more space than they save.
    """
    dimension = source.dimension
    affordable = max((_BYTES * source.count - _FIXED) // (source.count + 4 * dimension), WIDE)
    ids = np.arange(source.count)
    if source.count > _SAMPLE:
        ids = np.sort(np.random.default_rng(0).choice(source.count, _SAMPLE, replace=False))
    sample = source.take(ids).astype(np.float64)
    sample = sample[np.isfinite(sample).all(axis=1)]
    mean = sample.mean(axis=0) if len(sample) else np.zeros(dimension)
    mean = mean.astype(np.float32)
    centred = sample - mean
    if sums:
        falling = np.argsort(-np.abs(centred).sum(axis=0), kind="stable")
        axes = np.eye(dimension, dtype=np.float32)[falling[:ELEMENTS]]
    else:
        _, principal = np.linalg.eigh(centred.T @ centred)
        principal = principal[:, ::-1][:, : min(affordable, AXES)]
        axes = (_SHORTER * principal.T).astype(np.float32, order="C")
    # Leave room for vectors outside the sample; what is beyond is clipped and adds to the error.
    reach = 1.25 * np.abs(centred @ axes.T).max(axis=0, initial=0.0)
    return mean, axes, np.where(reach > 0, reach, 1.0) / _REACH


def _arranged(
    source: VectorSource, mean: Array, axes: Array, scale: Array, *, zeros: bool, sums: bool
) -> tuple[Any, ...]:
    """The arrays of `CompactVectors`, in kd-tree order."""
    from lakejoin.kernels.kd_trees import box_nodes, fill_blocks, order_points

    count, axis_count = source.count, len(axes)
    points = np.empty((count, axis_count), dtype=np.int8)
    rest, error = np.empty((2, count), dtype=np.float32)
    for begin in range(0, count, _BATCH):
        batch = slice(begin, min(begin + _BATCH, count))
        vectors = source.take(np.arange(batch.start, batch.stop))
        matching = can_match(vectors, zeros)
        if not matching.all():
            vectors = np.where(matching[:, None], vectors, vectors.dtype.type(0))
        check_magnitude(vectors)
        coordinates, left = _coordinates(vectors, mean, axes, sums)
        points[batch] = rounded = np.clip(np.rint(coordinates / scale), -_REACH, _REACH)
        rest[batch] = np.where(matching, left, np.inf)
        lost = coordinates - rounded * scale
        error[batch] = (
            np.abs(lost).sum(axis=1) if sums else np.sqrt(np.einsum("ij,ij->i", lost, lost))
        )
    wide, leaves = min(axis_count, WIDE), -(-count // LEAF)
    order = np.arange(count, dtype=np.uint32)
    order_points(points, wide, order)
    blocks = np.zeros((leaves, axis_count, LEAF), dtype=np.int8)
    fill_blocks(points, order, blocks)
    padded = np.full(leaves * LEAF, np.inf, dtype=np.float32)
    padded[:count] = rest[order]
    low, high = np.empty((2, _nodes(leaves), wide), dtype=np.int8)
    span = np.empty((_nodes(leaves), 3), dtype=np.float32)
    box_nodes(blocks, padded, error[order], count, low, high, span)
    return mean, axes, scale, blocks, padded, order, low, high, span


def _centres(blocks: Array) -> Array:
    centres = np.empty(blocks.shape[:2], dtype=np.int8)
    for begin in range(0, len(blocks), _LEAVES):
        part = slice(begin, begin + _LEAVES)
        centres[part] = np.rint(blocks[part].mean(axis=2, dtype=np.float32))
    return centres


def check_magnitude(vectors: Array) -> None:
    """Raise if vectors have elements too large to compute with."""
    if np.abs(vectors).max(initial=0.0) > LARGEST:
        raise InputError(f"vectors must not have numbers beyond {LARGEST:g}")


def can_match(vectors: Array, zeros: bool) -> Array:
    """Which vectors can match others: finite ones, and nonzero ones unless `zeros`."""
    matching = np.isfinite(vectors).all(axis=1)
    return np.asarray(matching if zeros else matching & vectors.any(axis=1))
