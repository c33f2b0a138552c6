"""Exact search for the columns that share the most distinct values with the query column."""

from lakejoin.engines.overlap.engine import ALGORITHMS, Overlap, OverlapIndex, count_overlaps

__all__ = ["ALGORITHMS", "Overlap", "OverlapIndex", "count_overlaps"]
