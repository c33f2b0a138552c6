"""Delimited text (CSV, TSV and others): detect its dialect and parse its rows."""
