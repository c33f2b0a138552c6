"""Which columns join with mine? Engines over the segments, and the answers they make."""
