"""Search by distance for columns of numbers, coordinates and vectors."""

from lakejoin.engines.distance.distance_methods import METRICS
from lakejoin.engines.distance.engine import PointSetSearch
from lakejoin.store.distance_limits import DistanceLimit, parse_distance

__all__ = ["METRICS", "DistanceLimit", "PointSetSearch", "parse_distance"]
