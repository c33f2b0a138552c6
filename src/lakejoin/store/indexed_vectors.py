"""The compact form of a segment's columns of vectors: one for each dimension and metric.

All vectors of a dimension are searched together, so that the cost of a search depends on how
many are near, not on the number of columns. Their ids follow the order of the point sets. Vectors
of few dimensions need none of this: `engines/distance/box_trees.py` searches them as they are
stored.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from typing import BinaryIO

import numpy as np

from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.compact_vectors import (
    LARGEST,
    CompactVectors,
    MatrixSource,
    write_compact_vectors,
)
from lakejoin.store.point_detection import FEW_DIMENSIONS

SCANNED = 2048  # fewer vectors of a dimension are scanned as fast
METRICS = ("l2", "l1", "angular")


@dataclass(frozen=True, slots=True, eq=False)
class IndexedVectors:
    """The vectors of some sets, compact; those of `sets[i]` have the ids from `first[i]` on."""

    compact: CompactVectors
    sets: Array
    first: Array


@dataclass(slots=True)
class IndexedVectorsWriter:
    """Keeps vectors in unnamed files, by dimension, until all are known."""

    _files: dict[int, BinaryIO] = field(default_factory=dict)

    def add(self, vectors: Array) -> None:
        dimension = vectors.shape[1]
        if dimension <= FEW_DIMENSIONS:
            return
        if dimension not in self._files:
            self._files[dimension] = tempfile.TemporaryFile(prefix="lakejoin-")  # noqa: SIM115
        self._files[dimension].write(np.ascontiguousarray(vectors, np.float64).data)

    def finish(self, out: ArrayFileWriter) -> None:
        """Write the compact forms."""
        for dimension, file in sorted(self._files.items()):
            with file:
                file.flush()
                matrix = np.memmap(file, np.float64, "r").reshape(-1, dimension)
                if len(matrix) >= SCANNED and float(np.abs(matrix).max()) <= LARGEST:
                    for metric in METRICS:
                        _write(matrix, metric, out)
        self._files.clear()


def _write(matrix: Array, metric: str, out: ArrayFileWriter) -> None:
    prefix = _prefix(matrix.shape[1], metric)
    source = UnitVectors(matrix) if metric == "angular" else ExactVectors(matrix)
    write_compact_vectors(source, out, prefix, zeros=metric != "angular", sums=metric == "l1")


def _prefix(dimension: int, metric: str) -> str:
    return f"{metric}-{dimension}-"


class ExactVectors(MatrixSource):
    """The rows of a matrix in double precision."""

    def take(self, ids: Array) -> Array:
        return np.asarray(self.matrix[ids], dtype=np.float64)


class UnitVectors(ExactVectors):
    """The rows of a matrix, scaled to length 1; zero vectors stay zero."""

    def take(self, ids: Array) -> Array:
        return scaled_to_unit(self.matrix[ids])


def scaled_to_unit(vectors: Array) -> Array:
    """The vectors at length 1; zero vectors stay zero.

    >>> scaled_to_unit(np.array([[3e200, 4e200], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    # Divide by the largest number first, so that squares neither overflow nor vanish.
    largest = np.abs(vectors).max(axis=1, initial=0.0)[:, None]
    scaled = vectors / np.where(largest > 0, largest, 1.0)
    length = np.sqrt((scaled * scaled).sum(axis=1))[:, None]
    return np.asarray(scaled / np.where(length > 0, length, 1.0))


def open_indexed_vectors(
    file: ArrayFile, metric: str, dimension: int, sets: Array, sizes: Array
) -> IndexedVectors | None:
    """The compact form of the vectors of these sets; None if the index has none.

    `sets` are all sets of vectors of the dimension, and `sizes` how many vectors each has.
    """
    prefix = _prefix(dimension, metric)
    if metric not in METRICS or f"{prefix}compact" not in file.meta:
        return None
    compact = CompactVectors.open(file, prefix, sums=metric == "l1")
    file.require((compact.count, compact.dimension) == (int(sizes.sum()), dimension))
    return IndexedVectors(compact, sets, np.cumsum(sizes) - sizes)
