"""Exact search for the columns that share the most distinct values with the query column."""

from lakejoin.search.overlap.engine import (
    ALGORITHMS,
    Overlap,
    OverlapIndex,
    overlaps_of,
)

__all__ = ["ALGORITHMS", "Overlap", "OverlapIndex", "overlaps_of"]
