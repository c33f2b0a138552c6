"""Small collections of vectors for tests: random, clustered, repeated, degenerate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from lakejoin.engines.meaning.engine import VectorSpace
from lakejoin.model import Array
from lakejoin.store.compact_vectors import CompactVectors, MatrixSource
from vectors_lists import MatrixLists

KINDS = ("random", "clustered", "repeated", "equal", "zeros", "line", "tiny", "huge")


@dataclass(frozen=True)
class Lake:
    """Some segments: vectors and, by column, the numbers of those it holds; and a query."""

    vectors: tuple[Array, ...]
    columns: tuple[tuple[Array, ...], ...]
    queries: Array
    zeros: bool

    def spaces(self) -> list[VectorSpace]:
        """The segments, ready to be searched."""
        return [
            space_of(vectors, columns, self.zeros)
            for vectors, columns in zip(self.vectors, self.columns, strict=True)
        ]


def space_of(vectors: Array, columns: tuple[Array, ...], zeros: bool = False) -> VectorSpace:
    """A space in memory; columns hold the vectors with these numbers."""
    source = MatrixSource(vectors)
    ids = np.concatenate([np.zeros(0, np.int64), *columns])
    of = np.repeat(np.arange(len(columns), dtype=np.uint32), [len(one) for one in columns])
    order = np.argsort(ids, kind="stable")
    start = np.searchsorted(ids[order], np.arange(len(vectors) + 1))
    lists = MatrixLists(start.astype(np.int64), of[order], len(columns))
    return VectorSpace(CompactVectors.build(source, zeros=zeros), source, lists)


def vectors_of(kind: str, count: int, dimension: int, rng: np.random.Generator) -> Array:
    """So many vectors of a kind."""
    found = rng.normal(size=(count, dimension))
    if kind == "clustered":
        centres = rng.normal(size=(3, dimension))
        found = centres[rng.integers(0, 3, count)] + 0.05 * found
    elif kind == "repeated" and count:
        found = found[rng.integers(0, max(count // 4, 1), count)]
    elif kind == "equal":
        found[:] = found[:1]
    elif kind == "zeros":
        found *= rng.integers(0, 2, (count, 1))
    elif kind == "line":
        found = np.outer(rng.normal(size=count), np.ones(dimension))
    scale = {"tiny": 1e-6, "huge": 1e6}.get(kind, 1.0)
    return (scale * found).astype(np.float32)


def unit(vectors: Array) -> Array:
    """The same of length 1; zero vectors stay so."""
    length = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


@st.composite
def lakes(draw: Any, units: bool = False, segments: int = 3) -> Lake:
    """Lakes of one to some segments, and queries of which some are near to what they hold."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(KINDS))
    dimension = draw(st.sampled_from([1, 2, 3, 17, 70]))
    vectors, columns = [], []
    for _ in range(draw(st.integers(1, segments))):
        count = draw(st.sampled_from([0, 1, 2, 63, 64, 65, 300]))
        found = vectors_of(kind, count, dimension, rng)
        vectors.append(unit(found) if units else found)
        sizes = rng.integers(0, min(count, 40) + 1, draw(st.integers(0, 12)))
        columns.append(tuple(np.sort(rng.choice(count, size, replace=False)) for size in sizes))
    pool = np.concatenate(vectors)
    queries = vectors_of(kind, draw(st.integers(1, 30)), dimension, rng)
    if len(pool):
        near = pool[rng.integers(0, len(pool), len(queries))]
        step = np.abs(pool).max() * rng.choice([0.0, 1e-3, 0.1], (len(queries), 1))
        moved = near + step * rng.normal(size=queries.shape)
        queries = np.where(rng.random((len(queries), 1)) < 0.7, moved, queries)
    queries = queries.astype(np.float32)
    return Lake(tuple(vectors), tuple(columns), unit(queries) if units else queries,
                draw(st.booleans()))  # fmt: skip


@st.composite
def radii(draw: Any, lake: Lake, metric: str = "l2") -> float:
    """A radius: often one that is exactly a distance that occurs."""
    from oracle.vectors import all_distances

    pool = np.concatenate(lake.vectors)
    far = np.unique(all_distances(lake.queries, pool, metric))
    if not len(far) or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from([0.0, 0.1, 1.0, 1e9]))
    less = draw(st.sampled_from([0.0, 0.0, 1e-8, 1e-6, 1e-4, 1e-3]))
    return float(far[draw(st.integers(0, len(far) - 1))] * (1 - less))
