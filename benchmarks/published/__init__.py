"""PEXESO as published (grids, groups), which our own search by meaning is measured against."""
