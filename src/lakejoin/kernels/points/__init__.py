"""Numbers, coordinates and vectors read from texts, and the nearest of many points."""
