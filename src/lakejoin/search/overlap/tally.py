"""What a search reads is counted in one small array, at these places (see `Counters`)."""

ASKED, READ, SEEN, PROBED, BYTES, SEGMENTS = range(6)
PLACES = 6
