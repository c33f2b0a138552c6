"""Groups: the vectors of every column parted by their nearest centre, as flat arrays.

The centres are the same for all columns, so that groups of different columns can be compared: what
is too far from a group is too far from those around the same centre with smaller radii.
A column has those of the centres to which one of its vectors is nearest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lakejoin.errors import InputError
from lakejoin.model import Array
from published.loaded import Loaded
from published.metric import distances, paired_distances

_SAMPLE = 16_384
_BATCH = 4_096
_SEED = 0x9E3779B9  # of its own: made data must not come from the same numbers
_L1 = 1


class Groups(NamedTuple):
    """The groups of all columns, one column's after the other, by centre.

    By column, its groups begin at `first`; by group, its members at `start`. A group has a
    `column`, a `centre` and a `radius`, the largest distance of a member from the centre. Members
    are sorted by that distance: `away`, and `member`, their rows in `vectors`.
    """

    first: Array
    column: Array
    centre: Array
    radius: Array
    start: Array
    member: Array
    away: Array


class Lists(NamedTuple):
    """The inverted index: by centre, the groups around it, those with a large radius first."""

    start: Array
    group: Array


def choose_centres(loaded: Loaded, count: int, drawn: str) -> Array:
    """The centres of all groups.

    From the "space", evenly over the box around the vectors (over the sphere where all have length
    1), as in the paper; from the "data", some of the vectors themselves.
    """
    if count < 1:
        raise InputError(f"there must be at least one centre, not {count}")
    sample = loaded.sample(_SAMPLE)
    random = np.random.default_rng(_SEED)
    if drawn == "data":
        rows = random.choice(len(sample), min(count, len(sample)), replace=False)
        return np.unique(sample[rows], axis=0)
    if drawn != "space":
        raise InputError(f"centres are drawn from the 'space' or from the 'data', not {drawn!r}")
    if not len(sample):
        return sample
    length = np.linalg.norm(sample.astype(np.float64), axis=1)
    if np.abs(length - 1).max() < 1e-3:
        found = random.normal(size=(count, sample.shape[1]))
        found /= np.linalg.norm(found, axis=1, keepdims=True)
    else:
        low, high = sample.min(axis=0).astype(np.float64), sample.max(axis=0)
        found = random.uniform(low, np.maximum(high, low), size=(count, sample.shape[1]))
    return found.astype(np.float32)


def nearest(vectors: Array, centres: Array, metric: int) -> Array:
    """The nearest centre of each vector, up to rounding."""
    if metric == _L1:
        out = np.empty((len(vectors), len(centres)), dtype=np.float32)
        distances(metric, vectors, centres, out)
        return out.argmin(axis=1)
    return (0.5 * np.einsum("ij,ij->i", centres, centres) - vectors @ centres.T).argmin(axis=1)


def build_groups(loaded: Loaded, centres: Array, metric: int) -> Groups:
    """Parts the vectors of all columns."""
    centre = np.empty(len(loaded.ids), dtype=np.int64)
    away = np.empty(len(loaded.ids), dtype=np.float32)
    for begin in range(0, len(loaded.ids), _BATCH):
        part = slice(begin, min(begin + _BATCH, len(loaded.ids)))
        vectors = loaded.vectors[loaded.ids[part]]
        centre[part] = nearest(vectors, centres, metric)
        paired_distances(metric, vectors, centres, centre[part], away[part])
    place = np.repeat(np.arange(len(loaded.ids)), loaded.length)
    before = np.cumsum(loaded.length) - loaded.length
    entry = (loaded.begin - before)[place] + np.arange(len(place))
    column = loaded.entries[entry].astype(np.int64)
    key = column * len(centres) + centre[place]
    order = np.lexsort((away[place], key))
    key, place = key[order], place[order]
    start = np.flatnonzero(np.append(len(key) > 0, key[1:] != key[:-1]))
    of, at = np.divmod(key[start], max(len(centres), 1))
    start = np.append(start, len(key))
    return Groups(
        np.searchsorted(of, np.arange(loaded.columns + 1)),
        of,
        at,
        away[place][start[1:] - 1],
        start,
        loaded.ids[place].astype(np.uint32),
        away[place],
    )


def build_lists(groups: Groups, centres: int, chosen: Array | None = None) -> Lists:
    """The inverted index of all groups, or of some."""
    chosen = np.arange(len(groups.centre)) if chosen is None else chosen
    order = chosen[np.lexsort((-groups.radius[chosen], groups.centre[chosen]))]
    return Lists(np.searchsorted(groups.centre[order], np.arange(centres + 1)), order)


def rarest(groups: Groups, centres: int) -> Array:
    """One group of each column, around the centre that the fewest columns have."""
    common = np.bincount(groups.centre, minlength=centres)[groups.centre]
    order = np.lexsort((common, groups.column))
    return order[np.unique(groups.column[order], return_index=True)[1]]
