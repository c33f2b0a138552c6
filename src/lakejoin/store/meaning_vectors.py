"""The vectors of the text values of a segment, stored compactly, and their reuse in compaction."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lakejoin.errors import BuildFailed, MissingDependency
from lakejoin.model import Array, ColumnType, TextEncoder
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter, CheckedArray, Limits
from lakejoin.store.compact_vectors import (
    CompactVectors,
    MatrixSource,
    VectorSource,
    write_compact_vectors,
)
from lakejoin.store.dictionary import NOT_FOUND, Texts

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.index_records import SegmentRecord
    from lakejoin.store.segment import Segment


TEXT_TYPES = (ColumnType.TEXT, ColumnType.MIXED)
STORED_SUFFIX = "\nkept"  # suffix of an identity (one line): full vectors are stored too
_BATCH = 1 << 15  # vectors written at once
_PAUSE = 1.0  # seconds before an encoder that failed is asked again


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """A `VectorSource` that computes the vectors of a segment's texts on demand."""

    codes: Array | CheckedArray
    texts: Texts
    encoder: TextEncoder

    @property
    def count(self) -> int:
        return len(self.codes)

    @property
    def dimension(self) -> int:
        return self.encoder.dimension

    def take(self, ids: Array) -> Array:
        texts = self.texts.take(self.codes.take(np.asarray(ids, dtype=np.int64)))
        try:
            return self.encoder.encode(texts)
        except MissingDependency:
            raise
        except Exception:  # noqa: BLE001 (a model may fail once with anything: it is asked again)
            time.sleep(_PAUSE)
            return self.encoder.encode(texts)

    def rows(self, ids: Array) -> tuple[Array, Array]:
        return np.ascontiguousarray(self.take(ids), dtype=np.float32), np.arange(len(ids))

    def whole(self) -> Array | None:
        return None


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """A `VectorSource` that reads the vectors stored in a segment."""

    vectors: CheckedArray
    dimension: int

    @property
    def count(self) -> int:
        return len(self.vectors) // self.dimension

    def take(self, ids: Array) -> Array:
        vectors, ids = self.rows(ids)
        return np.asarray(vectors[ids])

    def rows(self, ids: Array) -> tuple[Array, Array]:
        """All vectors, with those of these ids verified, and the ids."""
        first = np.asarray(ids, dtype=np.int64) * self.dimension
        raw = self.vectors.touch(first, first + self.dimension)
        return np.asarray(raw.reshape(-1, self.dimension)), np.asarray(ids)

    def whole(self) -> Array | None:
        return np.asarray(self.vectors.all().reshape(-1, self.dimension))


@dataclass(frozen=True, slots=True)
class MeaningComponent:
    """The vectors as a component of the index.

    `encoder` opens the encoder with that `identity`; it is called only when a segment is built.
    `encoder_name` is the name of the encoder, and `keep` stores full vectors too.
    """

    encoder: Callable[[], TextEncoder]
    identity: str
    keep: bool = False
    encoder_name: str | None = None
    name: ClassVar[str] = "meaning"
    version: ClassVar[int] = 1

    @property
    def made_with(self) -> str:
        """The encoder, and whether full vectors are stored: `lakejoin index` can change both."""
        return self.identity + (STORED_SUFFIX if self.keep else "")

    def build(self, source: Segment, out: ArrayFileWriter) -> None:
        """Write the codes with a vector, the compact form, and full vectors if wanted."""
        encoder = self._open()
        codes = codes_with_meaning(source)
        out.meta["identity"] = encoder.identity
        out.meta["given"] = self.encoder_name
        out.meta["dimension"] = encoder.dimension
        out.meta["name"] = encoder.name
        out.meta["version"] = encoder.version
        out.meta["settings"] = dict(encoder.settings)
        out.add("codes", codes)
        vectors = EncodedTexts(codes, source.dictionary.texts, encoder)
        if not self.keep:
            write_compact_vectors(vectors, out)
            return
        with _matrix_on_disk(vectors) as matrix:  # a slow encoder encodes every text once
            write_compact_vectors(MatrixSource(matrix), out)
            out.begin("vectors", np.dtype(np.float32))
            for begin in range(0, len(matrix), _BATCH):
                out.append(matrix[begin : begin + _BATCH])

    def _open(self) -> TextEncoder:
        encoder = self.encoder()
        if encoder.identity != self.identity:
            raise BuildFailed(
                f"a worker opens the encoder {encoder.identity}, but this index uses "
                f"{self.identity}: install the same packages and files on every worker"
            )
        return encoder


@contextlib.contextmanager
def _matrix_on_disk(source: VectorSource) -> Iterator[Array]:
    """All vectors as one matrix, in an unnamed temporary file."""
    shape = (source.count, source.dimension)
    if source.count == 0:
        yield np.zeros(shape, dtype=np.float32)
        return
    with tempfile.TemporaryFile(prefix="lakejoin-") as file:
        # Reserve the space first: a full disk would kill a process writing to a mapped file.
        os.posix_fallocate(file.fileno(), 0, 4 * source.count * source.dimension)
        matrix = np.memmap(file, np.float32, "w+", shape=shape)
        for begin in range(0, source.count, _BATCH):
            ids = np.arange(begin, min(begin + _BATCH, source.count))
            matrix[begin : begin + len(ids)] = source.take(ids)
        yield matrix


def columns_with_meaning(source: Segment) -> Array:
    """Whether each column has vectors: it is searched and contains text."""
    import pyarrow as pa

    kinds = source.catalog.columns["type"].cast(pa.string()).to_pylist()
    textual = np.array([kind in TEXT_TYPES for kind in kinds], dtype=bool)
    with_meaning: Array = textual & source.indexed
    return with_meaning


def codes_with_meaning(source: Segment) -> Array:
    """The codes of all values in columns with vectors, ascending."""
    group_start, set_start, groups = source.group_sets()
    size: Array = np.diff(group_start.astype(np.int64))
    with_meaning = np.zeros(len(size), dtype=bool)
    sizes: Array = np.diff(set_start.astype(np.int64))
    with_meaning[groups[np.repeat(columns_with_meaning(source), sizes)]] = True
    return np.flatnonzero(np.repeat(with_meaning, size)).astype(np.uint32)


class MeaningVectors:
    """The opened vectors of a segment with this many `tokens`.

    `codes` has the code of each id, ascending; `vectors` are the full ones by id, None if they are
    not stored. `encoder_name` is the name of the encoder that computed them.
    """

    def __init__(self, file: ArrayFile, tokens: int) -> None:
        self.file = file
        self.identity: str = file.meta.get("identity", "")
        self.encoder_name: str | None = file.meta.get("given")
        file.require(isinstance(self.identity, str) and type(file.meta.get("dimension")) is int)
        file.require(isinstance(self.encoder_name, str | None))
        self.dimension = int(file.meta["dimension"])
        self.codes = file.array("codes", Limits(tokens, ascend=True), "u4")
        stored = "vectors" in file.names()
        self.vectors = file.array("vectors", None, "f4") if stored else None
        size = len(self) * self.dimension
        complete = self.vectors is None or len(self.vectors) == size
        if not (self.identity and self.dimension >= 1 and complete):
            raise file.inconsistency()

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def compact(self) -> CompactVectors:
        compact = CompactVectors.open(self.file)
        if (compact.count, compact.dimension) != (len(self), self.dimension):
            raise self.file.inconsistency()
        return compact

    def source(self, texts: Texts, encoder: TextEncoder | None) -> VectorSource:
        """The full vectors: the stored ones, else computed by the encoder.

        `texts` are those of the segment's dictionary. Without stored vectors an encoder is needed.
        """
        if self.vectors is not None:
            return StoredVectors(self.vectors, self.dimension)
        if encoder is None or encoder.identity != self.identity:
            raise ValueError(f"an encoder {self.identity} is needed")
        return EncodedTexts(self.codes, texts, encoder)

    def ids_of(self, codes: Array) -> Array:
        """The vector ids of codes; each must have a vector."""
        return np.searchsorted(self.codes.all(), codes)


def meaning_agrees(source: Segment, stored: MeaningVectors) -> bool:
    """Whether the stored vectors cover exactly the values of columns with vectors."""
    if not np.array_equal(codes_with_meaning(source), stored.codes.all()):
        return False
    order = np.sort(stored.compact.order)
    return np.array_equal(order, np.arange(len(stored)))


class StoredVectorEncoder:
    """A `TextEncoder` that returns the vectors stored in some segments."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        meta = segments[0].meaning.file.meta
        self.name: str = meta["name"]
        self.version: str = meta["version"]
        self.settings: dict[str, Any] = meta["settings"]
        self.identity: str = meta["identity"]
        self.dimension: int = meta["dimension"]
        self._segments = segments

    def encode(self, texts: pa.LargeStringArray) -> Array:
        """The vector of each text; one of the segments must have it."""
        out = np.empty((len(texts), self.dimension), dtype=np.float32)
        left = np.arange(len(texts))
        for segment in self._segments:
            rows, vectors = _find_vectors(segment, texts.take(left))
            out[left[rows]] = vectors
            left = np.delete(left, rows)
        if len(left):
            raise BuildFailed(f"no vector is stored for {texts[int(left[0])].as_py()!r}")
        return out


def _find_vectors(segment: Segment, texts: pa.LargeStringArray) -> tuple[Array, Array]:
    """(positions of the texts that a segment has vectors of, these vectors)."""
    meaning = segment.meaning
    assert meaning.vectors is not None
    codes = segment.dictionary.find(texts)
    ids = meaning.ids_of(codes)
    rows = np.flatnonzero((codes != NOT_FOUND) & (ids < len(meaning)))
    rows = rows[meaning.codes.take(ids[rows]) == codes[rows]]
    return rows, StoredVectors(meaning.vectors, meaning.dimension).take(ids[rows])


def all_store_vectors(records: Sequence[SegmentRecord]) -> bool:
    """Whether all these segments store full vectors of the same encoder."""
    made = {r.components[MeaningComponent.name].made_with if MeaningComponent.name in r.components
            else "" for r in records}  # fmt: skip
    return len(made) == 1 and made.pop().endswith(STORED_SUFFIX)
