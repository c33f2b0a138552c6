"""Which metric goes with which points and which limit? `store/within.py` says what a limit is."""

from __future__ import annotations

from lakejoin.errors import InputError
from lakejoin.store.within import (
    ABSOLUTE,
    EARTH,
    METRES,
    SHARE,
    UNITS,
    WIDER,
    Within,
    haversine_limit,
    metres_of,
    parse_within,
    spans_of,
)

__all__ = [
    "ABSOLUTE",
    "EARTH",
    "METRES",
    "METRICS",
    "SHARE",
    "UNITS",
    "Within",
    "haversine_limit",
    "metres_of",
    "parse_within",
    "settled_metric",
    "spans_of",
    "vector_limit",
]

# Metrics by the kind of points, the default first. Angles between vectors are in radians.
METRICS = {
    "number": ("difference",),
    "place": ("haversine",),
    "vector": ("l2", "l1", "angular", "haversine"),
}
_TINY = 1e-12


def settled_metric(kind: str, within: Within, metric: str | None) -> str:
    """The metric for points of a kind; what does not go together is refused."""
    if kind not in METRICS:
        raise InputError(f"no kind of points {kind!r}; there are {', '.join(METRICS)}")
    metric = metric or METRICS[kind][0]
    if metric not in METRICS[kind]:
        raise InputError(
            f"the metric {metric} is not for {kind}s; for them there is {', '.join(METRICS[kind])}"
        )
    if metric == "haversine":
        if within.unit != METRES:
            raise InputError(
                f"places are apart by a length, and {within} is none: write 500m, 2km or 3mi"
            )
    elif within.unit == METRES:
        raise InputError(
            f"{kind}s have no length in metres: write a plain number"
            + (" or a share such as 1%" if kind == "number" else "")
        )
    elif kind == "vector" and within.unit == SHARE:
        raise InputError("vectors are apart by a plain number such as 0.2, not by a share")
    return metric


def vector_limit(within: Within) -> float:
    """The largest distance of two vectors that are near enough."""
    return within.amount * WIDER + _TINY
