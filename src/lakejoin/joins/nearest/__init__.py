"""Nearest joins: by number, time, coordinates or meaning."""
