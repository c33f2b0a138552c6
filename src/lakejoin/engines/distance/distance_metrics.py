"""Metrics by kind of points, and the limits that go with them (see `store/distance_limits.py`)."""

from __future__ import annotations

from lakejoin.errors import InputError
from lakejoin.store.distance_limits import (
    ABSOLUTE,
    EARTH_RADIUS,
    METRES,
    SHARE,
    UNITS,
    WIDER,
    DistanceLimit,
    haversine_limit,
    metres_of,
    number_ranges,
    parse_distance,
)

__all__ = [
    "ABSOLUTE",
    "EARTH_RADIUS",
    "METRES",
    "METRICS",
    "SHARE",
    "UNITS",
    "DistanceLimit",
    "haversine_limit",
    "metres_of",
    "number_ranges",
    "parse_distance",
    "resolve_metric",
    "vector_limit",
]

# Metrics by the kind of points, the default first. Angles between vectors are in radians.
METRICS = {
    "number": ("difference",),
    "place": ("haversine",),
    "vector": ("l2", "l1", "angular", "haversine"),
}
_TINY = 1e-12  # so that rounding excludes no vector at exactly the limit


def resolve_metric(kind: str, within: DistanceLimit, metric: str | None) -> str:
    """Return the metric for a kind of points; raise if metric, kind and limit do not match."""
    if kind not in METRICS:
        raise InputError(f"{kind!r} is not a kind of points: choose one of {', '.join(METRICS)}")
    metric = metric or METRICS[kind][0]
    if metric not in METRICS[kind]:
        raise InputError(
            f"metric {metric} does not apply to {kind}s; choose one of {', '.join(METRICS[kind])}"
        )
    if metric == "haversine":
        if within.unit != METRES:
            raise InputError(
                f"'{within}' is not a distance between coordinates: write 500m, 2km or 3mi"
            )
    elif within.unit == METRES:
        raise InputError(
            f"'{within}' is a length, and {kind}s have no unit: write a plain number"
            + (" or a share such as 1%" if kind == "number" else "")
        )
    elif kind == "vector" and within.unit == SHARE:
        raise InputError(
            f"'{within}' is a share: write the distance of vectors as a plain number such as 0.2"
        )
    return metric


def vector_limit(within: DistanceLimit) -> float:
    """Return the largest distance at which two vectors are near."""
    return within.amount * WIDER + _TINY
