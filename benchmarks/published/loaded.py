"""The vectors of a space and the columns they are in, all in memory, for the published methods.

Both papers keep the full vectors in memory. Theirs are the multisets of all columns; here each
distinct vector comes once, with the list of its columns. A space whose source has a vector once for
each of its columns is searched as in the papers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakejoin.model import Array
from lakejoin.store.compact_vectors import can_match

if TYPE_CHECKING:
    from lakejoin.engines.meaning.engine import VectorSpace
    from lakejoin.store.compact_vectors import VectorSource

_BATCH = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """All vectors by number (`vectors`), the numbers of those that can match anything (`ids`), and
    for each of these where its columns begin in `entries` and how many there are. Zero vectors are
    among them if `zeros`."""

    vectors: Array
    ids: Array
    begin: Array
    length: Array
    entries: Array
    columns: int
    zeros: bool

    def sample(self, most: int) -> Array:
        """At most so many of the vectors that can match."""
        ids = self.ids
        if len(ids) > most:
            ids = np.sort(np.random.default_rng(0).choice(ids, most, replace=False))
        return np.ascontiguousarray(self.vectors[ids])


def load(space: VectorSpace) -> Loaded:
    """Loads a space."""
    compact = space.compact
    compact.check(np.arange(len(compact.blocks)))
    ids = np.sort(compact.order[np.isfinite(compact.rest[: compact.count])]).astype(np.int64)
    begin, length = space.lists.spans(ids)
    return Loaded(
        _vectors(space.source),
        ids,
        np.asarray(begin, dtype=np.int64),
        np.asarray(length, dtype=np.int64),
        space.lists.entries(begin, length),
        space.lists.columns,
        compact.zeros,
    )


def _vectors(source: VectorSource) -> Array:
    whole = source.whole()
    if whole is not None:
        return whole
    out = np.empty((source.count, source.dimension), dtype=np.float32)
    for begin in range(0, source.count, _BATCH):
        end = min(begin + _BATCH, source.count)
        out[begin:end] = source.take(np.arange(begin, end))
    return out


def live(queries: Array, zeros: bool) -> Array:
    """The queries that can match anything."""
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    return queries[can_match(queries, zeros)]
