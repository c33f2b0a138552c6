"""Search by distance for columns of numbers, coordinates and vectors."""

from lakejoin.engines.distance.engine import PointSetSearch
from lakejoin.engines.distance.distance_metrics import METRICS, DistanceLimit, parse_distance

__all__ = ["METRICS", "PointSetSearch", "DistanceLimit", "parse_distance"]
