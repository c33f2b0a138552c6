"""Evidence from the values and names of two columns, independent of their tables."""
