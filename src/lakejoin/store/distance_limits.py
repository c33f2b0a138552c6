"""Distance limits: a length, a share or a plain number, and which distances are within them.

Rounding must not decide: a distance equal to the limit is within it, however it was computed. So
every limit is widened by a billionth, and by the error of parsing and subtracting two floats: a few
units in the last place for numbers, a micrometre for coordinates. The tests' brute force uses the
same limits.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from lakejoin.errors import InputError
from lakejoin.model import Array

EARTH_RADIUS = 6_371_008.8  # metres: the mean radius
METRES, SHARE, ABSOLUTE = UNITS = ("m", "share", "absolute")
_LENGTHS = {
    "m": 1.0, "km": 1000.0, "mi": 1609.344, "ft": 0.3048, "yd": 0.9144, "nmi": 1852.0,
}  # fmt: skip
_TEXT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%|[a-zA-Z]*)\s*")
_FORMS = "write 500m, 2km or 3mi for coordinates, 1% or 0.5 for numbers, 0.2 for vectors"
WIDER = 1.0 + 1e-9  # factor applied to every limit
_MICROMETRE = 1e-6
_LAST_PLACES = 2.0**-51


@dataclass(frozen=True, slots=True)
class DistanceLimit:
    """A limit of `amount` metres, of a share of a number, or in its own unit ("absolute")."""

    amount: float
    unit: str = ABSOLUTE

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise InputError(f"unknown unit {self.unit!r}; use one of {', '.join(UNITS)}")
        if not (math.isfinite(self.amount) and self.amount >= 0):
            raise InputError(f"a distance must be at least 0, not {self.amount}")

    def __str__(self) -> str:
        if self.unit == METRES:
            far = self.amount >= 1000
            return f"{self.amount / 1000:g}km" if far else f"{self.amount:g}m"
        return f"{100 * self.amount:g}%" if self.unit == SHARE else f"{self.amount:g}"


def parse_distance(limit: str | float | DistanceLimit) -> DistanceLimit:
    """Parse a distance limit as a person writes it.

    >>> parse_distance("2km"), parse_distance("1%"), parse_distance(0.5)
    (DistanceLimit(amount=2000.0, unit='m'), DistanceLimit(amount=0.01, unit='share'), \
DistanceLimit(amount=0.5, unit='absolute'))
    >>> parse_distance("2 parsecs")
    Traceback (most recent call last):
        ...
    lakejoin.errors.InputError: '2 parsecs' is not a distance: write 500m, 2km or 3mi for \
coordinates, 1% or 0.5 for numbers, 0.2 for vectors
    """
    if isinstance(limit, DistanceLimit):
        return limit
    match = _TEXT.fullmatch(str(limit)) if not isinstance(limit, bool) else None
    if match is None:
        raise InputError(f"{limit!r} is not a distance: {_FORMS}")
    amount, unit = float(match[1]), match[2].lower()
    if not unit:
        return DistanceLimit(amount)
    if unit == "%":
        return DistanceLimit(amount / 100, SHARE)
    if unit not in _LENGTHS:
        raise InputError(f"{limit!r} is not a distance: {_FORMS}")
    return DistanceLimit(amount * _LENGTHS[unit], METRES)


def number_ranges(numbers: Array, within: DistanceLimit) -> tuple[Array, Array]:
    """The (lowest, highest) number within the limit of each number; NaN stays NaN.

    >>> low, high = number_ranges(np.array([100.0]), DistanceLimit(0.01, "share"))
    >>> bool(low[0] <= 99.0), bool(high[0] >= 101.0), bool(high[0] < 101.001)
    (True, True, True)
    """
    size = np.abs(numbers)
    limit = within.amount * size if within.unit == SHARE else np.full(len(numbers), within.amount)
    limit = limit * WIDER + size * _LAST_PLACES
    with np.errstate(invalid="ignore"):
        return numbers - limit, numbers + limit


def haversine_limit(within: DistanceLimit) -> float:
    """The largest sin(angle / 2) ** 2 within the limit; infinite if it covers the globe."""
    angle = (within.amount * WIDER + _MICROMETRE) / EARTH_RADIUS
    return math.inf if angle >= math.pi else math.sin(angle / 2) ** 2


def metres_of(haversines: Array) -> Array:
    """Great-circle distances from sin(angle / 2) ** 2."""
    return np.asarray(2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.clip(haversines, 0.0, 1.0))))
