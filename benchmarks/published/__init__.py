"""Published methods that the product does not take, to be measured against: PEXESO's grids and
groups, ProbeSet, and MATE's XASH with the row filters it was compared with."""
