"""Numbers, degrees, places and vectors, read from texts."""
