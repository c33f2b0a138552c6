"""What others would do, single-threaded, on the same vectors: range searches, then a count.

Every peer answers the same question exactly: for each column, how many of the query's vectors have
a match within the radius. All share the code that counts (`vectors_counting`), so that only the
search for matches differs. Where a library computes in float32, pairs near the border are computed
again in float64, so that all answers are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from vectors_counting import Counting, limit_of, near_enough
from vectors_data import Array, Lake

BAND = 2e-5  # squared distances in float32 are sure outside of it


@dataclass(frozen=True, slots=True)
class Answer:
    """The columns that qualify, ascending, their hits, and full distances computed."""

    columns: Array
    hits: Array
    distances: int | None


class Contender(Protocol):
    """One way of answering; made from a lake, which is not timed with its answers."""

    def search(self, queries: Array, radius: float, least: int) -> Answer:
        """The columns in which at least so many of the vectors have a match."""


class MatrixProduct:
    """Blocked products with all distinct vectors in float32: what an array library gives."""

    BLOCK = 4096

    def __init__(self, lake: Lake) -> None:
        self.vectors, self.counting = lake.vectors, Counting.of(lake)

    def search(self, queries: Array, radius: float, least: int) -> Answer:
        least_cosine = np.float32(1 - (limit_of(radius) + BAND) / 2)
        places, ids, cosines = [], [], []
        for begin in range(0, len(self.vectors), self.BLOCK):
            product = self.vectors[begin : begin + self.BLOCK] @ queries.T
            flat = np.flatnonzero(product.ravel() >= least_cosine)
            places.append(flat % len(queries))
            ids.append(begin + flat // len(queries))
            cosines.append(product.ravel()[flat])
        place, number = np.concatenate(places), np.concatenate(ids)
        squared = 2 - 2 * np.concatenate(cosines).astype(np.float64)
        within = near_enough(queries, self.vectors, place, number, squared, radius, BAND)
        place, number = place[within], number[within]
        order = np.argsort(place, kind="stable")
        found = self.counting.reaching(place[order], number[order], least)
        return Answer(*found, len(queries) * len(self.vectors))


class FaissFlat:
    """FAISS's flat index and range search, over distinct vectors or (`repeated`) over all.

    As installed, this version of FAISS computes few distances at a time without BLAS, which for our
    short queries is slower; with `blas` it is told to use it from the first vector on.
    """

    def __init__(self, lake: Lake, repeated: bool = False, blas: bool = False) -> None:
        import faiss

        faiss.omp_set_num_threads(1)
        self.settings, self.usual = faiss.cvar, faiss.cvar.distance_compute_blas_threshold
        self.from_on = 1 if blas else self.usual
        self.index = faiss.IndexFlatL2(lake.vectors.shape[1])
        self.vectors = lake.vectors
        self.rows = lake.ids if repeated else np.arange(lake.distinct)
        for begin in range(0, len(self.rows), 1 << 18):
            self.index.add(lake.vectors[self.rows[begin : begin + (1 << 18)]])
        self.counting = Counting.of_rows(lake) if repeated else Counting.of(lake)

    def search(self, queries: Array, radius: float, least: int) -> Answer:
        self.settings.distance_compute_blas_threshold = self.from_on
        start, squared, rows = self.index.range_search(queries, limit_of(radius) + BAND)
        self.settings.distance_compute_blas_threshold = self.usual
        place = np.repeat(np.arange(len(queries)), np.diff(start).astype(np.int64))
        within = near_enough(queries, self.vectors, place, self.rows[rows], squared, radius, BAND)
        found = self.counting.reaching(place[within], rows[within], least)
        return Answer(*found, len(queries) * self.index.ntotal)


class Ball:
    """scikit-learn's BallTree over distinct vectors."""

    def __init__(self, lake: Lake) -> None:
        from sklearn.neighbors import BallTree

        self.tree = BallTree(lake.vectors, leaf_size=64)
        self.counting = Counting.of(lake)

    def search(self, queries: Array, radius: float, least: int) -> Answer:
        self.tree.reset_n_calls()
        found = self.tree.query_radius(queries, np.sqrt(limit_of(radius)))
        place = np.repeat(np.arange(len(queries)), [len(own) for own in found])
        ids = np.concatenate(found).astype(np.int64)
        return Answer(*self.counting.reaching(place, ids, least), int(self.tree.get_n_calls()))


class RotatedTree:
    """scipy's cKDTree over distinct vectors turned to their principal components."""

    def __init__(self, lake: Lake) -> None:
        from scipy.spatial import cKDTree

        some = lake.vectors[:: max(1, lake.distinct // 50_000)].astype(np.float64)
        _, turn = np.linalg.eigh(np.cov(some.T))
        self.turn = turn[:, ::-1]
        self.tree = cKDTree(lake.vectors.astype(np.float64) @ self.turn, leafsize=64)
        self.counting = Counting.of(lake)

    def search(self, queries: Array, radius: float, least: int) -> Answer:
        turned = queries.astype(np.float64) @ self.turn
        reach = float(np.sqrt(limit_of(radius)))
        found = self.tree.query_ball_point(turned, reach, workers=1, return_sorted=False)
        place = np.repeat(np.arange(len(queries)), [len(own) for own in found])
        ids = np.fromiter((i for own in found for i in own), np.int64, len(place))
        return Answer(*self.counting.reaching(place, ids, least), None)


class PivotTable:
    """EPT: every vector keeps its distances to the pivots that say most about it.

    There are `GROUPS` groups of random pivots; of each group a vector keeps the pivot whose
    distance to it is farthest from that pivot's mean distance (extreme pivots). A query computes
    its distances to all pivots and drops every vector that one of its own pivots proves to be
    farther than the radius; the others are verified.
    """

    GROUPS = 8
    IN_GROUP = 16

    def __init__(self, lake: Lake) -> None:
        chance = np.random.default_rng(3)
        count = min(lake.distinct, self.GROUPS * self.IN_GROUP)
        chosen = chance.choice(lake.distinct, count, replace=False)
        groups = np.array_split(np.arange(count), min(self.GROUPS, count))
        self.vectors, self.pivots = lake.vectors, lake.vectors[chosen].astype(np.float64)
        self.which = np.empty((lake.distinct, len(groups)), np.uint8)
        self.far = np.empty((lake.distinct, len(groups)), np.float32)
        mean = distances(self.vectors[: 1 << 14].astype(np.float64), self.pivots).mean(axis=0)
        for begin in range(0, lake.distinct, 1 << 16):
            piece = slice(begin, begin + (1 << 16))
            far = distances(self.vectors[piece].astype(np.float64), self.pivots)
            for number, group in enumerate(groups):
                best = group[np.argmax(np.abs(far[:, group] - mean[group]), axis=1)]
                self.which[piece, number] = best
                self.far[piece, number] = far[np.arange(len(best)), best]
        self.counting = Counting.of(lake)

    def search(self, queries: Array, radius: float, least: int) -> Answer:
        from vectors_counting import through_pivots

        far = distances(queries.astype(np.float64), self.pivots).astype(np.float32)
        place, ids, verified = through_pivots(
            queries, far, self.vectors, self.which, self.far, limit_of(radius)
        )
        computed = int(verified) + far.size
        return Answer(*self.counting.reaching(place, ids, least), computed)


def distances(one: Array, two: Array) -> Array:
    """All distances between the rows of two arrays of float64."""
    squared = np.sum(one**2, 1)[:, None] + np.sum(two**2, 1) - 2 * one @ two.T
    return np.sqrt(np.maximum(squared, 0.0))


def brute_force(lake: Lake, queries: Array, radius: float, least: int) -> Answer:
    """Every distance in float64, column by column: the truth at toy size."""
    limit = limit_of(radius)
    hits = np.zeros(lake.columns, np.int64)
    for column in range(lake.columns):
        own = lake.vectors[lake.ids[lake.start[column] : lake.start[column + 1]]]
        apart: Any = queries[:, None, :].astype(np.float64) - own[None, :, :].astype(np.float64)
        hits[column] = (np.sum(apart**2, axis=2) <= limit).any(axis=1).sum()
    columns = np.flatnonzero(hits >= least)
    return Answer(columns, hits[columns], None)
