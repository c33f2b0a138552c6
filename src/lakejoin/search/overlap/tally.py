"""What a search reads is counted in one small array, at these places (see `Counters`)."""

ASKED, READ, SEEN, PROBED, BYTES, SEGMENTS = range(6)
# How the early-stopping merge ended in a segment: all lists read, all sets read, or in between.
MERGED, PROBED_ALL, STOPPED = range(6, 9)
PLACES = 9
