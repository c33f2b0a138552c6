"""Pivots: the few vectors by their distances from which all others are mapped.

Good pivots are outliers, but not all outliers are good pivots. Both ways of choosing them look at a
sample only:

- PCA (Mao, Miranker and Miranker, 2012): the candidates are the outliers along the principal
  directions. The sample is mapped by its distances from them, and of each principal direction of
  what results, the candidate that shares the most in it becomes a pivot.
- HF, the hull of foci (Traina and others, 2007): two vectors that are far apart, then ever another
  whose distances from those chosen are nearest to that.

Neither needs more of a metric than its distances, and fewer pivots than were asked for come out
where the vectors do not have as many ends.
"""

from __future__ import annotations

import numpy as np

from lakejoin.errors import InputError
from lakejoin.model import Array
from published.metric import distances

MOST = 16  # so that a cell's place has a few bits a pivot
_LOW = 100  # dimensions up to which 3 pivots do (table VI of the paper: 50 and 300 dimensions)


def usual_pivots(dimension: int) -> int:
    """How many pivots the paper found best: 3 in 50 dimensions, 5 in 300.

    >>> usual_pivots(50), usual_pivots(300)
    (3, 5)
    """
    return 3 if dimension <= _LOW else 5


def choose_pivots(sample: Array, count: int, metric: int, by: str = "pca") -> Array:
    """At most `count` rows of the sample, as pivots.

    >>> choose_pivots(np.array([[0.0], [1.0], [5.0]], dtype=np.float32), 2, 0, "hf").tolist()
    [[5.0], [0.0]]
    """
    if not 1 <= count <= MOST:
        raise InputError(f"there can be 1 to {MOST} pivots, not {count}")
    if by not in ("pca", "hf"):
        raise InputError(f"pivots are chosen by 'pca' or by 'hf', not by {by!r}")
    if not len(sample):
        return sample
    chosen = _by_pca(sample, count, metric) if by == "pca" else _by_hf(sample, count, metric)
    return np.ascontiguousarray(sample[chosen])


def mapped(vectors: Array, pivots: Array, metric: int) -> Array:
    """The distances of vectors from the pivots (pivot mapping), float32."""
    out = np.empty((len(vectors), len(pivots)), dtype=np.float32)
    distances(metric, vectors, pivots, out)
    return out


def _directions(points: Array) -> Array:
    """The principal directions of points, those of the largest variance first, one a column."""
    centred = points - points.mean(axis=0)
    _, found = np.linalg.eigh(centred.T @ centred)
    return found[:, ::-1]


def _by_pca(sample: Array, count: int, metric: int) -> Array:
    points = sample.astype(np.float64)
    along = (points - points.mean(axis=0)) @ _directions(points)[:, : 2 * count]
    ends = np.stack([along.argmax(axis=0), along.argmin(axis=0)], axis=1).reshape(-1)
    candidates = _different(sample, ends)
    shares = np.abs(_directions(mapped(sample, sample[candidates], metric).astype(np.float64)))
    chosen: list[int] = []
    for direction in shares.T[:count]:
        left = [c for c in range(len(candidates)) if c not in chosen]
        chosen.append(max(left, key=lambda c: (direction[c], -c)))
    return candidates[chosen]


def _by_hf(sample: Array, count: int, metric: int) -> Array:
    def away(one: int) -> Array:
        out = np.empty((len(sample), 1))
        distances(metric, sample, sample[one : one + 1], out)
        return out[:, 0]

    chosen = [int(away(0).argmax())]
    apart = away(chosen[0])
    edge = float(apart.max())
    # How far each vector's distances from the foci are from being all as long as the edge.
    error, near = np.abs(edge - apart), apart == 0
    while len(chosen) < count and not near.all():
        chosen.append(int(np.where(near, np.inf, error).argmin()))
        apart = away(chosen[-1])
        error += np.abs(edge - apart)
        near |= apart == 0
    return np.array(chosen)


def _different(sample: Array, ids: Array) -> Array:
    """Of vectors that are the same, the first alone."""
    first = {sample[i].tobytes(): int(i) for i in ids[::-1]}
    return np.array([i for i in dict.fromkeys(ids.tolist()) if first[sample[i].tobytes()] == i])
