"""What a search reads is counted in one small array, at these places (see `Counters`)."""

ASKED, READ, SEEN, PROBED, PRUNED, BYTES, SEGMENTS = range(7)
PLACES = 7
