"""Locations: a local path or any URI that pyarrow.fs or fsspec opens, behind one class.

Local locations use the operating system directly (no Arrow import, memory maps, `fsync`); remote
ones use `pyarrow.fs`, or fsspec for schemes that Arrow does not know.
"""

from lakejoin.storage.entries import Enter, Entry, Problem
from lakejoin.storage.local import sync
from lakejoin.storage.place import Place
from lakejoin.storage.uri import split_query

__all__ = ["Enter", "Entry", "Place", "Problem", "split_query", "sync"]
