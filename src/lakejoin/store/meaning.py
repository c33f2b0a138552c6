"""What the texts of a segment mean: a vector of every distinct value of its text columns.

The vectors are kept in a compact form that gives lower bounds of distances (`store/compact.py`).
The full vectors of the few values that a search has to look at are computed again from their texts,
or read where they are kept beside it: vectors of slow encoders are, others on request.

A value counts where a searched column of type text or mixed holds it. Values are numbered by rising
code, and that number is the *id* of a vector; so a group of values is a run of ids too.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from lakejoin.errors import BuildFailed, DamagedIndex
from lakejoin.model import ColumnType
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, CheckedArray
from lakejoin.store.compact import Compact, MatrixSource, VectorSource, write_compact
from lakejoin.store.dictionary import Dictionary
from lakejoin.store.texts import Texts

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.catalog import Catalog

Array = np.ndarray[Any, Any]

TYPES = (ColumnType.TEXT, ColumnType.MIXED)
KEPT = "\nkept"  # behind an identity, which is one line: full vectors are there, too
_BATCH = 1 << 15  # vectors that are written at once


class TextEncoder(Protocol):
    """What is needed of an encoder: one of `lakejoin.encoders`."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def identity(self) -> str:
        """Which encoder it is: vectors are comparable only where it is equal."""

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    def encode(self, texts: pa.LargeStringArray) -> Array:
        """One row of float32 a text, of length 1, or zero for a text that means nothing."""


@dataclass(frozen=True, slots=True)
class MeaningOptions:
    """How the vectors of an index are made.

    `encoder` is how the encoder was given, a name or a path; None for one that only its giver has,
    such as a function. `identity` says which one it was, and `keep` whether full vectors are kept.
    """

    encoder: str | None
    identity: str
    keep: bool = False


class TextSource(Protocol):
    """What vectors are made of: a `lakejoin.store.segment.Segment`."""

    @property
    def catalog(self) -> Catalog:
        """What tables and columns there are."""

    @property
    def indexed(self) -> Array:
        """Whether each column's set is searched."""

    @property
    def dictionary(self) -> Dictionary:
        """From values to codes and back."""

    def group_sets(self) -> tuple[Array, Array, Array]:
        """(group_start, set_start, groups): the groups of codes, and each column's groups."""


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """A `VectorSource`: the vectors of a segment's texts, computed when they are asked for."""

    codes: Array | CheckedArray
    texts: Texts
    encoder: TextEncoder

    @property
    def count(self) -> int:
        """How many vectors there are."""
        return len(self.codes)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return self.encoder.dimension

    def take(self, ids: Array) -> Array:
        """The vectors with these ids."""
        codes = self.codes.take(np.asarray(ids, dtype=np.int64))
        return self.encoder.encode(self.texts.take(codes))

    def rows(self, ids: Array) -> tuple[Array, Array]:
        """The vectors with these ids, and their own order."""
        return np.ascontiguousarray(self.take(ids), dtype=np.float32), np.arange(len(ids))

    def whole(self) -> Array | None:
        """Nothing is kept."""
        return None


@dataclass(frozen=True, slots=True)
class KeptVectors:
    """A `VectorSource`: the vectors of a segment that are kept in its file."""

    vectors: CheckedArray
    dimension: int

    @property
    def count(self) -> int:
        """How many vectors there are."""
        return len(self.vectors) // self.dimension

    def take(self, ids: Array) -> Array:
        """The vectors with these ids."""
        vectors, ids = self.rows(ids)
        return np.asarray(vectors[ids])

    def rows(self, ids: Array) -> tuple[Array, Array]:
        """All vectors, of which these are verified, and the ids."""
        first = np.asarray(ids, dtype=np.int64) * self.dimension
        raw = self.vectors.touch(first, first + self.dimension)
        return np.asarray(raw.reshape(-1, self.dimension)), np.asarray(ids)

    def whole(self) -> Array | None:
        """All of them, verified."""
        return np.asarray(self.vectors.all().reshape(-1, self.dimension))


@dataclass(frozen=True, slots=True)
class MeaningComponent:
    """The vectors as a component of the index.

    `encoder` opens the encoder, which must be the one of that `identity`; it is called only when a
    segment is built. `given` is how the encoder was named, and `keep` keeps full vectors too.
    """

    encoder: Callable[[], TextEncoder]
    identity: str
    keep: bool = False
    given: str | None = None
    name: ClassVar[str] = "meaning"
    version: ClassVar[int] = 1

    @property
    def made_with(self) -> str:
        """The encoder, and whether full vectors are kept: `lakejoin index` may change both."""
        return self.identity + (KEPT if self.keep else "")

    def build(self, source: TextSource, out: ArrayFileWriter) -> None:
        """Writes which values have a vector, the compact form, and full vectors where kept."""
        encoder = self._opened()
        codes = codes_with_meaning(source)
        out.meta.update(identity=encoder.identity, given=self.given, dimension=encoder.dimension)
        out.meta.update(name=encoder.name, version=encoder.version)
        out.meta.update(settings=dict(encoder.settings))
        out.add("codes", codes)
        vectors = EncodedTexts(codes, source.dictionary.texts, encoder)
        if not self.keep:
            write_compact(vectors, out)
            return
        with _at_once(vectors) as matrix:  # a slow encoder sees every text once
            write_compact(MatrixSource(matrix), out)
            out.begin("vectors", np.dtype(np.float32))
            for begin in range(0, len(matrix), _BATCH):
                out.append(matrix[begin : begin + _BATCH])

    def _opened(self) -> TextEncoder:
        encoder = self.encoder()
        if encoder.identity != self.identity:
            raise BuildFailed(
                f"the encoder that a worker opens ({encoder.identity}) is not the one of this "
                f"index ({self.identity}): install the same packages and files everywhere"
            )
        return encoder


@contextlib.contextmanager
def _at_once(source: VectorSource) -> Iterator[Array]:
    """All vectors as one matrix, in a temporary file that has no name."""
    shape = (source.count, source.dimension)
    if source.count == 0:
        yield np.zeros(shape, dtype=np.float32)
        return
    with tempfile.TemporaryFile(prefix="lakejoin-") as file:
        # A full disk is told here; to a mapped file it would be the end of the process.
        os.posix_fallocate(file.fileno(), 0, 4 * source.count * source.dimension)
        matrix = np.memmap(file, np.float32, "w+", shape=shape)
        for begin in range(0, source.count, _BATCH):
            ids = np.arange(begin, min(begin + _BATCH, source.count))
            matrix[begin : begin + len(ids)] = source.take(ids)
        yield matrix


def columns_with_meaning(source: TextSource) -> Array:
    """Whether each column has a meaning: it is searched, and holds text."""
    import pyarrow as pa

    kinds = source.catalog.columns["type"].cast(pa.string()).to_pylist()
    textual = np.array([kind in TYPES for kind in kinds], dtype=bool)
    found: Array = textual & source.indexed
    return found


def codes_with_meaning(source: TextSource) -> Array:
    """The codes of the values that columns with a meaning hold, ascending."""
    group_start, set_start, groups = source.group_sets()
    size: Array = np.diff(group_start.astype(np.int64))
    meant = np.zeros(len(size), dtype=bool)
    sizes: Array = np.diff(set_start.astype(np.int64))
    meant[groups[np.repeat(columns_with_meaning(source), sizes)]] = True
    return np.flatnonzero(np.repeat(meant, size)).astype(np.uint32)


class Meaning:
    """The opened vectors of a segment.

    `codes` has the code of each id, ascending; `vectors` are the full ones in the order of ids,
    None where they are not kept. `given` is how the encoder was named when they were made.
    """

    def __init__(self, file: ArrayFile) -> None:
        self.file = file
        self.identity: str = file.meta.get("identity", "")
        self.given: str | None = file.meta.get("given")
        self.dimension = int(file.meta.get("dimension", 0))
        self.codes = file.array("codes")
        kept = "vectors" in file.names()
        self.vectors = file.array("vectors") if kept else None
        whole = len(self) * self.dimension
        if not self.identity or self.dimension < 1:
            self._damaged()
        if self.vectors is not None and len(self.vectors) != whole:
            self._damaged()

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def compact(self) -> Compact:
        """The compact form of the vectors."""
        found = Compact.opened(self.file)
        if (found.count, found.dimension) != (len(self), self.dimension):
            self._damaged()
        return found

    def source(self, texts: Texts, encoder: TextEncoder | None) -> VectorSource:
        """The full vectors: those that are kept, else those that the encoder gives.

        `texts` are those of the segment's dictionary. Without kept vectors an encoder is needed.
        """
        if self.vectors is not None:
            return KeptVectors(self.vectors, self.dimension)
        if encoder is None or encoder.identity != self.identity:
            raise ValueError(f"an encoder {self.identity} is needed")
        return EncodedTexts(self.codes, texts, encoder)

    def ids_of(self, codes: Array) -> Array:
        """The ids of values by their codes; each must have a vector."""
        return np.searchsorted(self.codes.all(), codes)

    def _damaged(self) -> None:
        raise DamagedIndex(
            f"the index is damaged: {self.file.place} is inconsistent; rebuild it with: "
            "lakejoin index --full"
        )


def meaning_agrees(source: TextSource, kept: Meaning) -> bool:
    """Whether kept vectors are those of the values that columns with a meaning hold."""
    if not np.array_equal(codes_with_meaning(source), kept.codes.all()):
        return False
    order = np.sort(kept.compact.order)
    return np.array_equal(order, np.arange(len(kept)))
