"""Brute force for the nearest rows: every pair measured, the first of the nearest taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lakejoin.model import Array

Found = list[tuple[int, int]]


def nearest(
    left: Sequence[Any],
    right: Sequence[Any],
    distance: Callable[[Any, Any], float],
    within: Callable[[Any], float],
) -> Found:
    """(left row, right row) of each left value and the first of the right ones nearest to it.

    None is a row without a value; `within(value)` is how far away the nearest may be.
    """
    found = []
    for i, mine in enumerate(left):
        apart = [
            (distance(mine, theirs), j)
            for j, theirs in enumerate(right)
            if mine is not None and theirs is not None
        ]
        if apart and min(apart)[0] <= within(mine):
            found.append((i, min(apart)[1]))
    return found


def within_reach(
    left: Sequence[Any],
    right: Sequence[Any],
    distance: Callable[[Any, Any], float],
    within: Callable[[Any], float],
) -> Found:
    """All (left row, right row) that are at most `within(value)` apart."""
    return [
        (i, j)
        for i, mine in enumerate(left)
        for j, theirs in enumerate(right)
        if mine is not None and theirs is not None and distance(mine, theirs) <= within(mine)
    ]


def chord(mine: tuple[float, float], theirs: tuple[float, float]) -> float:
    """The straight line between two places (latitude, longitude) on the unit sphere."""

    def point(place: tuple[float, float]) -> Array:
        latitude, longitude = np.radians(place)
        across = np.cos(latitude)
        return np.array([across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)])

    return math.dist(point(mine), point(theirs))
