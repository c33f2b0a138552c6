"""Find all pairs of columns of a lake that join, by the inverted index."""
