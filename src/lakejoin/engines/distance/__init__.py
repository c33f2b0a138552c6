"""Search by distance for columns of numbers, coordinates and vectors."""

from lakejoin.engines.distance.distance_metrics import METRICS, DistanceLimit, parse_distance
from lakejoin.engines.distance.engine import PointSetSearch

__all__ = ["METRICS", "DistanceLimit", "PointSetSearch", "parse_distance"]
