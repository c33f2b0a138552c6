"""Fuzzy joins that configure themselves: match rows with similar texts."""
