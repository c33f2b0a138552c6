"""Indices of the counters that a search fills while it reads (see `Counters`)."""

LISTS_FOUND, LISTS_READ, CANDIDATES, SETS_READ, BYTES_READ, SEGMENTS = range(6)
# How the early-stopping merge ended in a segment: all lists read, all sets read, or stopped early.
MERGED, PROBED_ALL, STOPPED = range(6, 9)
COUNTER_COUNT = 9
