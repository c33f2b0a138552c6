"""Equal joins: find the columns of two tables with equal values."""
