"""The contestants of `search_containment`: ours and datasketch, over the same sets of hashes.

Both begin with ready signatures and answer with numbers of sets. Times are CPU seconds.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from containment_data import Sets, sketch_sets
from lakejoin.engines.containment.engine import LshEnsemble, SketchedQuery
from lakejoin.engines.hits import ExcludedColumns
from lakejoin.locations import Location
from lakejoin.model import Array
from lakejoin.store.arrayfile import ArrayFile, ArrayFileWriter
from lakejoin.store.sketches import SCHEMES, Sketches, SketchOptions, write_sketches

_CHUNK = 4096  # values that datasketch's arithmetic takes at once, so that it stays in cache


class Engine(Protocol):
    """Answers which sets contain at least a share of a set."""

    index_seconds: float

    def find(self, query: int) -> Array:
        """The numbers of the sets found, itself among them or not."""


def sketched(sets: Sets, scheme: str, places: int) -> tuple[Array, float]:
    """Our signatures of all sets, and the CPU seconds they took."""
    out = np.empty((len(sets), places), dtype=np.uint32)
    begin = time.process_time()
    sketch_sets(sets.start, sets.values, SCHEMES[scheme], out)
    return out, time.process_time() - begin


class Indexed:
    """Our signatures, indexed in a file as a segment of the index has it."""

    def __init__(self, sets: Sets, signatures: Array, options: SketchOptions) -> None:
        self._folder = tempfile.TemporaryDirectory()
        place = Location.of(Path(self._folder.name)) / "sketches.lj"
        begin = time.process_time()
        with ArrayFileWriter(place) as out:
            write_sketches(out, signatures, sets.sizes, np.arange(len(sets)), options)
        self.seconds = time.process_time() - begin
        self.bytes = out.record.bytes
        self.sketches = Sketches(ArrayFile(place, out.record))
        self.segments = [SimpleNamespace(sketches=self.sketches)]
        self._sets = sets
        self._made: dict[int, SketchedQuery] = {}

    def query(self, number: int) -> SketchedQuery:
        """A query with its signature ready, as datasketch has it."""
        made = self._made.get(number)
        if made is None:
            made = self._made[number] = SketchedQuery(self._sets.of(number))
            made.signature(self.sketches.scheme, self.sketches.permutations)
        return made


@dataclass(slots=True)
class Ours:
    """Our engine over indexed signatures."""

    indexed: Indexed
    engine: LshEnsemble

    @property
    def index_seconds(self) -> float:
        """What indexing took."""
        return self.indexed.seconds

    def at(self, threshold: float) -> Ours:
        """The same with another threshold: one index serves all."""
        return Ours(self.indexed, replace(self.engine, min=threshold))

    def find(self, query: int) -> Array:
        """The numbers of the sets found."""
        hits = self.engine.search_sketched(
            self.indexed.query(query),
            self.indexed.segments,  # type: ignore[arg-type]
            ExcludedColumns([np.zeros(0, dtype=np.int64)]),
        )
        return hits.column


def datasketch_signatures(sets: Sets, places: int) -> list[Any]:
    """What `MinHash.update_batch` makes of the upper halves of the hashes, without its sha1."""
    from datasketch import MinHash
    from datasketch.minhash import _fmix

    permutations = MinHash(places).permutations
    a, b = permutations
    made = []
    for number in range(len(sets)):
        hashed = _fmix((sets.of(number) >> np.uint64(32)).astype(np.uint32).reshape(-1, 1), 32)
        best = np.full(places, 0xFFFFFFFF, dtype=np.uint32)
        for begin in range(0, len(hashed), _CHUNK):
            best = np.minimum(best, (hashed[begin : begin + _CHUNK] * a + b).min(axis=0))
        made.append(MinHash(hashvalues=best, permutations=permutations, scheme="affine32"))
    return made


class Datasketch:
    """datasketch's MinHashLSHEnsemble; an index of it is for one threshold."""

    def __init__(
        self, sets: Sets, signatures: list[Any], threshold: float, partitions: int
    ) -> None:
        from datasketch import MinHashLSHEnsemble

        self._signatures, self._sizes = signatures, sets.sizes
        places = len(signatures[0])
        self._index = MinHashLSHEnsemble(threshold, places, partitions)
        numbers = range(len(signatures))
        entries = list(zip(numbers, signatures, sets.sizes.tolist(), strict=True))
        begin = time.process_time()
        self._index.index(entries)
        self.index_seconds = time.process_time() - begin

    def find(self, query: int) -> Array:
        """The numbers of the sets found."""
        found = self._index.query(self._signatures[query], int(self._sizes[query]))
        return np.fromiter(found, dtype=np.int64)
