"""Compiled functions on flat arrays; they import nothing else of lakejoin."""
