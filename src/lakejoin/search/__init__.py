"""Searches of one engine over the segments of an index, and their answers with evidence."""
