"""The index on disk: array files, components, segments, the manifest, and commits."""
