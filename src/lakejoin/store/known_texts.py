"""Reuses the vectors stored in segments, so that compaction needs no encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import BuildFailed
from lakejoin.store.dictionary import NOT_FOUND
from lakejoin.store.meaning_vectors import STORED_SUFFIX, StoredVectors, MeaningComponent

if TYPE_CHECKING:
    import pyarrow as pa

    from lakejoin.store.segment import Segment, SegmentRecord

Array = np.ndarray[Any, Any]


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
