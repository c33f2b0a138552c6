"""Exact search for columns with vectors near those of a query."""
