"""Search by distance for columns of numbers, coordinates and vectors."""

from lakejoin.search.nearby.engine import NearbySearch
from lakejoin.search.nearby.within import METRICS, Within, parse_within

__all__ = ["METRICS", "NearbySearch", "Within", "parse_within"]
