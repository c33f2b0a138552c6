"""Places near mine."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from lakejoin.errors import InputError
from lakejoin.search.nearby.parts import Fineness, MyParts, parts_of
from lakejoin.search.nearby.wanted import Found, Wanted
from lakejoin.search.nearby.within import Within, haversine_limit, metres_of
from lakejoin.search.vectors.hits import VectorCounters

if TYPE_CHECKING:
    from lakejoin.store.points import PointSets

Array = np.ndarray[Any, Any]

_MEASURED = 1 << 21  # distances computed at once for pairs
_DEGREE = np.pi / 180
# Of grids of bits, and of grids of counts, which are summed up for each set.
_BITS, _COUNTS = Fineness(8.0, 64), Fineness(6.0, 8)


class PlacesNearby:
    """My places, cut into parts with grids; `vectors`: lists of two numbers count as places."""

    both = False

    def __init__(self, points: Array, within: Within, vectors: bool = False) -> None:
        if points.shape[1] != 2:
            raise InputError("places come as a latitude and a longitude")
        self.counters = VectorCounters()
        self._vectors = vectors
        self._limit = haversine_limit(within)
        real = np.isfinite(points).all(axis=1) & (np.abs(points[:, 0]) <= 90)
        self._which = np.flatnonzero(real)
        self._places = points[self._which]

    def fits(self, sets: PointSets) -> Array:
        """The sets of places; with vectors, those of two numbers that can be places."""
        fit = sets.kinds == 1
        if self._vectors:
            box = np.abs(sets.boxes).reshape(-1, 2, 2).max(axis=2)
            fit |= (sets.dimensions == 2) & (box[:, 0] <= 90) & (box[:, 1] <= 180)
        return np.asarray(fit)

    @cached_property
    def _with_bits(self) -> MyParts:
        return parts_of(self._places, self._limit, _BITS)

    @cached_property
    def _with_counts(self) -> MyParts:
        return parts_of(self._places, self._limit, _COUNTS)

    def meet(self, sets: PointSets, wanted: Wanted) -> Found:
        """Counts hits with bitmaps of 64 sets at a time, or pairs with counts by cell."""
        from lakejoin.search.nearby.places import pair_places
        from lakejoin.search.nearby.pool import pool_of
        from lakejoin.search.nearby.sliced import hit_places

        mine = len(self._places)
        most = mine * (sets.sizes[wanted.sets] if wanted.all_ else np.int64(1))
        which = wanted.sets[np.broadcast_to(most >= wanted.least, len(wanted.sets))]
        hits, pairs = np.zeros((2, len(which)), dtype=np.int64)
        work = np.zeros(2, dtype=np.int64)
        if len(which) and mine:
            theirs = pool_of(sets, which), sets.blocks.all().reshape(-1, 4), sets.block_start
            bar = wanted.least, wanted.best
            if wanted.all_:
                pair_places(*theirs, which, self._with_counts, self._limit, *bar, hits, pairs, work)
            else:
                hit_places(*theirs, which, self._with_bits, self._limit, *bar, hits, work)
        name = "cells" if wanted.all_ else "bitmaps"
        self.counters.methods[name] = self.counters.methods.get(name, 0) + len(which)
        self.counters.bounded += int(work[0])
        self.counters.verified += int(work[1])
        self.counters.near += int(pairs.sum())
        return Found(which, hits, pairs)

    def pairs(self, sets: PointSets, s: int) -> tuple[Array, Array, Array]:
        """All pairs, measured within the span of latitudes that is near enough."""
        from lakejoin.search.nearby.of_numbers import spread

        theirs = sets.points(s)
        order = np.argsort(theirs[:, 0], kind="stable")
        ordered = theirs[order]
        # A little more than the limit: the very distance decides.
        angle = np.degrees(2 * np.arcsin(np.sqrt(min(self._limit, 1.0)))) * (1 + 1e-9) + 1e-9
        first = np.searchsorted(ordered[:, 0], self._places[:, 0] - angle, side="left")
        last = np.searchsorted(ordered[:, 0], self._places[:, 0] + angle, side="right")
        found = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        for begin, end in _batches(last - first):
            mine, place = spread(first[begin:end], last[begin:end])
            mine += begin
            near = haversines(self._places[mine], ordered[place])
            kept = near <= self._limit
            found.append((mine[kept], place[kept], metres_of(near[kept])))
        mine, place, distance = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return self._which[mine], order[place], distance


def haversines(one: Array, other: Array) -> Array:
    """sin(angle / 2) ** 2 of places in degrees, row by row."""
    tall = np.sin((one[:, 0] - other[:, 0]) * (_DEGREE / 2))
    wide = np.sin((one[:, 1] - other[:, 1]) * (_DEGREE / 2))
    cosines = np.cos(one[:, 0] * _DEGREE) * np.cos(other[:, 0] * _DEGREE)
    return np.asarray(tall * tall + cosines * wide * wide)


def _batches(counts: Array) -> list[tuple[int, int]]:
    """Cuts a list into stretches of about `_MEASURED` in sum."""
    total = np.cumsum(counts)
    edges = np.searchsorted(total, np.arange(_MEASURED, total[-1] if len(total) else 0, _MEASURED))
    cuts = np.unique(np.concatenate(([0], edges, [len(counts)]))).tolist()
    return list(pairwise(cuts))
