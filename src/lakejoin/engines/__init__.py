"""Engines: each takes a query and the segments of an index, and returns hits."""
