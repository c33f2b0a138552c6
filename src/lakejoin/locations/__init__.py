"""Locations: a local path or any URI that pyarrow.fs or fsspec opens, behind one class.

Local locations use the operating system directly (no Arrow import, memory maps, `fsync`); remote
ones use `pyarrow.fs`, or fsspec for schemes that Arrow does not know.
"""

from lakejoin.locations.local_files import OUTSIDE, Enter, Entry, Problem, sync
from lakejoin.locations.location import Location
from lakejoin.locations.remote_files import split_query

__all__ = ["OUTSIDE", "Enter", "Entry", "Location", "Problem", "split_query", "sync"]
